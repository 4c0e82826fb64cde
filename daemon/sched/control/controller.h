/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller interface, the third kind of policy: how much jobs with a latency target (an SLO;
 * such jobs are called services here) may slow the others down. Lane and kernel policies work below
 * it. At the end of each control period the core shows a controller the latencies of the services'
 * requests. The controller answers two numbers for each job: the pause after each of its
 * iterations, and the multiprocessors that it may use. The core delays the job's turn and tells the
 * caller the share; a controller runs nothing itself.
 *
 * Every hook may be NULL: nothing is done, 0 is answered. A controller's memory is `own`, which the
 * core allocates, zeroed, when the controller begins, and frees. It has no other memory, and gets
 * the time only as an argument, so that a step can be replayed.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_CONTROL_CONTROLLER_H
#define DAEMON_SCHED_CONTROL_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/state.h"

/* The results of a control period. */
struct controlled {
    const struct sched_state *st;
    uint64_t period_ns;
    bool changed;              /* the jobs or their targets differ from the previous period's */
    uint32_t services, others; /* numbers of admitted jobs with and without a target */
    /* The service with requests in this period that exceeds its target most, or is least below it.
     * Its error determines the control action. SCHED_NONE: no service had a request. */
    uint32_t ruling; /* slot of the job */
    uint64_t target_ns, measured_ns;
    uint32_t percent;  /* quantile that its target bounds; 0: the mean */
    uint64_t cycle_ns; /* longest mean iteration of the best-effort jobs; 0: unknown */
};

struct controller {
    const char *name;
    size_t own_bytes;
    void (*step)(void *own, const struct controlled *now);
    /* Called after `step` for an admitted job: the pause after each of its iterations. */
    uint64_t (*pause)(const void *own, const struct controlled *now, uint32_t job);
    /* The part of the multiprocessors that the job gets; 0: all. */
    double (*part)(const void *own, const struct controlled *now, uint32_t job);
    /* The pause of a job whose share changed, at its next boundary. */
    uint64_t (*restart)(const struct controlled *now);
    /* The ruling target is missed, and other jobs have nothing more to give up. */
    bool (*stuck)(const void *own);
};

/* Returns NULL when there is no such controller. */
const struct controller *controller_find(const char *name);
/* Returns the controller number `index`, for listing; NULL beyond the last. */
const struct controller *controller_at(uint32_t index);

/* The job has a latency target. */
static inline bool controller_serves(const struct sched_job *j) {
    return j->service != SCHED_NONE;
}

/* The job may be slowed down: it has no target and no high priority. */
static inline bool controller_yields(const struct sched_job *j) {
    return !controller_serves(j) && !state_high(j);
}

/* The relative error of the measurement against the target; negative: below the target. */
static inline double controller_error(const struct controlled *now) {
    return ((double)now->measured_ns - (double)now->target_ns) / (double)now->target_ns;
}

/* Converts a part (0 to 1) of the device into multiprocessors, at least one; 0 means all. */
uint32_t controller_sms(const struct sched_state *st, double part);

#define CONTROL_POLICY(name, sentence) extern const struct controller control_##name;
#include "daemon/policy/policies.def"

#endif
