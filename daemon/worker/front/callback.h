/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions: the client is handed their tokens in order, runs them on a thread of its own, and
 * counts those that returned in wire_submission.callbacks_done, outside the ring, so that a full
 * ring cannot hold one up. It rings the doorbell after counting.
 */
#ifndef DAEMON_WORKER_FRONT_CALLBACK_H
#define DAEMON_WORKER_FRONT_CALLBACK_H

#include <stdbool.h>

struct client;
struct op;

/* False when WIRE_CALLBACKS are posted and have not returned. */
bool callback_post(struct client *c, struct op *op);
/* Streams whose host function returned go on: how many. */
unsigned callback_collect(struct client *c);
/* True when callback_collect would find something. */
bool callback_ready(const struct client *c);
/* The client is dead: nobody waits for its host functions any more. */
void callback_forget(struct client *c);

#endif
