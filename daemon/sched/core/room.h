/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for whatever a step may need, before it changes anything.
 */
#ifndef DAEMON_SCHED_CORE_ROOM_H
#define DAEMON_SCHED_CORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define ROOM_ACTIONS_A_JOB                                                                         \
    14u /* at most: SPILL, SWAP_OUT, LANE, SWAP_IN, LANE, MOVE, LANE, SPILL, SWITCH, LEVEL, and of \
           another controller and at the end of a period SHARE, of another policy and at the end   \
           of the step STILL */
#define ROOM_ACTIONS_AN_EVENT 7u /* DENY, WAIT, GRANT, LANE twice, SPILL, SWITCH */
#define ROOM_ACTIONS_A_STEP 64u

/* What there is among the events of a step. */
struct room_batch {
    uint32_t kinds; /* a bit for each; 1 << SCHED_EVENTS: some that are none */
    bool unsorted;  /* they are not in the order of their kinds */
};

static inline struct room_batch room_batch(const struct sched_event *events, uint32_t count) {
    uint32_t kinds = 0, falls = 0;
    for (uint32_t i = 0; i < count; i++) { /* events is NULL where there are none */
        uint32_t kind = events[i].kind < SCHED_EVENTS ? events[i].kind : SCHED_EVENTS;
        falls |= kinds >> kind >> 1;
        kinds |= 1u << kind;
    }
    return (struct room_batch){.kinds = kinds, .unsorted = falls != 0};
}

/* The actions of a step with so many events, at most. */
static inline uint64_t room_actions(const struct sched_state *st, uint64_t events) {
    return st->ops_used + ROOM_ACTIONS_A_JOB * (st->jobs_used + events) +
           ROOM_ACTIONS_AN_EVENT * events + ROOM_ACTIONS_A_STEP;
}

/* 0 or -ENOMEM. */
int room_grow(struct sched *s, const struct sched_event *events, uint32_t count, uint32_t kinds);

/* All room that a step with these events can need, or -ENOMEM. Mostly it is there. */
static inline int room_reserve(struct sched *s, const struct sched_event *events, uint32_t count,
                               uint32_t kinds) {
    const struct sched_state *st = &s->st;
    if (count > st->ops_cap - st->ops_used || room_actions(st, count) > s->actions_cap ||
        kinds & (1u << SCHED_JOINED | 1u << SCHED_POLICY | 1u << SCHED_SET))
        return room_grow(s, events, count, kinds);
    return 0;
}

#endif
