/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller seam, the third grain of policy: what jobs with a promise about their latency (an
 * SLO; here they are called services) cost the others. Lane and kernel policies go on below it. At
 * the end of each control period a controller is shown what the services' requests took, and
 * answers for each job two numbers: how long it stands still after each of its iterations, and how
 * many of the device's multiprocessors it may use. The core holds the job's turn back and tells the
 * caller of the share; a controller runs nothing itself.
 *
 * Every hook may be NULL: nothing is done, 0 is answered. A controller's memory is `own`, which the
 * core makes, zeroed, when the controller begins, and frees; it has no other, and learns the time
 * from nowhere but what it is shown, so that a step can be replayed.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_CONTROL_CONTROLLER_H
#define DAEMON_SCHED_CONTROL_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/state.h"

/* What a period was. */
struct controlled {
    const struct sched_state *st;
    uint64_t period_ns;
    bool changed; /* other jobs than at the end of the period before, or other promises */
    uint32_t services, others; /* admitted jobs with a promise, and without */
    /* Of the services that had a request, the one that is furthest above what it promised, or least
     * below: it rules the others. SCHED_NONE: none had one. */
    uint32_t ruling; /* job */
    uint64_t target_ns, measured_ns;
    uint32_t percent;  /* of its quantile; 0: the mean */
    uint64_t cycle_ns; /* an iteration of the others, the longest mean; 0: not known */
};

struct controller {
    const char *name;
    size_t own_bytes;
    void (*step)(void *own, const struct controlled *now);
    /* Of an admitted job, after `step`: how long it stands still after each iteration. */
    uint64_t (*pause)(const void *own, const struct controlled *now, uint32_t job);
    /* The part of the multiprocessors that it is to have; 0: all. */
    double (*part)(const void *own, const struct controlled *now, uint32_t job);
    /* How long a job whose share changed stands still at its next boundary. */
    uint64_t (*restart)(const struct controlled *now);
    /* The ruling promise is not kept, and nothing is left that could be taken from others. */
    bool (*stuck)(const void *own);
};

/* NULL when there is no such controller. */
const struct controller *controller_find(const char *name);
/* The index-th, for listing; NULL beyond the last. */
const struct controller *controller_at(uint32_t index);

/* It has a promise. */
static inline bool controller_serves(const struct sched_job *j) {
    return j->service != SCHED_NONE;
}

/* It may be made to stand still: it has no promise, and nobody said that it goes before others. */
static inline bool controller_yields(const struct sched_job *j) {
    return !controller_serves(j) && !state_high(j);
}

/* By how much more was measured than promised, as a part of that; less than 0: less. */
static inline double controller_error(const struct controlled *now) {
    return ((double)now->measured_ns - (double)now->target_ns) / (double)now->target_ns;
}

/* A part of the device's multiprocessors, of 1: at least one of them; 0: all. */
uint32_t controller_sms(const struct sched_state *st, double part);

#define CONTROL_POLICY(name, sentence) extern const struct controller control_##name;
#include "daemon/policy/policies.def"

#endif
