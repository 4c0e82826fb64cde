/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: a body from its announcement to its request's end, a response until the library has it.
 */
#include "daemon/serve/http/exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/serve/http/front_parts.h"

#define TOPIC "access"

struct exchange *exchange_create(struct front *f, struct MHD_Connection *mhd, int fd) {
    struct exchange *x = calloc(1, sizeof(*x));

    if (!x) return NULL;
    x->front = f;
    x->mhd = mhd;
    conn_open(&f->conns, &x->conn, fd, fdutil_now_ns());
    /* Where it cannot be watched its time limits see to its end. */
    hangup_watch(&f->hangup, fd, x);
    return x;
}

void exchange_destroy(struct exchange *x) {
    if (!x) return;
    conn_close(&x->front->conns, &x->conn);
    free(x);
}

/* ---- a request ------------------------------------------------------------------------------- */

/* What a log may show of a path; without what is behind a question mark. */
static void take_path(struct exchange *x, const char *uri) {
    size_t n = 0;

    for (; uri[n] && uri[n] != '?' && n < EXCHANGE_PATH_BYTES - 1; n++)
        x->path[n] = uri[n] > ' ' && uri[n] <= '~' && uri[n] != '"' ? uri[n] : '?';
    x->path[n] = '\0';
}

void exchange_begin(struct exchange *x, const char *uri) {
    x->state = EXCHANGE_LINE;
    x->why = (struct refusal){0};
    x->reply = (struct front_reply){0};
    x->status = 0;
    x->sent_bytes = x->announced_bytes = x->body_bytes = 0;
    x->begin_ns = fdutil_now_ns();
    x->method[0] = '\0';
    take_path(x, uri);
    conn_enter(&x->front->conns, &x->conn, CONN_RECEIVING, x->begin_ns);
}

void exchange_drop(struct exchange *x) {
    request_finish(&x->request);
    if (x->body) x->front->bodies_bytes -= x->announced_bytes;
    free(x->body);
    x->body = NULL;
}

void exchange_end(struct exchange *x) {
    uint64_t now_ns = fdutil_now_ns();

    exchange_drop(x);
    if (x->response) MHD_destroy_response(x->response);
    x->response = NULL;
    log_debug(TOPIC,
              "event=request method=%s path=\"%s\" status=%d in_bytes=%zu out_bytes=%zu us=%" PRIu64
              " gone=%d",
              x->method, x->path, x->status, x->body_bytes, x->sent_bytes,
              (now_ns - x->begin_ns) / 1000, x->state == EXCHANGE_GONE);
    x->state = EXCHANGE_NONE;
    conn_enter(&x->front->conns, &x->conn, CONN_IDLE, now_ns);
}

/* ---- responses ------------------------------------------------------------------------------- */

void exchange_header(struct exchange *x, const char *name, const char *value) {
    if (x->response) MHD_add_response_header(x->response, name, value);
}

void exchange_respond(struct exchange *x, int status, const char *type, struct buf *body) {
    size_t bytes = body->failed ? 0 : body->len;

    x->state = EXCHANGE_ANSWERED;
    x->status = body->failed ? 503 : status;
    if (body->failed) buf_finish(body);
    x->response = MHD_create_response_from_buffer(bytes, body->data, MHD_RESPMEM_MUST_FREE);
    if (!x->response) {
        buf_finish(body);
        return;
    }
    x->sent_bytes = bytes;
    buf_init(body);
    if (bytes) exchange_header(x, "Content-Type", type);
    if (x->front->stopping || x->conn.surplus) exchange_header(x, "Connection", "close");
}

void exchange_refuse(struct exchange *x) {
    char number[16];
    struct buf body;

    buf_init(&body);
    refusal_write(&x->why, &body);
    exchange_respond(x, x->why.status, "application/json", &body);
    if (x->why.retry_after_s) {
        snprintf(number, sizeof(number), "%" PRIu32, x->why.retry_after_s);
        exchange_header(x, "Retry-After", number);
    }
    if (x->why.status == 405) exchange_header(x, "Allow", route_methods(x->route.kind));
}

int exchange_queue(struct exchange *x) {
    enum MHD_Result taken;

    if (!x->response) return -EPIPE;
    taken = MHD_queue_response(x->mhd, (unsigned)x->status, x->response);
    MHD_destroy_response(x->response);
    x->response = NULL;
    x->state = EXCHANGE_QUEUED;
    conn_enter(&x->front->conns, &x->conn, CONN_SENDING, fdutil_now_ns());
    return taken == MHD_YES ? 0 : -EPIPE;
}
