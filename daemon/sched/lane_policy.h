/* SPDX-License-Identifier: Apache-2.0
 *
 * The lane policy seam: who runs the next iteration. At every boundary the turn goes to the ready
 * job with the smallest rank among those that compete for it (the jobs of its lane, or all jobs
 * when one lane runs at a time); a higher priority goes before any rank. A job is ready when it
 * has operations of its next iteration waiting. Waiting jobs are admitted in the order of
 * admit_rank.
 *
 * A policy sees the scheduler's state read-only, keeps its own numbers in `self` (priv_size bytes,
 * zeroed) and in the `rank` of each job, has no file-static state and never learns the time from
 * anywhere but the state.
 */
#ifndef DAEMON_SCHED_LANE_POLICY_H
#define DAEMON_SCHED_LANE_POLICY_H

#include "daemon/sched/state.h"

struct lane_policy {
    const char *name;
    bool exclusive; /* one lane runs at a time, unless chosen otherwise */
    bool sticky;    /* who has the turn keeps it until it leaves: no sharing */
    size_t priv_size;

    /* The job is new, or the policy is: what the policy remembers of it begins. */
    void (*joined)(void *self, const struct sched_state *st, uint32_t job);
    /* An operation of it ended after `busy_ns` of the device's time. */
    void (*charged)(void *self, const struct sched_state *st, uint32_t job, uint64_t busy_ns);
    /* Smaller goes first; may depend on anything in the state. Asked when a job becomes ready. */
    uint64_t (*rank)(const void *self, const struct sched_state *st, uint32_t job);
    uint64_t (*admit_rank)(const void *self, const struct sched_state *st, uint32_t job);
};

/* NULL when there is no such policy. */
const struct lane_policy *lane_policy_find(const char *name);
/* Their names, separated by commas, for people. */
const char *lane_policy_names(void);

extern const struct lane_policy lane_fifo, lane_pack, lane_srtf, lane_fair;

#endif
