/* SPDX-License-Identifier: Apache-2.0
 *
 * The control socket: one msgpack request, one reply, in order, as long as the caller likes. Who
 * may ask is the socket's file mode. A caller that sends what is no request is told why and closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/report.h"
#include "proto/ctl_msg.h"

#define IDLE_MS 60000 /* a silent connection is closed, so that none can be hoarded */

#define REQUEST_BYTES 4096 /* requests are small; replies are what needs CTL_MESSAGE_MAX */

struct control {
    struct list link;
    struct server *server;
    int fd, handles;
    uv_poll_t poll;
    uv_timer_t idle;
};

static void on_handle_closed(uv_handle_t *h) {
    struct control *c = h->data;

    if (--c->handles == 0) free(c);
}

static void control_close(struct control *c) {
    struct server *s = c->server;

    list_remove(&c->link);
    s->control_count--;
    uv_close((uv_handle_t *)&c->poll, on_handle_closed);
    uv_close((uv_handle_t *)&c->idle, on_handle_closed);
    fdutil_close(&c->fd);
    server_resume(s);
}

static void on_idle(uv_timer_t *t) {
    control_close(t->data);
}

/* Answers one request: 0, or negative when the connection is of no more use. */
static int answer(struct control *c, const void *request, size_t bytes) {
    struct ctl_request r;
    enum ctl_error error;
    char why[CTL_MSG_WHY_BYTES];
    struct ctl_out *out = ctl_msg_create();
    const void *reply;
    size_t n;
    int rc, bad;

    if (!out) return -ENOMEM;
    bad = ctl_msg_request_decode(request, bytes, &r, &error, why, sizeof(why));
    if (bad < 0) {
        log_warn("control", "event=refused why=\"%s\"", why);
        rc = ctl_msg_refusal(out, error, why, "see salusctl(1)", &reply, &n);
    } else {
        rc = report_answer(c->server, &r, out, &reply, &n);
    }
    if (rc == 0) rc = fdutil_send(c->fd, reply, n, NULL, 0);
    ctl_msg_destroy(out);
    return rc < 0 ? rc : bad;
}

static void on_readable(uv_poll_t *p, int status, int events) {
    struct control *c = p->data;
    unsigned char buf[REQUEST_BYTES];
    int n = fdutil_recv(c->fd, buf, sizeof(buf), NULL, NULL);

    if (n == -EAGAIN && status == 0) return;
    if (n == -EPROTO)
        log_warn("control", "event=closed why=\"request above %d bytes, or with descriptors\"",
                 REQUEST_BYTES);
    if (n <= 0 || answer(c, buf, (size_t)n) < 0)
        control_close(c);
    else
        uv_timer_again(&c->idle);
}

void control_accept(struct server *s, int fd) {
    struct control *c = calloc(1, sizeof(*c));

    if (!c) {
        fdutil_close(&fd);
        return;
    }
    *c = (struct control){.server = s, .fd = fd, .handles = 2};
    list_append(&s->controls, &c->link);
    s->control_count++;
    uv_poll_init(&s->loop, &c->poll, fd);
    uv_timer_init(&s->loop, &c->idle);
    c->poll.data = c->idle.data = c;
    uv_poll_start(&c->poll, UV_READABLE, on_readable);
    uv_timer_start(&c->idle, on_idle, IDLE_MS, IDLE_MS);
}

void control_end_all(struct server *s) {
    while (!list_empty(&s->controls))
        control_close(list_entry(s->controls.next, struct control, link));
}
