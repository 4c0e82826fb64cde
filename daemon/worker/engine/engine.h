/* SPDX-License-Identifier: Apache-2.0
 *
 * Between streams, scheduler and device: eligible operations become events, the scheduler's actions
 * become submissions, completions become progress.
 */
#ifndef DAEMON_WORKER_ENGINE_ENGINE_H
#define DAEMON_WORKER_ENGINE_ENGINE_H

#include "daemon/worker/client.h"

/* The stream's operation at its cursor is eligible. */
void engine_offer(struct worker *w, struct op *op);
void engine_joined(struct client *c);
/* The scheduler lets it run: to the device, unless its client's lane is not clear yet. */
void engine_run(struct worker *w, struct op *op);
/* The client's current iteration is complete. */
void engine_boundary(struct client *c);
/* Its P and E are those of its spec from now on, as measured. */
void engine_word(struct client *c);
/* It wants P and E to be these; credit_answer has been called when this returns. */
void engine_ask(struct client *c, uint64_t p, uint64_t e);
/* Its spec's weight, priority, pause, iterations or duration changed. At a safe point only. */
void engine_set(struct client *c);
/* Other policies, a choice that sched_choice_check allows. At a safe point only. */
void engine_policy(struct worker *w, const struct sched_choice *choice);
/* The scheduler looks at the time, if it asked for that. */
void engine_time(struct worker *w);
/* The scheduler forgets the client's waiting operations, before this returns. */
void engine_left(struct client *c);

/* Takes completions from the device: how many. */
unsigned engine_collect(struct worker *w);
/* Until nothing can go on without an event from outside. */
void engine_pump(struct worker *w);
/* True when a pump would find something. */
bool engine_pending(const struct worker *w);

#endif
