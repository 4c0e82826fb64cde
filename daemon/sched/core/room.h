/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for whatever a step may need, before it changes anything.
 */
#ifndef DAEMON_SCHED_CORE_ROOM_H
#define DAEMON_SCHED_CORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core/core.h"

/* What there is among the events of a step. */
struct room_batch {
    uint32_t kinds; /* a bit for each; 1 << SCHED_EVENTS: some that are none */
    bool unsorted;  /* they are not in the order of their kinds */
};

/* All room that a step with these events can need, or -ENOMEM. */
int room_reserve(struct sched *s, const struct sched_event *events, uint32_t count,
                 struct room_batch *batch);

#endif
