/* SPDX-License-Identifier: Apache-2.0
 *
 * Manages memory: a body lives from its announcement to the end of the request, a response until it
 * is sent.
 */
#include "daemon/serve/http/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/serve/http/front_parts.h"

#define TOPIC "access"

struct exchange *exchange_create(struct front *f) {
    struct exchange *x = calloc(1, sizeof(*x));

    if (!x) return NULL;
    x->front = f;
    session_init(&x->session);
    list_init(&x->behind);
    list_init(&x->conn.link);
    buf_init(&x->answer);
    return x;
}

void exchange_destroy(struct exchange *x) {
    if (!x) return;
    session_finish(&x->session);
    previous_request_finish(&x->before);
    buf_finish(&x->answer);
    free(x);
}

/* ---- a request ------------------------------------------------------------------------------- */

void exchange_begin(struct exchange *x) {
    x->state = EXCHANGE_HEAD;
    x->expects = false;
    x->reply = (struct front_reply){0};
    x->response = (struct response){.json_bytes = RESPONSE_NO_JSON};
    x->body_bytes = 0;
    x->json_bytes = REQUEST_NO_HEADER;
    x->application[0] = x->method[0] = x->path[0] = '\0';
    x->route.kind = ROUTE_NONE;
    x->begin_ns = fdutil_now_ns();
    conn_enter(&x->front->conns, &x->conn, CONN_RECEIVING, x->begin_ns);
}

void exchange_name(struct exchange *x, const char *method, const char *path) {
    size_t n = 0;

    strncpy(x->method, method, sizeof(x->method) - 1);
    x->method[sizeof(x->method) - 1] = '\0';
    for (; n < EXCHANGE_PATH_BYTES - 1 && path[n]; n++)
        x->path[n] = path[n] > ' ' && path[n] <= '~' && path[n] != '"' ? path[n] : '?';
    x->path[n] = '\0';
}

struct request_body exchange_body(const struct exchange *x) {
    return (struct request_body){x->body, x->session.body_bytes, x->json_bytes};
}

/* A rejected request is not reused; an equal one is parsed again. */
static void drop_request(struct exchange *x) {
    struct request_body body = exchange_body(x);

    if (x->request.application == x->application) x->request.application = NULL;
    if (x->why.status)
        request_finish(&x->request);
    else
        previous_request_keep(&x->before, &x->request, &body);
}

void exchange_drop(struct exchange *x) {
    if (x->request.inputs) drop_request(x);
    if (x->body) x->front->bodies_bytes -= x->body_bytes;
    free(x->body);
    x->body = NULL;
}

void exchange_end(struct exchange *x, bool gone) {
    uint64_t now_ns = fdutil_now_ns();

    exchange_drop(x);
    log_debug(TOPIC,
              "event=request method=%s path=\"%s\" status=%d in_bytes=%zu out_bytes=%zu us=%" PRIu64
              " gone=%d",
              x->method, x->path, x->response.status, x->session.body_bytes, x->response.body_bytes,
              (now_ns - x->begin_ns) / 1000, gone);
    x->why.status = 0;
    x->why.retry_after_s = 0;
    x->state = EXCHANGE_NONE;
    conn_enter(&x->front->conns, &x->conn, CONN_IDLE, now_ns);
}

/* ---- responses ------------------------------------------------------------------------------- */

void exchange_respond(struct exchange *x, int status, const char *type, struct buf *body) {
    struct response *r = &x->response;

    x->state = EXCHANGE_ANSWERED;
    r->status = body->failed ? 503 : status;
    if (body->failed) buf_finish(body);
    x->answer = *body;
    buf_init(body);
    r->body_bytes = x->answer.len;
    r->type = r->body_bytes ? type : NULL;
    r->http10 = x->session.head.http10;
    if (!x->session.head.keep_alive || x->front->stopping || x->conn.surplus) r->last = true;
}

void exchange_refuse(struct exchange *x) {
    struct buf body;

    buf_init(&body);
    refusal_write(&x->why, &body);
    exchange_respond(x, x->why.status, "application/json", &body);
    x->response.retry_after_s = x->why.retry_after_s;
    if (x->why.status == 405) x->response.allow = route_methods(x->route.kind);
}
