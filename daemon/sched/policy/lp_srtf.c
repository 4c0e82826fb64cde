/* SPDX-License-Identifier: Apache-2.0
 *
 * SRTF (Salus, section 4.2): the job with the shortest remaining time runs, and a shorter job that
 * arrives takes over at the next boundary. "The higher priority job is admitted as long as its own
 * safety condition is met - i.e., at least, it can run alone on the GPU - regardless of other
 * already-running jobs": with swap, longer jobs are swapped out for it.
 *
 * The remaining time is the given duration, or the remaining iterations times the mean device time
 * of one. A job with known iterations that has run none goes first, for one iteration, which
 * suffices to measure its time. Jobs without either come after all others, the least served first.
 */
#include "daemon/sched/policy/lane_policy.h"

#define SRTF_UNKNOWN (1ull << 62)

static uint64_t remaining(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    const struct sched_spec *spec = &j->spec;
    uint64_t all;
    if (spec->duration_ns)
        return spec->duration_ns > j->busy_ns ? spec->duration_ns - j->busy_ns : 0;
    if (!spec->iterations) return SRTF_UNKNOWN + (j->busy_ns < SRTF_UNKNOWN ? j->busy_ns : 0);
    uint64_t left = spec->iterations > j->iterations ? spec->iterations - j->iterations : 0;
    return __builtin_mul_overflow(left, j->iteration_ns, &all) || all > SRTF_UNKNOWN ? SRTF_UNKNOWN
                                                                                     : all;
}

static uint64_t begin(const struct sched_state *st, uint32_t job) {
    return 0;
}

/* Moving memory takes time as well, so at least a tenth of a lease must be gained. */
static uint64_t swap_margin(const struct sched_state *st) {
    return st->lease_ns / 10;
}

const struct lane_policy lane_srtf = {
    .name = "srtf",
    .exclusive = true,
    .reorganise = true,
    .begin = begin,
    .rank = remaining,
    .admit_rank = remaining,
    .swap_margin = swap_margin,
};
