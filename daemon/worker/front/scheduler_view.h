/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's present state, for people: the board, and the scheduling part of each client's
 * counters. Updated now and then, never by an operation. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FRONT_SCHEDULER_VIEW_H
#define DAEMON_WORKER_FRONT_SCHEDULER_VIEW_H

#include <stdbool.h>

struct worker;

/* Updates if anything changed since the last time, and that is a while ago or `now` is set. */
void scheduler_view_update(struct worker *w, bool now);

#endif
