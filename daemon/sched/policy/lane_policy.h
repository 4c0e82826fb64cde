/* SPDX-License-Identifier: Apache-2.0
 *
 * The lane policy seam: who runs the next iteration. At every boundary the turn goes to the ready
 * job with the smallest rank among those that compete for it (the jobs of its lane, or all jobs
 * when one lane runs at a time); a higher priority goes before any rank, and equal ranks go by
 * arrival (dispatch/job_heap.h). A job is ready when it has operations waiting. Waiting jobs are
 * admitted in the order of admit_rank.
 *
 * A policy is pure functions of the state. What it remembers of a job is one number, which its
 * functions return and the scheduler keeps.
 */
#ifndef DAEMON_SCHED_POLICY_LANE_POLICY_H
#define DAEMON_SCHED_POLICY_LANE_POLICY_H

#include "daemon/sched/state.h"

struct lane_policy {
    const char *name;
    bool exclusive; /* one lane runs at a time, unless chosen otherwise */
    bool levels;    /* the number is service received: lanes side by side are levelled, too */
    bool sticky;    /* who has the turn keeps it until it leaves: no sharing */
    /* Lanes are merged for a job that waits (Salus, section 3.3.2, third bullet): more jobs take
     * turns, fewer run side by side. */
    bool reorganise;

    /* The number with which a job begins: when it joins, and again in the lane it is admitted to
     * (job.lane is set then). */
    uint64_t (*begin)(const struct sched_state *st, uint32_t job);
    /* By how much its number grows for so much of the device's time. NULL: it does not. */
    uint64_t (*service)(const struct sched_state *st, uint32_t job, uint64_t ns);
    /* By how much its number may be less than what jobs begin with when it becomes ready again.
     * NULL: it stays as it was. */
    uint64_t (*arrears)(const struct sched_state *st);
    /* Smaller goes first. Asked when the job becomes ready. */
    uint64_t (*rank)(const struct sched_state *st, uint32_t job);
    uint64_t (*admit_rank)(const struct sched_state *st, uint32_t job);
    /* A job is swapped out for a waiting one whose admit_rank is smaller than its rank by more than
     * this; NULL: never. */
    uint64_t (*swap_margin)(const struct sched_state *st);
};

/* NULL when there is no such policy. */
const struct lane_policy *lane_policy_find(const char *name);
/* The index-th, for listing; NULL beyond the last. */
const struct lane_policy *lane_policy_at(uint32_t index);

#define LANE_POLICY(name, sentence) extern const struct lane_policy lane_##name;
#include "daemon/policy/policies.def"

#endif
