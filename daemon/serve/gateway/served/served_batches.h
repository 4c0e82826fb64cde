/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of a served model: sent to workers, and given back.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_BATCHES_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_BATCHES_H

#include "daemon/serve/gateway/served/served_state.h"

/* A batch for one of the workers, as the scheduler wants it. */
void served_batches_send(struct served *s, const struct plan_action *send);

/* The scheduler gets the requests of the worker's batch back, and may send them again. */
void served_batches_lose(struct served_worker *w);
/* The scheduler is told that the worker takes batches. */
void served_batches_offer(struct served_worker *w);
/* The worker takes no batches until it is ready again. That it ended is told later. */
void served_batches_withdraw(struct served_worker *w);
/* Workers that rested are offered again. */
void served_batches_rested(struct served *s);
/* The request of a batch has its end, and the scheduler forgets it. The refusal says `what`, then
 * `text`. */
void served_batches_give_up(struct served *s, uint64_t id, enum served_end end, int status,
                            const char *what, const char *text);

#endif
