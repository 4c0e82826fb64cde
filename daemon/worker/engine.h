/* SPDX-License-Identifier: Apache-2.0
 *
 * Between streams, scheduler and device: eligible operations become events, the scheduler's actions
 * become submissions, completions become progress.
 */
#ifndef DAEMON_WORKER_ENGINE_H
#define DAEMON_WORKER_ENGINE_H

#include "daemon/worker/client.h"

/* The stream's operation at its cursor is eligible. */
void engine_offer(struct worker *w, struct op *op);
void engine_joined(struct client *c);
/* The scheduler forgets the client's waiting operations, before this returns. */
void engine_left(struct client *c);

/* Takes completions from the device: how many. */
unsigned engine_collect(struct worker *w);
/* Until nothing can go on without an event from outside. */
void engine_pump(struct worker *w);

#endif
