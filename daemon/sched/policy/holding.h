/* SPDX-License-Identifier: Apache-2.0
 *
 * What best-effort jobs may lose to requests that are not there yet: a part of all time, saved up
 * for some. Whoever foresees wrongly, or a kernel that no gap between two requests is long enough
 * for, costs no more than that. Zeroed, all is saved up. Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_HOLDING_H
#define DAEMON_SCHED_POLICY_HOLDING_H

#include <stdbool.h>
#include <stdint.h>

#define HOLDING_PART 10u             /* of all time: one part in so many */
#define HOLDING_MOST_NS 100000000ull /* what is saved up, at most */

struct holding {
    uint64_t spent_ns; /* of HOLDING_MOST_NS */
    uint64_t at_ns;    /* when that was */
    bool held;         /* since then somebody is */
};

/* Time goes on; from now on nobody is held. */
static inline void holding_settle(struct holding *h, uint64_t now_ns) {
    uint64_t passed_ns = now_ns - h->at_ns, back_ns = passed_ns / HOLDING_PART;
    h->spent_ns = h->spent_ns > back_ns ? h->spent_ns - back_ns : 0;
    if (h->held) h->spent_ns += passed_ns;
    if (h->spent_ns > HOLDING_MOST_NS) h->spent_ns = HOLDING_MOST_NS;
    h->at_ns = now_ns;
    h->held = false;
}

/* Somebody may be held for so long. */
static inline bool holding_affords(const struct holding *h, uint64_t ns) {
    return h->spent_ns + ns <= HOLDING_MOST_NS;
}

#endif
