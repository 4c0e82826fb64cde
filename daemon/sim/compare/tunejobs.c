/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs all requested jobs one after another. FIFO always runs, because the others are compared with
 * it.
 */
#include "daemon/sim/compare/tunejobs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tune/salus_fluid.h"

#define NORMAL_95 1.96

static const struct tunejobs_mode modes[] = {
#define X(mode, bits, text) {.name = mode, .sentence = text, .flags = bits},
    TUNEJOBS_MODES_OF(X)
#undef X
};

const struct tunejobs_mode *tunejobs_mode(uint32_t index) {
    return index < sizeof(modes) / sizeof(*modes) ? &modes[index] : NULL;
}

static uint32_t place(const struct tunejobs_config *c, uint32_t task, uint32_t kind, uint32_t gpus,
                      uint32_t mode) {
    return ((task * c->kind_count + kind) * c->gpu_count + gpus) * c->mode_count + mode;
}

const struct tunejobs_cell *tunejobs_at(const struct tunejobs *t, const struct tunejobs_config *c,
                                        uint32_t task, uint32_t kind, uint32_t gpus,
                                        uint32_t mode) {
    return &t->cells[place(c, task, kind, gpus, mode)];
}

double tunejobs_gain(const struct tunejobs_cell *cell) {
    return exp(measure_mean(&cell->log_gain));
}

double tunejobs_factor(const struct tunejobs_cell *cell) {
    const struct measure *m = &cell->log_gain;
    return m->count > 1 ? exp(NORMAL_95 * measure_spread(m) / sqrt(m->count)) : 1;
}

static void add(struct measure *m, double x) {
    m->sum += x;
    m->squares += x * x;
    m->count++;
}

static void take(struct tunejobs_cell *cell, const struct tuning_result *r, double fifo_s) {
    add(&cell->time_s, r->end_s);
    if (r->target_s >= 0) add(&cell->target_s, r->target_s);
    add(&cell->log_gain, log(fifo_s / r->end_s));
    add(&cell->busy, r->busy);
    add(&cell->work, r->work);
    add(&cell->resizes, (double)r->resizes);
    add(&cell->runs, r->runs);
}

static int fail(int err, char *why) {
    snprintf(why, SIM_WHY_BYTES, "%s",
             err == -EPROTO ? "Fluid broke one of its invariants" : strerror(-err));
    return err;
}

/* Runs a job in one mode. FIFO has as many concurrent trials as GPUs. */
static int run_mode(struct tuning_config job, const struct tunejobs_mode *mode,
                    struct tuning_result *out) {
    job.flags = mode->flags;
    if (mode->flags & SALUS_FLUID_FIFO) job.concurrent = job.gpus;
    return tuning_run(&job, out);
}

/* Runs one job in all modes. */
static int run_job(struct tunejobs *out, const struct tunejobs_config *c,
                   const struct tuning_config *job, uint32_t at) {
    struct tuning_result fifo, r;
    int err = run_mode(*job, &modes[0], &fifo);
    for (uint32_t mode = 0; !err && mode < c->mode_count; mode++) {
        r = fifo;
        if (c->modes[mode] != &modes[0]) err = run_mode(*job, c->modes[mode], &r);
        if (!err) take(&out->cells[at + mode], &r, fifo.end_s);
    }
    return err;
}

static uint32_t count_jobs(const struct tunejobs_config *c) {
    return c->task_count * c->kind_count * c->gpu_count * c->seeds;
}

/* Selects the index-th job of all combinations; returns its first cell. */
static uint32_t find_job(const struct tunejobs_config *c, uint32_t index,
                         struct tuning_config *out) {
    uint32_t seed = index % c->seeds, gpus = index / c->seeds % c->gpu_count;
    uint32_t kind = index / c->seeds / c->gpu_count % c->kind_count;
    uint32_t task = index / c->seeds / c->gpu_count / c->kind_count;
    *out = c->tuning;
    out->seed += seed;
    out->gpus = c->gpus[gpus];
    out->kind = c->kinds[kind];
    out->task = &c->tasks[task];
    return place(c, task, kind, gpus, 0);
}

int tunejobs_run(struct tunejobs *out, const struct tunejobs_config *config,
                 tunejobs_progress_fn *progress, void *arg, char *why) {
    uint32_t jobs = count_jobs(config);
    int err = 0;
    out->cells = calloc((size_t)jobs / config->seeds * config->mode_count, sizeof(*out->cells));
    if (!out->cells) return fail(-ENOMEM, why);
    for (uint32_t i = 0; !err && i < jobs; i++) {
        struct tuning_config job;
        uint32_t at = find_job(config, i, &job);
        progress(arg, i + 1, jobs);
        err = run_job(out, config, &job, at);
    }
    if (!err) return 0;
    tunejobs_finish(out);
    return fail(err, why);
}

void tunejobs_finish(struct tunejobs *t) {
    free(t->cells);
    t->cells = NULL;
}
