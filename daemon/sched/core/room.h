/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for whatever a step may need, before it changes anything.
 */
#ifndef DAEMON_SCHED_CORE_ROOM_H
#define DAEMON_SCHED_CORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core/core.h"

/* All room that a step with these events can need, or -ENOMEM. *unsorted: they are not in the order
 * of their kinds. */
int room_reserve(struct sched *s, const struct sched_event *events, uint32_t count, bool *unsorted);

#endif
