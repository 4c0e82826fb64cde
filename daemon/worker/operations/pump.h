/* SPDX-License-Identifier: Apache-2.0
 *
 * Work lists: completions become progress, and whatever can go on does. Owner: the worker. Thread:
 * its own.
 */
#ifndef DAEMON_WORKER_OPERATIONS_PUMP_H
#define DAEMON_WORKER_OPERATIONS_PUMP_H

#include <stdbool.h>

struct worker;

/* Takes completions from the device: how many. */
unsigned pump_collect(struct worker *w);
/* Until nothing can go on without an event from outside. */
void pump_run(struct worker *w);
/* On a deterministic device: clients whose operations all stand still go on with the next one. */
void pump_reorder(struct worker *w);
/* True when pump_run would find something, or something is to be cleared. */
bool pump_pending(const struct worker *w);

#endif
