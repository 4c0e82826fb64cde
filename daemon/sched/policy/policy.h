/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel policy seam: which of the waiting operations of the jobs that have a turn runs next.
 * The core keeps the jobs that have an operation to run, in one of two ways, and serves them:
 *
 *   by rank   the job of the smallest rank first; a job's oldest operation. Unless the policy gives
 *             ranks, a job's is the arrival of that operation: all goes in order of arrival.
 *   classes   high-priority jobs (spec.priority above 0) in turn, before best-effort ones in turn;
 *             of these a memory operation at once, since it uses no SM, a kernel if it may.
 *
 * What a policy adds is its rule: `rank`, `may`, and whatever must be remembered for them. Every
 * hook may be NULL. Hooks see the state read-only. A policy's memory is st->own.policy and, an item
 * for each job, st->own.jobs: the core makes, grows and frees both; zeroed when the policy begins,
 * an item also when another job gets its slot. A policy has no other memory and never learns the
 * time from anywhere but the state.
 *
 * A policy takes over in the middle: then `submitted` and `started` are told of whatever waits and
 * runs already, and `changed` of every job.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_POLICY_POLICY_H
#define DAEMON_SCHED_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/state.h"
#include "daemon/sched/visit.h"

struct policy {
    const char *name;
    bool exclusive;  /* one job's iteration at a time on the whole device */
    bool priorities; /* high-priority jobs have the device's priority, unless chosen otherwise */
    bool classes;    /* jobs are served by class (st->classes), not by rank (st->ranked) */
    size_t own_bytes, job_bytes; /* of st->own.policy, of an item of st->own.jobs */

    /* Smaller goes first; asked when an operation of the job came, was sent or ended, and with
     * `changed`. NULL: the arrival of its oldest operation that may run. */
    uint64_t (*rank)(const struct sched_state *st, uint32_t job);
    /* The waiting `op`, whose turn it is, may go now; of classes: the kernel of a best-effort job.
     * Changes nothing. By rank, a decision then looks at all jobs that have an operation to run.
     * NULL: yes. */
    bool (*may)(const struct sched_state *st, uint32_t op);
    /* Of classes, in place of asking `may` of one job after the other: the best-effort operation
     * to go now, or SCHED_NONE. The first, by its job's turn (classes_turn), that is a memory
     * operation or a kernel that may go. Some best-effort job has an operation to run. */
    uint32_t (*next)(const struct sched_state *st);

    /* `op` has begun to wait: it is at the end of its job's list already. */
    void (*submitted)(const struct sched_state *st, uint32_t op);
    /* `op` has begun to run: it is at the end of its job's list SCHED_RUNNING. */
    void (*started)(const struct sched_state *st, uint32_t op);
    /* `op` ended and is off its job's list; its job may have left, but is still there. */
    void (*ended)(const struct sched_state *st, uint32_t op);
    /* `job` was admitted, has got the turn, has lost it, begins another iteration, its spec or its
     * cap changed, or it left: other operations of it may run now, or none. */
    void (*changed)(const struct sched_state *st, uint32_t job);
    /* An iteration of `job` is complete; its request_ns and gap_ns are of it. */
    void (*iterated)(const struct sched_state *st, uint32_t job);

    /* Where the device has slices (st->slice_ns), when what may go has gone: a job whose kernels on
     * the device are to stand still and do not, or the other way round; SCHED_NONE. Asked until it
     * is that; st->jobs[job].still has changed by then. Whoever has nothing there goes on. */
    uint32_t (*turned)(const struct sched_state *st);
    /* When `may` may have another answer although nothing happened; SCHED_NEVER. */
    uint64_t (*wake)(const struct sched_state *st);
    /* SM_THRESHOLD in effect. */
    uint32_t (*sm_threshold)(const struct sched_state *st);
    /* The blocks that an item of st->own.jobs points to, which are freed with it (visit.h). */
    bool (*blocks)(void *item, memory_visit *visit, void *arg);
    /* Checks the policy's own invariants: NULL, or which one does not hold. */
    const char *(*check)(const struct sched_state *st);
};

/* NULL when there is no such policy. */
const struct policy *policy_find(const char *name);

/* The index-th, for listing; NULL beyond the last. */
const struct policy *policy_at(uint32_t index);

#define KERNEL_POLICY(name, sentence) extern const struct policy pol_##name;
#include "daemon/policy/policies.def"

#endif
