/* SPDX-License-Identifier: Apache-2.0
 *
 * A budget for holding best-effort kernels back for requests that have not arrived yet: a part of
 * all time, which can be saved up. It bounds the cost of wrong predictions, and of a kernel for
 * which no gap between two requests is long enough. Zeroed: the budget is full. Pure. Owner: the
 * policy.
 */
#ifndef DAEMON_SCHED_POLICY_HOLD_BUDGET_H
#define DAEMON_SCHED_POLICY_HOLD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define HOLD_BUDGET_PART 10u             /* divisor of the time that is credited to the budget */
#define HOLD_BUDGET_MOST_NS 100000000ull /* largest budget */

struct hold_budget {
    uint64_t spent_ns; /* spent part of HOLD_BUDGET_MOST_NS */
    uint64_t at_ns;    /* time as of which spent_ns holds */
    bool held;         /* a kernel has been held back since then */
};

/* Updates the budget to now_ns, and marks that no kernel is held from now on. */
static inline void hold_budget_settle(struct hold_budget *h, uint64_t now_ns) {
    uint64_t passed_ns = now_ns - h->at_ns, back_ns = passed_ns / HOLD_BUDGET_PART;
    h->spent_ns = h->spent_ns > back_ns ? h->spent_ns - back_ns : 0;
    if (h->held) h->spent_ns += passed_ns;
    if (h->spent_ns > HOLD_BUDGET_MOST_NS) h->spent_ns = HOLD_BUDGET_MOST_NS;
    h->at_ns = now_ns;
    h->held = false;
}

/* The budget suffices for holding a kernel back for `ns`. */
static inline bool hold_budget_affords(const struct hold_budget *h, uint64_t ns) {
    return h->spent_ns + ns <= HOLD_BUDGET_MOST_NS;
}

#endif
