/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks for tuning: their configurations, how well each learns, and the duration of its epochs.
 * docs/results/2026-11-tuning.md defines the rule; nothing in it is measured. All numbers are
 * functions of the seed and the arguments, so that they do not depend on the order of runs. Only
 * plain arithmetic is used.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_TUNE_WORK_H
#define DAEMON_SIM_TUNE_WORK_H

#include <stdint.h>

#define WORK_DIMENSIONS 6u
#define WORK_EPOCHS 81u /* the largest budget, R */

struct work_task {
    const char *name, *sentence;
    double epoch_s;     /* epoch of the cheapest configuration, alone on one GPU */
    double costs;       /* the most expensive configuration's epoch relative to that */
    double alpha, beta; /* overheads of (3.2) */
    double low, high;   /* accuracy of the worst and the best configuration, fully trained */
    double half; /* epochs to half of the final accuracy: between half of this and twice this */
};

/* The index-th task; NULL past the last. */
const struct work_task *work_task(uint32_t index);
const struct work_task *work_find(const char *name);

struct work_config {
    uint32_t number;           /* seed of its noise */
    double x[WORK_DIMENSIONS]; /* 0 to 1 */
};

struct work {
    struct work_task task;
    uint64_t seed;
    double best[WORK_DIMENSIONS]; /* the point at which the quality is 1 */
    double target;                /* reached by 1 of 50 random configurations in WORK_EPOCHS */
};

void work_init(struct work *w, const struct work_task *task, uint64_t seed);

/* The number-th random configuration; one near another; a point of a lattice with three points per
 * side. */
void work_random(const struct work *w, uint32_t number, struct work_config *out);
void work_near(const struct work *w, const struct work_config *of, uint32_t number,
               struct work_config *out);
void work_lattice(uint32_t number, struct work_config *out);

/* Seconds of an epoch alone on one GPU. */
double work_epoch_s(const struct work *w, const struct work_config *c);
/* Measured accuracy after an epoch, counted from 1. */
double work_accuracy(const struct work *w, const struct work_config *c, uint32_t epoch);

/* Uniform in (0, 1); depends only on the arguments. */
double work_unit(const struct work *w, uint64_t stream, uint64_t n);
/* Nearly normal with mean 0 and deviation 1, within six deviations. */
double work_normal(const struct work *w, uint64_t stream, uint64_t n);

#endif
