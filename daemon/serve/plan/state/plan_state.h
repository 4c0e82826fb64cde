/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler knows: requests, workers, and what is expected of batches. Policies read this;
 * they write their own memory (`own`) and nothing else of it.
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
    struct plan_config config; /* nothing in it is 0 for "what is said" any more */
    uint64_t now_ns;
    struct outlook outlook;
    struct roster roster;
    struct crew crew;
    void *own; /* the policy's */
};

static inline const struct roster_request *plan_state_request(const struct plan_state *st,
                                                              uint32_t place) {
    return &st->roster.requests[place];
}

/* The number of the largest size that `count` requests fill; `count` > 0. */
uint32_t plan_state_size_of(const struct plan_state *st, uint32_t count);

/* What a batch of a size takes, by one of the columns of the outlook. */
typedef uint64_t state_time_fn(const struct outlook_size *size);

/* The largest size that `count` requests fill and that takes no longer than `left_ns`; STATE_NONE
 * where not even one alone does. */
uint32_t plan_state_size_within(const struct plan_state *st, uint32_t count, uint64_t left_ns,
                                state_time_fn *time);

/* The latest moment at which what takes `ns` may begin to be over at `deadline_ns`; 0: it never
 * could. */
static inline uint64_t plan_state_latest(uint64_t deadline_ns, uint64_t ns) {
    return deadline_ns > ns ? deadline_ns - ns : 0;
}

/* How far the deadline is; 0: it is over. */
static inline uint64_t plan_state_left(const struct plan_state *st, uint32_t place) {
    return plan_state_latest(plan_state_request(st, place)->deadline_ns, st->now_ns);
}

#endif
