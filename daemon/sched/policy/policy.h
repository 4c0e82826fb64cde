/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel policy interface, which chooses the next of the waiting operations of the jobs that
 * have a turn. The core queues the jobs that have an operation to run, in one of two ways:
 *
 *   by rank   the job with the smallest rank first, with its oldest operation. Without a rank hook,
 *             a job's rank is the arrival of that operation: all run in order of arrival
 *   classes   high-priority jobs (spec.priority above 0) in turn, then best-effort jobs in turn. A
 *             best-effort memory operation runs at once, since it uses no SM; a kernel if it may
 *
 * A policy adds a rule: `rank`, `may`, and the state that these need. Every hook may be NULL. Hooks
 * see the state read-only. A policy's memory is st->own.policy, and an item for each job in
 * st->own.jobs. The core allocates, grows and frees both. They are zeroed when the policy begins,
 * an item also when another job gets its slot. A policy has no other memory, and reads the time
 * only from the state.
 *
 * When a policy takes over, `submitted` and `started` are called for all waiting and running
 * operations, and `changed` for every job.
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
    bool priorities; /* high-priority jobs use the device's stream priority, unless configured
                        otherwise */
    bool classes;    /* jobs are queued by class (st->classes), not by rank (st->ranked) */
    size_t own_bytes, job_bytes; /* sizes of st->own.policy and of an item of st->own.jobs */

    /* Returns a job's rank; the smallest goes first. Called when an operation of the job arrived,
     * was sent or ended, and with `changed`. NULL: the arrival of its oldest operation that may
     * run. */
    uint64_t (*rank)(const struct sched_state *st, uint32_t job);
    /* Returns whether the waiting `op`, whose turn it is, may run now; with classes, `op` is a
     * kernel of a best-effort job. Changes nothing. With ranks, a decision then examines all jobs
     * that have an operation to run. NULL: it may. */
    bool (*may)(const struct sched_state *st, uint32_t op);
    /* With classes, replaces asking `may` for one job after the other: returns the best-effort
     * operation to run now, or SCHED_NONE. It is the first, by its job's turn (classes_turn), that
     * is a memory operation or a kernel that may run. At least one best-effort job has an operation
     * to run. */
    uint32_t (*next)(const struct sched_state *st);

    /* `op` began to wait; it is already at the end of its job's list. */
    void (*submitted)(const struct sched_state *st, uint32_t op);
    /* `op` began to run; it is at the end of its job's list SCHED_RUNNING. */
    void (*started)(const struct sched_state *st, uint32_t op);
    /* `op` ended and is no longer in its job's list. Its job may have left, but still exists. */
    void (*ended)(const struct sched_state *st, uint32_t op);
    /* `job` was admitted, got or lost the turn, began another iteration, left, or its spec or cap
     * changed: other operations of it may run now, or none. */
    void (*changed)(const struct sched_state *st, uint32_t job);
    /* An iteration of `job` completed; its request_ns and gap_ns describe that iteration. */
    void (*iterated)(const struct sched_state *st, uint32_t job);

    /* On a device with slices (st->slice_ns), called after all runnable operations were sent:
     * returns a job whose kernels on the device shall be preempted and are not, or the reverse, or
     * SCHED_NONE. Called until it returns SCHED_NONE; st->jobs[job].still has changed by the next
     * call. A job without kernels on the device is resumed. */
    uint32_t (*turned)(const struct sched_state *st);
    /* Time at which `may`, `next` or `turned` may change its answer without an event; SCHED_NEVER:
     * none. */
    uint64_t (*wake)(const struct sched_state *st);
    /* Returns SM_THRESHOLD in effect. */
    uint32_t (*sm_threshold)(const struct sched_state *st);
    /* Visits the blocks to which an item of st->own.jobs points; they are freed with the item
     * (visit.h). */
    bool (*blocks)(void *item, memory_visit *visit, void *arg);
    /* Checks the policy's own invariants. Returns NULL or the first one that fails. */
    const char *(*check)(const struct sched_state *st);
};

/* Returns NULL when there is no such policy. */
const struct policy *policy_find(const char *name);

/* Returns the policy number `index`, for listing; NULL beyond the last. */
const struct policy *policy_at(uint32_t index);

#define KERNEL_POLICY(name, sentence) extern const struct policy pol_##name;
#include "daemon/policy/policies.def"

#endif
