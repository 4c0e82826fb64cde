/* SPDX-License-Identifier: Apache-2.0
 *
 * Device time by weight, operation by operation: start-time fair queueing (Goyal, Vin and Cheng,
 * 1996). Each job has a clock that goes on by the time its operations need, divided by its weight;
 * the job whose clock is furthest behind goes next. At most shares_depth operations are on the
 * device at once, because an operation there cannot be taken back.
 */
#include "daemon/sched/policy/policy.h"

#define LEAST_NS 1000 /* the time of an operation whose expected time is not known */

struct job {
    uint64_t clock_ns;
};

struct shares {
    uint64_t clock_ns; /* clock of the job served last, before that operation */
};

static struct job *job_of(const struct sched_state *st, uint32_t job) {
    return (struct job *)st->own.jobs + job;
}

static uint64_t rank(const struct sched_state *st, uint32_t job) {
    return job_of(st, job)->clock_ns;
}

static bool may(const struct sched_state *st, uint32_t op) {
    return st->running < st->config->shares_depth;
}

/* A job that had nothing to run begins at the others' clock: being idle saves no service. */
static void submitted(const struct sched_state *st, uint32_t op) {
    const struct shares *all = st->own.policy;
    uint32_t job = st->ops[op].job;
    struct job *j = job_of(st, job);
    bool idle = st->jobs[job].waiting + st->jobs[job].running == 1;
    if (idle && j->clock_ns < all->clock_ns) j->clock_ns = all->clock_ns;
}

static void started(const struct sched_state *st, uint32_t op) {
    struct shares *all = st->own.policy;
    const struct sched_op *o = &st->ops[op];
    struct job *j = job_of(st, o->job);
    if (all->clock_ns < j->clock_ns) all->clock_ns = j->clock_ns;
    j->clock_ns += (o->expected_ns ? o->expected_ns : LEAST_NS) / st->jobs[o->job].spec.weight;
}

const struct policy pol_shares = {
    .name = "shares",
    .own_bytes = sizeof(struct shares),
    .job_bytes = sizeof(struct job),
    .rank = rank,
    .may = may,
    .submitted = submitted,
    .started = started,
};
