/* SPDX-License-Identifier: Apache-2.0
 *
 * A tuning job in virtual time: an algorithm (tuner.h), a task (work.h), GPUs, and Fluid's own
 * object code, which says who runs where. What (3.2) says of shares is true here; what is not known
 * beforehand is how long a trial takes: Fluid is told an estimate when it joins, and what is left
 * when something happens after its first epoch.
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
    uint32_t trials;                   /* of grid and random search */
    uint32_t flags;                    /* SALUS_FLUID_* */
    uint32_t concurrent;               /* trials at a time of asynchronous algorithms */
    uint32_t packed_most, spread_most; /* c and d at most; 0: by (3.1) and lemma 6 alone */
    double threshold;                  /* O_th of (3.1) */
    double change_s;                   /* epsilon */
    double begin_s;                    /* set-up of each run before its first epoch */
    double noise; /* relative deviation of what Fluid is told when a trial joins */
    double limit_s;
};

struct tuning_result {
    double end_s;    /* the target was reached; grid and random: all have ended */
    double target_s; /* when it was reached; below 0: it was not within the limit */
    double busy;     /* GPUs that somebody was on, of all GPUs' time until the end */
    double work;     /* training done, in time alone on one GPU, of the same; above 1 where sharing
                        gains */
    double best;     /* accuracy */
    uint32_t runs;
    uint64_t resizes;
};

/* 0; -ENOMEM; -EPROTO: Fluid broke an invariant, or refused what could be, which is a fault of it
 * or of this. */
int tuning_run(const struct tuning_config *config, struct tuning_result *out);

#endif
