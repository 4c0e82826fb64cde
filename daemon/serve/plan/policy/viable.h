/* SPDX-License-Identifier: Apache-2.0
 *
 * Q_bs of the thesis's Algorithm 4.1: the requests that can be served in time in a batch of one
 * size. They are ordered by priority; by deadline, whose earliest decides which size is next; and
 * by the time at which they become late.
 *
 * Owner: pol_orloj. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_POLICY_VIABLE_H
#define DAEMON_SERVE_PLAN_POLICY_VIABLE_H

#include <stdint.h>

#include "daemon/serve/plan/policy/tournament.h"
#include "daemon/serve/plan/state/lineup.h"

/* Empty if all zeroes. */
struct viable {
    struct lineup line; /* key: the deadline */
    struct tournament rank;
};

/* Reserves memory for the places below `places`. Returns 0, or -ENOMEM with nothing lost. */
int viable_reserve(struct viable *v, uint32_t places);
void viable_finish(struct viable *v);

/* `until_ns`: the latest start of its batch. */
void viable_add(struct viable *v, uint32_t place, uint64_t deadline_ns, uint64_t until_ns,
                struct tournament_point point);
/* The place may be free. */
void viable_remove(struct viable *v, uint32_t place);

static inline uint32_t viable_count(const struct viable *v) {
    return lineup_count(&v->line);
}

/* D_Q; the queue must not be empty. */
static inline uint64_t viable_earliest_ns(const struct viable *v) {
    return v->line.key[lineup_first(&v->line)];
}

const char *viable_check(const struct viable *v);

#endif
