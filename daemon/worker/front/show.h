/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler looks like now, for people: the board, and the scheduling part of each
 * client's counters. Brought up to date once in a while, never for an operation. Thread: the
 * worker's.
 */
#ifndef DAEMON_WORKER_FRONT_SHOW_H
#define DAEMON_WORKER_FRONT_SHOW_H

#include <stdbool.h>

struct worker;

/* When anything changed since the last time, and that is a while ago or it is `now`. */
void show_update(struct worker *w, bool now);

#endif
