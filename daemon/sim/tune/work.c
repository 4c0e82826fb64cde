/* SPDX-License-Identifier: Apache-2.0
 *
 * Defines the tasks by a rule.
 */
#include "daemon/sim/tune/work.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/prng.h"

#define SAMPLE 1000u /* random configurations from which the target quantile is computed */
#define TARGET_IN 50u
#define NOISE 0.003   /* deviation of a measured accuracy */
#define BANDWIDTH 0.1 /* distance of "near" configurations */
#define STEEPNESS 4.0 /* steepness of quality in the four dimensions that matter most */
#define TWELVE 12u

enum { STREAM_BEST, STREAM_CONFIG, STREAM_NEAR, STREAM_NOISE, STREAM_SAMPLE };
enum { COST = 4, SPEED = 5 }; /* dimensions */

/* Times, ranges and overheads are our choice: the thesis gives none. */
static const struct work_task tasks[] = {
    {"cifar", "a small convolutional net", 10, 3, 1.15, 1.15, 0.5, 0.95, 4},
    {"wlm", "a large recurrent net, which scales well", 30, 4, 1.3, 1.05, 0.3, 0.8, 6},
    {"dcgan", "two small nets, which pack well and scale badly", 5, 1.3, 1.1, 1.2, 0.4, 0.9, 3},
};

const struct work_task *work_task(uint32_t index) {
    return index < sizeof(tasks) / sizeof(*tasks) ? &tasks[index] : NULL;
}

const struct work_task *work_find(const char *name) {
    for (uint32_t i = 0; work_task(i); i++)
        if (strcmp(tasks[i].name, name) == 0) return &tasks[i];
    return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

double work_unit(const struct work *w, uint64_t stream, uint64_t n) {
    return prng_unit(prng_at(w->seed, stream, n));
}

double work_normal(const struct work *w, uint64_t stream, uint64_t n) {
    double sum = -6;
    for (uint64_t i = 0; i < TWELVE; i++)
        sum += work_unit(w, stream, n * TWELVE + i);
    return sum;
}

/* ---- configurations -------------------------------------------------------------------------- */

static void draw(const struct work *w, uint64_t stream, uint32_t number, struct work_config *out) {
    out->number = number;
    for (uint32_t i = 0; i < WORK_DIMENSIONS; i++)
        out->x[i] = work_unit(w, stream, (uint64_t)number * WORK_DIMENSIONS + i);
}

void work_random(const struct work *w, uint32_t number, struct work_config *out) {
    draw(w, STREAM_CONFIG, number, out);
}

/* Reflects at the edges. */
static double within(double x) {
    if (x < 0) x = -x;
    return x > 1 ? 2 - x : x;
}

void work_near(const struct work *w, const struct work_config *of, uint32_t number,
               struct work_config *out) {
    struct work_config from = *of;
    out->number = number;
    for (uint32_t i = 0; i < WORK_DIMENSIONS; i++) {
        uint64_t n = (uint64_t)number * WORK_DIMENSIONS + i;
        out->x[i] = within(from.x[i] + BANDWIDTH * work_normal(w, STREAM_NEAR, n));
    }
}

/* Varies the cost first, so that small grids differ in it. */
void work_lattice(uint32_t number, struct work_config *out) {
    static const uint32_t order[] = {COST, 0, 1, 2, 3};
    *out = (struct work_config){.number = number};
    for (uint32_t i = 0; i < WORK_DIMENSIONS; i++)
        out->x[i] = 0.5;
    for (uint32_t i = 0, rest = number; i < sizeof(order) / sizeof(*order); i++, rest /= 3)
        out->x[order[i]] = (1 + 2 * (rest % 3)) / 6.0;
}

/* ---- learning -------------------------------------------------------------------------------- */

double work_epoch_s(const struct work *w, const struct work_config *c) {
    return w->task.epoch_s * (1 + (w->task.costs - 1) * c->x[COST]);
}

static double quality(const struct work *w, const struct work_config *c) {
    double sum = 0;
    for (uint32_t i = 0; i <= COST; i++) {
        double off = c->x[i] - w->best[i];
        sum += (i < COST ? STEEPNESS : 1) * off * off;
    }
    return 1 / (1 + sum);
}

static double learnt(const struct work *w, const struct work_config *c, uint32_t epoch) {
    double full = w->task.low + (w->task.high - w->task.low) * quality(w, c);
    double half = w->task.half * (0.5 + 1.5 * c->x[SPEED]);
    return full * epoch / (epoch + half);
}

double work_accuracy(const struct work *w, const struct work_config *c, uint32_t epoch) {
    uint64_t n = (uint64_t)c->number * (WORK_EPOCHS + 1) + epoch;
    return learnt(w, c, epoch) + NOISE * work_normal(w, STREAM_NOISE, n);
}

static int falls(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

void work_init(struct work *w, const struct work_task *task, uint64_t seed) {
    double reached[SAMPLE];
    *w = (struct work){.task = *task, .seed = seed};
    for (uint32_t i = 0; i < WORK_DIMENSIONS; i++)
        w->best[i] = 0.2 + 0.6 * work_unit(w, STREAM_BEST, i);
    for (uint32_t i = 0; i < SAMPLE; i++) {
        struct work_config c;
        draw(w, STREAM_SAMPLE, i, &c);
        reached[i] = learnt(w, &c, WORK_EPOCHS);
    }
    qsort(reached, SAMPLE, sizeof(*reached), falls);
    w->target = reached[SAMPLE / TARGET_IN];
}
