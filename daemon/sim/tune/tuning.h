/* SPDX-License-Identifier: Apache-2.0
 *
 * A tuning job in virtual time: an algorithm (tuner.h), a task (work.h), GPUs, and Fluid's own
 * object code, which assigns trials to GPUs. Shares act exactly as (3.2) says. Durations of trials
 * are not known beforehand: Fluid gets an estimate when a trial joins, and the remaining time at
 * events after its first epoch.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_TUNE_TUNING_H
#define DAEMON_SIM_TUNE_TUNING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/tune/tuner.h"

struct tuning_config {
    const struct tuner_kind *kind;
    const struct work_task *task;
    uint64_t seed;
    uint32_t gpus;
    uint32_t trials;                   /* for grid and random search */
    uint32_t flags;                    /* SALUS_FLUID_* */
    uint32_t concurrent;               /* concurrent trials of asynchronous algorithms */
    uint32_t packed_most, spread_most; /* limits of c and d; 0: only those by (3.1) and lemma 6 */
    double threshold;                  /* O_th of (3.1) */
    double change_s;                   /* epsilon */
    double begin_s;                    /* set-up time of each run before its first epoch */
    double noise;                      /* relative deviation of the estimate when a trial joins */
    double limit_s;
};

struct tuning_result {
    double end_s; /* when the target was reached; for grid and random, when all trials have ended */
    double target_s; /* when the target was reached; below 0: not within the limit */
    double busy; /* GPU time with at least one trial, relative to all GPUs' time until the end */
    /* Training done, in time alone on one GPU, relative to the same; above 1 if sharing gains. */
    double work;
    double best; /* best accuracy */
    uint32_t runs;
    uint64_t resizes;
};

/* Returns 0, -ENOMEM, or -EPROTO if Fluid violated an invariant or rejected a valid event: a bug in
 * Fluid or in this code. */
int tuning_run(const struct tuning_config *config, struct tuning_result *out);

#endif
