/* SPDX-License-Identifier: Apache-2.0
 *
 * What is tuned: tasks, their configurations, how well each learns and what its epochs take. The
 * rule is docs/results/2026-11-tuning.md's; nothing in it is measured. Numbers are functions of the
 * seed and of what they are asked for, so that nothing depends on who runs when, and are made by
 * plain arithmetic alone.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_TUNE_WORK_H
#define DAEMON_SIM_TUNE_WORK_H

#include <stdint.h>

#define WORK_DIMENSIONS 6u
#define WORK_EPOCHS 81u /* of the largest budget, R */

struct work_task {
    const char *name, *sentence;
    double epoch_s;     /* of the cheapest configuration, alone on one GPU */
    double costs;       /* the dearest one's, as a multiple of that */
    double alpha, beta; /* of (3.2) */
    double low, high;   /* accuracy of the worst and of the best configuration, fully trained */
    double half;        /* epochs to half of its accuracy: from half of this to twice */
};

/* The index-th; NULL beyond the last. */
const struct work_task *work_task(uint32_t index);
const struct work_task *work_find(const char *name);

struct work_config {
    uint32_t number;           /* what its noise goes by */
    double x[WORK_DIMENSIONS]; /* from 0 to 1 */
};

struct work {
    struct work_task task;
    uint64_t seed;
    double best[WORK_DIMENSIONS]; /* where quality is 1 */
    double target;                /* what 1 of 50 random configurations reach in WORK_EPOCHS */
};

void work_init(struct work *w, const struct work_task *task, uint64_t seed);

/* The number-th that is drawn at random; one near another; a point of a lattice of three a side. */
void work_random(const struct work *w, uint32_t number, struct work_config *out);
void work_near(const struct work *w, const struct work_config *of, uint32_t number,
               struct work_config *out);
void work_lattice(uint32_t number, struct work_config *out);

/* Seconds of an epoch alone on one GPU. */
double work_epoch_s(const struct work *w, const struct work_config *c);
/* As measured after an epoch, from 1 on. */
double work_accuracy(const struct work *w, const struct work_config *c, uint32_t epoch);

/* Uniform in (0, 1), of nothing but these. */
double work_unit(const struct work *w, uint64_t stream, uint64_t n);
/* Of mean 0 and deviation 1, within six. */
double work_normal(const struct work *w, uint64_t stream, uint64_t n);

#endif
