/* SPDX-License-Identifier: Apache-2.0
 *
 * The two policies in order of arrival. FIFO, the baseline: one job at a time until it ends, "the
 * de facto mechanism in use today in the absence of Salus" (Salus, section 5.1). PACK: as many
 * lanes as the safety condition allows, side by side, to keep the device busy; "because each lane
 * has guaranteed resources, there is no fairness consideration" (section 4.1), so within a lane the
 * earlier job goes first. Lanes are not merged to let another job in: that job would wait inside a
 * lane instead of outside, and make others wait with it.
 */
#include "daemon/sched/policy/lane_policy.h"

static uint64_t begin(const struct sched_state *st, uint32_t job) {
    return st->jobs[job].node.arrival;
}

static uint64_t rank(const struct sched_state *st, uint32_t job) {
    return st->jobs[job].node.arrival;
}

const struct lane_policy lane_fifo = {
    .name = "fifo",
    .exclusive = true,
    .sticky = true,
    .begin = begin,
    .rank = rank,
    .admit_rank = rank,
};

const struct lane_policy lane_pack = {
    .name = "pack",
    .begin = begin,
    .rank = rank,
    .admit_rank = rank,
};
