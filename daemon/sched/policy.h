/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel policy seam: which of the waiting operations of the jobs that have a turn runs next. A
 * policy sees the scheduler's state read-only, keeps whatever it needs in `self` (priv_size bytes,
 * zeroed), has no file-static state and never learns the time from anywhere but the state.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_POLICY_H
#define DAEMON_SCHED_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/state.h"

struct policy {
    const char *name;
    size_t priv_size;

    int (*init)(void *self, const struct sched_state *st);
    void (*fini)(void *self);
    /* Room for jobs in slots below `jobs`; called before slots grow. 0 or -ENOMEM. */
    int (*reserve)(void *self, uint32_t jobs);

    /* `op` has begun to wait; it is at the end of its job's list already. */
    void (*enqueue)(void *self, const struct sched_state *st, uint32_t op);
    /* `op` has stopped waiting (it runs, or its job left); it is off its job's list already, and
     * counted in its job's `inflight` when it runs. */
    void (*dequeue)(void *self, const struct sched_state *st, uint32_t op);
    /* The waiting operation to run now, or SCHED_NONE. Changes nothing. */
    uint32_t (*pick)(void *self, const struct sched_state *st);
    /* An operation of `job` ended after `busy_ns` of the device's time; its place is free again. */
    void (*ran)(void *self, const struct sched_state *st, uint32_t job, uint64_t busy_ns);
    /* `job` has got the turn, has lost it, or begins another iteration: other operations of it may
     * run now. */
    void (*turned)(void *self, const struct sched_state *st, uint32_t job);
    /* Checks the policy's own invariants: NULL, or which one does not hold. */
    const char *(*check)(const void *self, const struct sched_state *st);
};

/* NULL when there is no such policy. */
const struct policy *policy_find(const char *name);

extern const struct policy pol_streams;

#endif
