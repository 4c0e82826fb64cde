/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions with which a server of models answers a request of the front (front_ops.h), within
 * infer() or later.
 *
 * Thread: the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_REPLY_H
#define DAEMON_SERVE_HTTP_FRONT_REPLY_H

#include "daemon/serve/http/front_ops.h"

/* `outputs` are all outputs of the model, or all requested ones, in any order. Returns the HTTP
 * status sent: 500 if the outputs are invalid, 503 if memory is short. */
int front_answer(struct front_reply *reply, const struct tensor *outputs, uint32_t count);

/* why->status: 429 if rejected on arrival, 504 if the deadline cannot be met any more, 503 if no
 * worker can serve the request, 500 if the model failed. */
void front_refuse(struct front_reply *reply, const struct refusal *why);

#endif
