/* SPDX-License-Identifier: Apache-2.0
 *
 * Implements the replies of front_ops.h, which the server of models calls within infer() or later.
 */
#include "daemon/serve/http/front_reply.h"
#include "daemon/serve/http/advance.h"
#include "daemon/serve/http/exchange.h"
#include "daemon/serve/infer/answer.h"

/* Continues after the response is made. With `waited`, no caller up the stack continues the
 * connection. */
static void go_on(struct exchange *x, bool waited) {
    if (waited)
        advance_answered(x);
    else
        exchange_drop(x);
}

int front_answer(struct front_reply *reply, const struct tensor *outputs, uint32_t count) {
    struct exchange *x = exchange_of(reply);
    bool waited = x->state == EXCHANGE_WAITING;
    size_t head_bytes;
    struct buf body;
    int status;

    buf_init(&body);
    if (answer_write(&x->request, outputs, count, &body, &head_bytes, &x->why)) {
        buf_finish(&body);
        exchange_refuse(x);
    } else if (head_bytes == REQUEST_NO_HEADER) {
        exchange_respond(x, 200, "application/json", &body);
    } else {
        exchange_respond(x, 200, "application/octet-stream", &body);
        x->response.json_bytes = head_bytes;
    }
    status = x->response.status;
    go_on(x, waited);
    return status;
}

void front_refuse(struct front_reply *reply, const struct refusal *why) {
    struct exchange *x = exchange_of(reply);
    bool waited = x->state == EXCHANGE_WAITING;

    x->why = *why;
    exchange_refuse(x);
    go_on(x, waited);
}
