/* SPDX-License-Identifier: Apache-2.0
 *
 * Reserves all memory that a step may need before the step changes anything.
 */
#ifndef DAEMON_SCHED_CORE_STEP_MEMORY_H
#define DAEMON_SCHED_CORE_STEP_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define STEP_MEMORY_ACTIONS_A_JOB                                                               \
    14u /* upper bound: SPILL, SWAP_OUT, LANE, SWAP_IN, LANE, MOVE, LANE, SPILL, SWITCH, LEVEL; \
           SHARE for a new controller and at the end of a period; STILL for a new policy and at \
           the end of the step */
#define STEP_MEMORY_ACTIONS_AN_EVENT 7u /* DENY, WAIT, GRANT, LANE twice, SPILL, SWITCH */
#define STEP_MEMORY_ACTIONS_A_STEP 64u

/* A summary of the events of a step. */
struct room_batch {
    uint32_t kinds; /* a bit for each kind present; 1 << SCHED_EVENTS: an invalid kind is present */
    bool unsorted;  /* the events are not ordered by kind */
};

static inline struct room_batch room_batch(const struct sched_event *events, uint32_t count) {
    uint32_t kinds = 0, falls = 0;
    for (uint32_t i = 0; i < count; i++) { /* events is NULL when count is 0 */
        uint32_t kind = events[i].kind < SCHED_EVENTS ? events[i].kind : SCHED_EVENTS;
        falls |= kinds >> kind >> 1;
        kinds |= 1u << kind;
    }
    return (struct room_batch){.kinds = kinds, .unsorted = falls != 0};
}

/* Upper bound of the actions of a step with this many events. */
static inline uint64_t step_memory_actions(const struct sched_state *st, uint64_t events) {
    return st->ops_used + STEP_MEMORY_ACTIONS_A_JOB * (st->jobs_used + events) +
           STEP_MEMORY_ACTIONS_AN_EVENT * events + STEP_MEMORY_ACTIONS_A_STEP;
}

/* Grows the arrays for a step with these events. Returns 0 or -ENOMEM. */
int step_memory_grow(struct sched *s, const struct sched_event *events, uint32_t count,
                     uint32_t kinds);

/* Reserves all memory for a step with these events. Returns 0 or -ENOMEM. Usually there is enough
 * already. */
static inline int step_memory_reserve(struct sched *s, const struct sched_event *events,
                                      uint32_t count, uint32_t kinds) {
    const struct sched_state *st = &s->st;
    if (count > st->ops_cap - st->ops_used || step_memory_actions(st, count) > s->actions_cap ||
        kinds & (1u << SCHED_JOINED | 1u << SCHED_POLICY | 1u << SCHED_SET))
        return step_memory_grow(s, events, count, kinds);
    return 0;
}

#endif
