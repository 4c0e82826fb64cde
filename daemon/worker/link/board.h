/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler looks like now, for people: the board that the broker maps, and the scheduling
 * part of each client's counters. Brought up to date once in a while, never for an operation.
 */
#ifndef DAEMON_WORKER_LINK_BOARD_H
#define DAEMON_WORKER_LINK_BOARD_H

#include <stdbool.h>

#include "daemon/sched/core/sched.h"
#include "proto/wire.h"

struct worker;

int board_create(struct worker *w);
void board_destroy(struct worker *w);

/* When anything changed since the last time, and that is a while ago or it is `now`. */
void board_update(struct worker *w, bool now);

/* The choice of policies in fixed width, and back. `out` points into
 * `choice` then. -EINVAL when a name does not end. */
void board_from_choice(struct wire_choice *out, const struct sched_choice *choice);
int board_to_choice(struct sched_choice *out, const struct wire_choice *choice);

#endif
