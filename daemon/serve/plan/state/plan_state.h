/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's knowledge: requests, workers, and expected durations of batches. Policies only
 * read it, except for their own memory (`own`).
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_STATE_PLAN_STATE_H
#define DAEMON_SERVE_PLAN_STATE_PLAN_STATE_H

#include <stdint.h>

#include "daemon/serve/plan/outlook/outlook.h"
#include "daemon/serve/plan/state/crew.h"
#include "daemon/serve/plan/state/lineup.h"
#include "daemon/serve/plan/state/roster.h"
#include "daemon/serve/plan/types/plan_types.h"

#define STATE_NONE UINT32_MAX

struct plan_state {
    struct plan_config config; /* defaults are filled in */
    uint64_t now_ns;
    struct outlook outlook;
    struct roster roster;
    struct crew crew;
    void *own; /* the policy's memory */
};

static inline const struct roster_request *plan_state_request(const struct plan_state *st,
                                                              uint32_t place) {
    return &st->roster.requests[place];
}

/* Index of the largest size that `count` requests fill; `count` > 0. */
uint32_t plan_state_size_of(const struct plan_state *st, uint32_t count);

/* Selects one of the estimated durations of a batch. */
typedef uint64_t state_time_fn(const struct outlook_size *size);

/* Index of the largest size that `count` requests fill and that takes at most `left_ns`; STATE_NONE
 * if not even a batch of one fits. */
uint32_t plan_state_size_within(const struct plan_state *st, uint32_t count, uint64_t left_ns,
                                state_time_fn *time);

/* The latest start at which work of `ns` ends by `deadline_ns`; 0 if that is impossible. */
static inline uint64_t plan_state_latest(uint64_t deadline_ns, uint64_t ns) {
    return deadline_ns > ns ? deadline_ns - ns : 0;
}

/* Time until the deadline; 0: it has passed. */
static inline uint64_t plan_state_left(const struct plan_state *st, uint32_t place) {
    return plan_state_latest(plan_state_request(st, place)->deadline_ns, st->now_ns);
}

#endif
