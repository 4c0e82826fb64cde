/* SPDX-License-Identifier: Apache-2.0
 *
 * The lane policy interface, which chooses the job that runs the next iteration. At every boundary
 * the turn goes to the ready job with the smallest rank among the competing jobs (the jobs of its
 * lane, or all jobs when one lane runs at a time). A higher priority precedes any rank, and equal
 * ranks are ordered by arrival (dispatch/job_heap.h). A job is ready when it has operations
 * waiting. Waiting jobs are admitted in the order of admit_rank.
 *
 * A policy consists of pure functions of the state. It remembers one number per job, which its
 * functions return and the scheduler stores.
 */
#ifndef DAEMON_SCHED_POLICY_LANE_POLICY_H
#define DAEMON_SCHED_POLICY_LANE_POLICY_H

#include "daemon/sched/state.h"

struct lane_policy {
    const char *name;
    bool exclusive; /* one lane runs at a time, unless configured otherwise */
    bool levels;    /* the number is service received; lanes side by side are balanced, too */
    bool sticky;    /* a job keeps its turn until it leaves: no sharing */
    /* Lanes are merged for a waiting job (Salus, section 3.3.2, third bullet): more jobs take
     * turns, fewer run side by side. */
    bool reorganise;

    /* The initial number of a job: when it joins, and again in its lane when it is admitted
     * (job.lane is set then). */
    uint64_t (*begin)(const struct sched_state *st, uint32_t job);
    /* Increase of the job's number for `ns` of device time. NULL: none. */
    uint64_t (*service)(const struct sched_state *st, uint32_t job, uint64_t ns);
    /* The number of a job that becomes ready again is raised to the initial number less this value.
     * NULL: it is not raised. */
    uint64_t (*arrears)(const struct sched_state *st);
    /* The rank of a job, when it becomes ready; the smallest goes first. */
    uint64_t (*rank)(const struct sched_state *st, uint32_t job);
    uint64_t (*admit_rank)(const struct sched_state *st, uint32_t job);
    /* A job is swapped out for a waiting one whose admit_rank is smaller than the job's rank by
     * more than this. NULL: never. */
    uint64_t (*swap_margin)(const struct sched_state *st);
};

/* Returns NULL when there is no such policy. */
const struct lane_policy *lane_policy_find(const char *name);
/* Returns the policy number `index`, for listing; NULL beyond the last. */
const struct lane_policy *lane_policy_at(uint32_t index);

#define LANE_POLICY(name, sentence) extern const struct lane_policy lane_##name;
#include "daemon/policy/policies.def"

#endif
