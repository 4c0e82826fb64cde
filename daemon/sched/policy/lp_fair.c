/* SPDX-License-Identifier: Apache-2.0
 *
 * FAIR (Salus, section 4.3): "equalize total service over time for jobs in each lane", and among
 * lanes (dispatch/share.h). Service is device time, or time with a turn for which others wait,
 * divided by the job's weight. A job's number is the service that it has received. A new job begins
 * with the service of the least served competing job, so that it neither starves the others nor is
 * starved. Service is never reset to zero.
 *
 * A job that was away (its host computes, or waits) returns with arrears of at most a tenth of a
 * lease. Otherwise it could use the whole device for an hour after sleeping for an hour.
 */
#include "daemon/sched/policy/lane_policy.h"

#define FAIR_SHIFT                                                                 \
    10 /* extra bits, so that the division by a weight loses no relevant precision \
        */
#define FAIR_ARREARS 10 /* divisor of the lease */

static uint64_t begin(const struct sched_state *st, uint32_t job) {
    return st->share.on ? st->share.floor : state_domain(st, st->jobs[job].lane)->floor;
}

static uint64_t service(const struct sched_state *st, uint32_t job, uint64_t ns) {
    uint32_t weight = st->jobs[job].spec.weight;
    uint64_t units = ns << FAIR_SHIFT;
    return weight == 1 ? units : units / weight;
}

static uint64_t arrears(const struct sched_state *st) {
    return st->lease_ns / FAIR_ARREARS << FAIR_SHIFT;
}

static uint64_t margin(const struct sched_state *st) {
    return st->lease_ns << FAIR_SHIFT;
}

static uint64_t rank(const struct sched_state *st, uint32_t job) {
    return st->jobs[job].number;
}

const struct lane_policy lane_fair = {
    .name = "fair",
    .reorganise = true,
    .levels = true,
    .begin = begin,
    .service = service,
    .arrears = arrears,
    .rank = rank,
    .admit_rank = rank,
    .swap_margin = margin,
};
