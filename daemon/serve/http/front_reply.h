/* SPDX-License-Identifier: Apache-2.0
 *
 * How a server of models answers a request that the front gave it (front_ops.h): within infer() or
 * later.
 *
 * Thread: the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_REPLY_H
#define DAEMON_SERVE_HTTP_FRONT_REPLY_H

#include "daemon/serve/http/front_ops.h"

/* `outputs` are all that the model gives, or all that were asked for; in any order. The status that
 * it was answered with: 500 where they are not what they should be, 503 without memory. */
int front_answer(struct front_reply *reply, const struct tensor *outputs, uint32_t count);

/* why->status: 429 where it was refused on arrival, 504 where its deadline cannot be met any more,
 * 503 where nobody can serve it, 500 where the model failed. */
void front_refuse(struct front_reply *reply, const struct refusal *why);

#endif
