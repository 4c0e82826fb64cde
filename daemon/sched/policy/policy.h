/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel policy seam: which of the waiting operations of the jobs that have a turn runs next. A
 * policy sees the scheduler's state read-only, keeps whatever it needs in `self` (priv_size bytes,
 * zeroed), has no file-static state and never learns the time from anywhere but the state.
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
    size_t priv_size;

    int (*init)(void *self, const struct sched_state *st);
    void (*fini)(void *self);
    /* Room for jobs in slots below `jobs`; called before slots grow. 0 or -ENOMEM. */
    int (*reserve)(void *self, uint32_t jobs);

    /* `op` has begun to wait; it is at the end of its job's list already. */
    void (*enqueue)(void *self, const struct sched_state *st, uint32_t op);
    /* `op` has stopped waiting because its job left; it is off its job's list already. */
    void (*dequeue)(void *self, const struct sched_state *st, uint32_t op);
    /* `op` has begun to run: it is at the end of its job's list SCHED_RUNNING. */
    void (*started)(void *self, const struct sched_state *st, uint32_t op);
    /* The waiting operation to run now, or SCHED_NONE. Changes nothing. */
    uint32_t (*pick)(void *self, const struct sched_state *st);
    /* `op` ended and is off its job's list; its job may have left, but is still there. */
    void (*ended)(void *self, const struct sched_state *st, uint32_t op);
    /* `job` was admitted, has got the turn, has lost it, begins another iteration, its spec or its
     * cap changed, or it left: other operations of it may run now, or none. */
    void (*turned)(void *self, const struct sched_state *st, uint32_t job);
    /* An iteration of `job` is complete; its request_ns and gap_ns are of it. NULL: no matter. */
    void (*iterated)(void *self, const struct sched_state *st, uint32_t job);
    /* When pick may have another answer although nothing happened; SCHED_NEVER. NULL: never. */
    uint64_t (*wake)(const void *self, const struct sched_state *st);
    /* SM_THRESHOLD in effect. NULL: it has none. */
    uint32_t (*sm_threshold)(const void *self, const struct sched_state *st);
    /* The blocks that `self` points to (core/memory.h). NULL: none. */
    bool (*memory)(void *self, memory_visit *visit, void *arg);
    /* Checks the policy's own invariants: NULL, or which one does not hold. */
    const char *(*check)(const void *self, const struct sched_state *st);
};

/* NULL when there is no such policy. */
const struct policy *policy_find(const char *name);

/* The index-th, for listing; NULL beyond the last. */
const struct policy *policy_at(uint32_t index);

extern const struct policy pol_streams, pol_temporal, pol_ticktock, pol_reef, pol_orion, pol_slack;

#endif
