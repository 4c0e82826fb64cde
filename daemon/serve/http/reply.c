/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that waits is suspended for the library; its end is an answer, a refusal, or its
 * client's.
 */
#include "daemon/serve/http/reply.h"

#include <microhttpd.h>
#include <stdio.h>

#include "common/fdutil.h"
#include "daemon/serve/http/pump.h"
#include "daemon/serve/infer/answer.h"

#define HEAD_LENGTH "Inference-Header-Content-Length"

static void abandon(struct exchange *x) {
    x->state = EXCHANGE_GONE;
    x->front->ops->gone(x->front->arg, &x->reply);
    exchange_drop(x);
}

void reply_ask(struct exchange *x) {
    struct front *f = x->front;

    x->state = EXCHANGE_ASKED;
    f->ops->infer(f->arg, &x->request, &x->reply);
    if (x->state != EXCHANGE_ASKED) return;
    if (x->conn.hung_up) {
        abandon(x);
        return;
    }
    x->state = EXCHANGE_WAITING;
    conn_enter(&f->conns, &x->conn, CONN_WAITING, fdutil_now_ns());
    MHD_suspend_connection(x->mhd);
}

static void resume(struct exchange *x) {
    MHD_resume_connection(x->mhd);
    pump_wake(x->front);
}

/* The response is made: on with it. `waited`: the library waits for it. */
static void go_on(struct exchange *x, bool waited) {
    exchange_drop(x);
    if (waited) resume(x);
}

void front_answer(struct front_reply *reply, const struct tensor *outputs, uint32_t count) {
    struct exchange *x = exchange_of(reply);
    bool waited = x->state == EXCHANGE_WAITING;
    size_t head_bytes;
    struct buf body;

    buf_init(&body);
    if (answer_write(&x->request, outputs, count, &body, &head_bytes, &x->why)) {
        buf_finish(&body);
        exchange_refuse(x);
    } else if (head_bytes == REQUEST_NO_HEADER) {
        exchange_respond(x, 200, "application/json", &body);
    } else {
        char number[24];
        snprintf(number, sizeof(number), "%zu", head_bytes);
        exchange_respond(x, 200, "application/octet-stream", &body);
        exchange_header(x, HEAD_LENGTH, number);
    }
    go_on(x, waited);
}

void front_refuse(struct front_reply *reply, const struct refusal *why) {
    struct exchange *x = exchange_of(reply);
    bool waited = x->state == EXCHANGE_WAITING;

    x->why = *why;
    exchange_refuse(x);
    go_on(x, waited);
}

void reply_look(struct front *f) {
    struct exchange *x;

    while ((x = hangup_next(&f->hangup))) {
        if (x->state != EXCHANGE_WAITING) {
            conn_hang_up(&x->conn);
        } else {
            abandon(x);
            resume(x);
        }
    }
}
