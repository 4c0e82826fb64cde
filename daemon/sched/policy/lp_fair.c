/* SPDX-License-Identifier: Apache-2.0
 *
 * FAIR (Salus, section 4.3): "equalize total service over time for jobs in each lane", and among
 * lanes (dispatch/share.h). Service is time on the device, or with a turn that others wait for,
 * divided by the job's weight; a job's number is the service that it received so far. A newcomer
 * begins with the service of the least served job that competes, so that it neither starves the
 * others nor is starved; nothing is ever set back to zero.
 *
 * A job that was away (its host computes, or waits) comes back with at most a tenth of a lease of
 * arrears: otherwise an hour's sleep would be an hour of the whole device.
 */
#include "daemon/sched/policy/lane_policy.h"

#define FAIR_SHIFT 10   /* so that dividing by a weight loses nothing that matters */
#define FAIR_ARREARS 10 /* the part of a lease */

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
