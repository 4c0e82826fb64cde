/* SPDX-License-Identifier: Apache-2.0
 *
 * FAIR (Salus, section 4.3): "equalize total service over time for jobs in each lane". Service is
 * time on the device, divided by the job's weight; a job's number is what it received so far. A
 * newcomer begins where the lane is, with the service of the job that had the latest turn, so that
 * it neither starves the others nor is starved; nothing is ever set back to zero.
 *
 * A job that was away (its host computes, or waits) comes back with at most a lease of arrears:
 * otherwise an hour's sleep would be an hour of the whole device.
 */
#include "daemon/sched/policy/lane_policy.h"

#define FAIR_SHIFT 10 /* so that dividing by a weight loses nothing that matters */

static uint64_t begin(const struct sched_state *st, uint32_t job) {
    return state_domain(st, st->jobs[job].lane)->floor;
}

static uint64_t charge(const struct sched_state *st, uint32_t job, uint64_t busy_ns) {
    const struct sched_job *j = &st->jobs[job];
    uint64_t service = busy_ns << FAIR_SHIFT;
    return j->number + (j->spec.weight == 1 ? service : service / j->spec.weight);
}

static uint64_t margin(const struct sched_state *st) {
    return st->lease_ns << FAIR_SHIFT;
}

static uint64_t wake(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    uint64_t floor = state_domain(st, j->lane)->floor, lease = margin(st);
    uint64_t least = floor > lease ? floor - lease : 0;
    return j->number > least ? j->number : least;
}

static uint64_t rank(const struct sched_state *st, uint32_t job) {
    return st->jobs[job].number;
}

const struct lane_policy lane_fair = {
    .name = "fair",
    .reorganise = true,
    .begin = begin,
    .charge = charge,
    .wake = wake,
    .rank = rank,
    .admit_rank = rank,
    .swap_margin = margin,
};
