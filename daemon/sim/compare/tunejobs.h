/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim tune`: compares ways of sharing GPUs among the trials of tuning jobs with one GPU per
 * trial in order (thesis, chapter 3).
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_COMPARE_TUNEJOBS_H
#define DAEMON_SIM_COMPARE_TUNEJOBS_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/sim/compare/compare.h"
#include "daemon/sim/tune/tuning.h"

#define TUNEJOBS_MODES 8u
#define TUNEJOBS_LIST 16u /* most algorithms, tasks, and numbers of GPUs */
#define TUNEJOBS_CELLS (TUNEJOBS_LIST * TUNEJOBS_LIST * TUNEJOBS_LIST)

/* Ways of sharing GPUs: X(name, flags of salus_fluid.h, description). The others are compared with
 * the first. */
/* clang-format off */
#define TUNEJOBS_MODES_OF(X)                                                                       \
    X("fifo", SALUS_FLUID_FIFO, "one GPU per trial, in order of arrival")                                         \
    X("static", SALUS_FLUID_STATIC, "StaticFluid: nothing is resized")                             \
    X("fluid", 0, "StaticFluid, and DynamicFluid when GPUs become idle")                           \
    X("fill", SALUS_FLUID_FILL, "as static; GPUs left idle by rounding down go to the last trial")                  \
    X("fractions", SALUS_FLUID_FRACTIONS, "as fluid, with shares below one as computed")             \
    X("down-any", SALUS_FLUID_DOWN_ANY, "as fluid, scaling down as printed in Algorithm 3.2")          \
    X("room", SALUS_FLUID_ROOM, "as fluid; trials with more than their share yield to waiting trials")
/* clang-format on */

struct tunejobs_mode {
    const char *name, *sentence;
    uint32_t flags;
};

/* The index-th mode; NULL past the last. */
const struct tunejobs_mode *tunejobs_mode(uint32_t index);

struct tunejobs_config {
    struct tuning_config tuning; /* kind, task, GPUs, seed and flags are filled in */
    const struct tuner_kind *kinds[TUNEJOBS_LIST];
    struct work_task tasks[TUNEJOBS_LIST];
    uint32_t gpus[TUNEJOBS_LIST];
    const struct tunejobs_mode *modes[TUNEJOBS_MODES];
    uint32_t kind_count, task_count, gpu_count, mode_count;
    uint32_t seeds; /* number of seeds, starting at tuning.seed */
};

struct tunejobs_cell {
    struct measure time_s, target_s; /* target_s: over the seeds that reached the target */
    struct measure log_gain;         /* logarithm of FIFO's time divided by this one's, per seed */
    struct measure busy, work, resizes, runs;
};

/* Indexed by task, algorithm, GPUs and mode. */
struct tunejobs {
    struct tunejobs_cell *cells;
};

/* Called before each job. */
typedef void tunejobs_progress_fn(void *arg, uint32_t job, uint32_t of);

/* Returns 0, -ENOMEM, or -EPROTO if Fluid broke a rule, with a sentence in `why`
 * (SIM_WHY_BYTES). */
int tunejobs_run(struct tunejobs *out, const struct tunejobs_config *config,
                 tunejobs_progress_fn *progress, void *arg, char *why);
void tunejobs_finish(struct tunejobs *t);

const struct tunejobs_cell *tunejobs_at(const struct tunejobs *t, const struct tunejobs_config *c,
                                        uint32_t task, uint32_t kind, uint32_t gpus, uint32_t mode);
/* tunejobs_gain is the speed relative to FIFO. Its 95 % interval extends by the factor
 * tunejobs_factor in both directions. */
double tunejobs_gain(const struct tunejobs_cell *cell);
double tunejobs_factor(const struct tunejobs_cell *cell);

#endif
