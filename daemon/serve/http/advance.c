/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes requests of a connection in a loop until it has to wait for bytes, for an answer, or
 * for space in the socket.
 */
#include "daemon/serve/http/advance.h"

#include <errno.h>
#include <string.h>

#include "common/fdutil.h"
#include "daemon/serve/http/exchange.h"
#include "daemon/serve/http/front_parts.h"
#include "daemon/serve/http/intake.h"
#include "daemon/serve/http/show.h"

/* Connections accepted above the limit, so that their clients get an error. */
#define SPARE_CONNECTIONS 64u

static struct exchange *of(struct tcp *t) {
    return list_entry(t, struct exchange, tcp);
}

static void close_it(struct exchange *x) {
    struct front *f = x->front;

    if (x->state == EXCHANGE_CLOSED) return;
    if (x->state == EXCHANGE_WAITING) f->ops->gone(f->arg, &x->reply);
    if (x->state != EXCHANGE_NONE && x->state != EXCHANGE_LEAVING) exchange_end(x, true);
    x->state = EXCHANGE_CLOSED;
    list_remove(&x->behind);
    conn_close(&f->conns, &x->conn);
    tcp_close(&x->tcp);
}

void advance_shut(struct conn *c) {
    close_it(list_entry(c, struct exchange, conn));
}

/* ---- responses ------------------------------------------------------------------------------- */

/* If the client is still sending, closing the connection would destroy the response. The rest is
 * read for a while (RFC 9112, 9.6). */
static void leave(struct exchange *x, bool unread) {
    if (!unread) {
        close_it(x);
        return;
    }
    x->state = EXCHANGE_LEAVING;
    conn_enter(&x->front->conns, &x->conn, CONN_LEAVING, fdutil_now_ns());
    tcp_half_close(&x->tcp);
}

/* Called when all of the response is sent. */
static void answered(struct exchange *x) {
    bool last = x->response.last || x->front->stopping;
    bool unread = x->session.state != SESSION_ANSWERING || x->session.bytes;

    buf_finish(&x->answer);
    exchange_end(x, false);
    session_answered(&x->session, last);
    if (last) leave(x, unread);
}

static void send_response(struct exchange *x) {
    size_t head_bytes =
        response_write(&x->response, date_text(&x->front->date, time(NULL)), x->head);
    bool no_body = strcmp(x->method, "HEAD") == 0;
    uv_buf_t bufs[2] = {{.base = x->head, .len = head_bytes},
                        {.base = (char *)x->answer.data, .len = x->answer.len}};
    int err = tcp_send(&x->tcp, bufs, no_body || x->answer.len == 0 ? 1 : 2);

    if (err < 0) {
        close_it(x);
    } else if (err == 0) {
        answered(x);
    } else {
        x->state = EXCHANGE_SENDING;
        conn_enter(&x->front->conns, &x->conn, CONN_SENDING, fdutil_now_ns());
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Hands a request over to the server of models. If it is not answered within the call, it waits. */
static void ask(struct exchange *x) {
    struct front *f = x->front;

    x->state = EXCHANGE_ASKED;
    f->ops->infer(f->arg, &x->request, &x->reply);
    if (x->state != EXCHANGE_ASKED) return;
    x->state = EXCHANGE_WAITING;
    conn_enter(&f->conns, &x->conn, CONN_WAITING, fdutil_now_ns());
}

/* Called when all of the request has arrived. */
static void dispatch(struct exchange *x) {
    if (!x->why.status && x->route.kind != ROUTE_INFER) show_route(x);
    if (!x->why.status && x->route.kind == ROUTE_INFER) {
        intake_request(x);
        if (!x->why.status) ask(x);
    }
    if (x->why.status && x->state == EXCHANGE_BODY) exchange_refuse(x);
}

/* Rejects a request whose body has an unknown length or is not read. The connection cannot go on,
 * because the start of the next request is not known. */
static void refuse_at_once(struct exchange *x) {
    exchange_refuse(x);
    x->response.last = true;
    session_answered(&x->session, true);
}

static void take_head(struct exchange *x) {
    if (intake_head(x))
        refuse_at_once(x);
    else
        session_body(&x->session, x->body);
}

/* Sends "100 Continue", once, before the first byte of the body. */
static void tell_to_go_on(struct exchange *x) {
    char text[] = RESPONSE_CONTINUE;
    uv_buf_t buf = {.base = text, .len = sizeof(text) - 1};

    x->expects = false;
    /* nothing else is in flight to this client, so a socket without this much space is broken */
    if (x->session.body_bytes == 0 && tcp_send(&x->tcp, &buf, 1)) close_it(x);
}

/* Returns false if it has to wait for something. */
static bool step(struct exchange *x) {
    enum session_next next;

    if (x->state == EXCHANGE_SENDING) return false; /* the response is in use until it is sent */
    next = session_next(&x->session, &x->why);
    if (x->state == EXCHANGE_NONE && next == SESSION_MORE && !session_begun(&x->session))
        return false;
    if (x->state == EXCHANGE_NONE) exchange_begin(x);
    if (x->state == EXCHANGE_BODY && x->body) intake_count(x);
    if (next == SESSION_HEAD) take_head(x);
    if (next == SESSION_WHOLE) dispatch(x);
    if (next == SESSION_BAD) refuse_at_once(x);
    if (next == SESSION_MORE && x->state == EXCHANGE_BODY && x->expects) tell_to_go_on(x);
    if (x->state == EXCHANGE_ANSWERED) send_response(x);
    return next != SESSION_MORE && (x->state == EXCHANGE_NONE || x->state == EXCHANGE_BODY);
}

/* Reads as long as there is space. Further bytes stay in the socket, and hide that the client hung
 * up; see advance_look(). */
static void read_or_not(struct exchange *x) {
    size_t bytes;

    session_room(&x->session, x->front->scratch, &bytes);
    tcp_read(&x->tcp, bytes > 0 && x->state != EXCHANGE_SENDING);
}

static void go_on(struct exchange *x) {
    list_remove(&x->behind); /* bytes arrived before its turn, which is now */
    while (step(x))
        continue;
    if (x->state == EXCHANGE_CLOSED) return;
    if (session_keep(&x->session))
        close_it(x);
    else
        read_or_not(x);
}

/* Handles connections whose next request has arrived; those that join meanwhile wait for the next
 * turn. */
static void on_again(uv_timer_t *t) {
    struct front *f = t->data;
    struct list now, *first;

    list_init(&now);
    while (!list_empty(&f->behind)) {
        first = f->behind.next;
        list_remove(first);
        list_append(&now, first);
    }
    while (!list_empty(&now))
        go_on(list_entry(now.next, struct exchange, behind));
}

void advance_answered(struct exchange *x) {
    struct front *f = x->front;

    exchange_drop(x);
    send_response(x);
    if (x->state == EXCHANGE_CLOSED) return;
    if (x->state == EXCHANGE_NONE && x->session.bytes) {
        list_append(&f->behind, &x->behind);
        uv_timer_start(&f->again, on_again, 0, 0);
    }
    read_or_not(x);
}

static struct exchange *of_link(struct list *l) {
    return list_entry(list_entry(l, struct conn, link), struct exchange, conn);
}

/* A callback about a client that is gone may answer other requests, which then leave whichever list
 * they are in. */
void advance_look(struct front *f) {
    struct list *pos, *tmp, hung_up;

    list_init(&hung_up);
    list_each_safe(pos, tmp, &f->conns.phases[CONN_WAITING]) {
        if (of_link(pos)->tcp.reading || !tcp_hung_up(&of_link(pos)->tcp)) continue;
        list_remove(pos);
        list_append(&hung_up, pos);
    }
    while (!list_empty(&hung_up))
        close_it(of_link(hung_up.next));
}

/* ---- callbacks of the socket ----------------------------------------------------------------- */

static void *room(struct tcp *t, size_t *bytes) {
    struct exchange *x = of(t);
    return session_room(&x->session, x->front->scratch, bytes);
}

static void came(struct tcp *t, void *at, size_t bytes) {
    session_came(&of(t)->session, at, bytes);
    go_on(of(t));
}

static void sent(struct tcp *t) {
    answered(of(t));
    go_on(of(t));
}

static void ended(struct tcp *t) {
    close_it(of(t));
}

static void closed(struct tcp *t) {
    struct front *f = of(t)->front;

    exchange_destroy(of(t));
    f->left(f);
}

int advance_accept(struct front *f) {
    static const struct tcp_ops ops = {
        .room = room, .came = came, .sent = sent, .ended = ended, .closed = closed};
    struct exchange *x = exchange_create(f);
    int err;

    if (!x) return -ENOMEM;
    f->open_handles++;
    err = tcp_accept(&x->tcp, (uv_stream_t *)&f->listener, &ops);
    conn_open(&f->conns, &x->conn, fdutil_now_ns());
    if (err || (x->conn.surplus && f->conns.count > f->conns.limit + SPARE_CONNECTIONS))
        close_it(x);
    else
        tcp_read(&x->tcp, true);
    return 0;
}
