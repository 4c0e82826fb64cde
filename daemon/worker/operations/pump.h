/* SPDX-License-Identifier: Apache-2.0
 *
 * Work lists: completions become progress, and every operation that can continue does. Owner: the
 * worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_OPERATIONS_PUMP_H
#define DAEMON_WORKER_OPERATIONS_PUMP_H

#include <stdbool.h>

struct worker;

/* Takes completions from the device; returns their number. */
unsigned pump_collect(struct worker *w);
/* Runs until nothing can continue without an event from outside. */
void pump_run(struct worker *w);
/* On a deterministic device: lets clients whose operations are all stopped start the next one. */
void pump_reorder(struct worker *w);
/* True when pump_run would find work, or a lane must be cleared. */
bool pump_pending(const struct worker *w);

#endif
