/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends batches of a served model to workers, and returns lost ones to the scheduler.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_BATCHES_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_BATCHES_H

#include "daemon/serve/gateway/served/served_state.h"

/* Sends a batch to a worker as the scheduler decided. */
void served_batches_send(struct served *s, const struct plan_action *send);

/* Returns the requests of the worker's batch to the scheduler, which may send them again. */
void served_batches_lose(struct served_worker *w);
/* Tells the scheduler that the worker accepts batches. */
void served_batches_offer(struct served_worker *w);
/* Tells the scheduler that the worker accepts no batches until it is ready again. The worker's end
 * is reported later. */
void served_batches_withdraw(struct served_worker *w);
/* Offers withdrawn workers again. */
void served_batches_rested(struct served *s);
/* Ends a request of a batch and removes it from the scheduler. The error message is `what` followed
 * by `text`. */
void served_batches_give_up(struct served *s, uint64_t id, enum served_end end, int status,
                            const char *what, const char *text);

#endif
