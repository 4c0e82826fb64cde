/* SPDX-License-Identifier: Apache-2.0
 *
 * Simulates trials from event to event: a trial ends or has been resized. All trials that end at
 * one moment, and the runs that the algorithm then begins, are one step of Fluid.
 */
#include "daemon/sim/tune/tuning.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/tune/tuners.h"
#include "daemon/tune/salus_fluid.h"

#define NS 1e9
#define ACTIVE_MOST 4096u
#define PACKED_LOOK 16u /* largest number of trials per GPU that (3.1) is evaluated for */
#define STREAM_ESTIMATE 200u
#define NEVER INFINITY
#define INSTANT_S 1e-9 /* closer times count as simultaneous */

struct active {
    struct tuner_run run;
    uint64_t id;
    double epoch_s;
    double done;      /* completed epochs of the run */
    double set_up_s;  /* remaining set-up time */
    double settles_s; /* when the resize is done; NEVER: not being resized */
    double rate;      /* epochs per second after set-up; 0: it waits or is being resized */
};

struct tuning {
    const struct tuning_config *config;
    struct work work;
    struct tuner tuner;
    struct salus_fluid *fluid;
    struct salus_fluid_plan plan;
    struct salus_fluid_event *events; /* events of the next step */
    uint32_t event_count;
    struct active *active; /* in the order of joining, like the plan */
    uint32_t count;
    uint64_t next_id;
    double now_s, busy_s, work_s;
    bool flat; /* continues after the target was reached */
    struct tuning_result *result;
};

/* ---- events ---------------------------------------------------------------------------------- */

static struct salus_fluid_event *event(struct tuning *t, uint32_t kind, uint64_t id) {
    struct salus_fluid_event *e = &t->events[t->event_count++];
    *e = (struct salus_fluid_event){.kind = kind, .id = id};
    return e;
}

static int64_t to_ns(double s) {
    return (int64_t)fmax(s * NS, 1);
}

static double left_s(const struct active *a) {
    return (a->run.to - a->run.from - a->done) * a->epoch_s;
}

static void join(struct tuning *t, const struct tuner_run *run) {
    const struct work_config *c = &t->tuner.configs[run->config];
    struct active *a = &t->active[t->count++];
    *a = (struct active){.run = *run,
                         .id = t->next_id++,
                         .epoch_s = work_epoch_s(&t->work, c),
                         .set_up_s = t->config->begin_s,
                         .settles_s = NEVER};
    double wrong = t->config->noise * work_normal(&t->work, STREAM_ESTIMATE, a->id);
    struct salus_fluid_event *e = event(t, SALUS_FLUID_JOIN, a->id);
    e->group = run->group;
    e->left_ns = to_ns(left_s(a) * fmax(1 + wrong, 0.1));
    e->alpha = t->work.task.alpha;
    e->beta = t->work.task.beta;
    t->result->runs++;
}

static void begin_runs(struct tuning *t) {
    uint32_t most = t->tuner.kind->async ? t->config->concurrent : ACTIVE_MOST;
    struct tuner_run run;
    while (t->count < most && tuner_next(&t->tuner, &run))
        join(t, &run);
}

static void end_run(struct tuning *t, uint32_t index) {
    struct active a = t->active[index];
    const struct work_config *c = &t->tuner.configs[a.run.config];
    t->count--;
    memmove(&t->active[index], &t->active[index + 1], (t->count - index) * sizeof(a));
    event(t, SALUS_FLUID_END, a.id);
    tuner_told(&t->tuner, &a.run, work_accuracy(&t->work, c, a.run.to));
}

/* Collects the runs that end now, and the progress of the others. */
static void gather(struct tuning *t) {
    for (uint32_t i = 0; i < t->count;) {
        struct active *a = &t->active[i];
        if (left_s(a) <= INSTANT_S * a->epoch_s) {
            end_run(t, i);
            continue;
        }
        if (a->done >= 1 && a->rate > 0)
            event(t, SALUS_FLUID_LEFT, a->id)->left_ns = to_ns(left_s(a));
        if (a->settles_s <= t->now_s + INSTANT_S) {
            a->settles_s = NEVER;
            event(t, SALUS_FLUID_SETTLED, a->id);
        }
        i++;
    }
}

/* ---- applying Fluid's plan ------------------------------------------------------------------- */

static void obey(struct tuning *t) {
    const struct work_task *task = &t->work.task;
    for (uint32_t i = 0; i < t->count; i++) {
        struct active *a = &t->active[i];
        const struct salus_fluid_trial *p = &t->plan.trials[i];
        a->rate = 0;
        if (p->state == SALUS_FLUID_RUNNING)
            a->rate = 1 / salus_fluid_run_ns(a->epoch_s, p->part, task->alpha, task->beta);
        else if (p->state == SALUS_FLUID_RESIZING && a->settles_s == NEVER)
            a->settles_s = t->now_s + t->config->change_s;
    }
}

static int step(struct tuning *t) {
    int err =
        salus_fluid_step(t->fluid, (int64_t)(t->now_s * NS), t->events, t->event_count, &t->plan);
    t->event_count = 0;
    if (t->tuner.err) return t->tuner.err;
    if (err || t->plan.refused || t->plan.count != t->count || salus_fluid_check(t->fluid))
        return -EPROTO;
    obey(t);
    return 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* When the trial's run ends or its resize is done. */
static double next_s(const struct tuning *t, const struct active *a) {
    if (a->settles_s < NEVER) return a->settles_s;
    if (a->rate == 0) return NEVER;
    return t->now_s + a->set_up_s + (a->run.to - a->run.from - a->done) / a->rate;
}

/* When a run at its present speed first completes an epoch that reaches the target; NEVER: not
 * before `until_s`. */
static double reaches_s(const struct tuning *t, const struct active *a, double until_s) {
    const struct work_config *c = &t->tuner.configs[a->run.config];
    for (uint32_t n = (uint32_t)floor(a->done + INSTANT_S) + 1;
         a->rate > 0 && n <= a->run.to - a->run.from; n++) {
        double at_s = t->now_s + a->set_up_s + (n - a->done) / a->rate;
        if (at_s > until_s + INSTANT_S) break;
        double accuracy = work_accuracy(&t->work, c, a->run.from + n);
        t->result->best = fmax(t->result->best, accuracy);
        if (accuracy >= t->work.target) return at_s;
    }
    return NEVER;
}

static void advance(struct tuning *t, double to_s) {
    double ns = to_s - t->now_s;
    t->busy_s += ns * (t->config->gpus - t->plan.idle);
    for (uint32_t i = 0; i < t->count; i++) {
        struct active *a = &t->active[i];
        if (a->rate == 0) continue;
        double set_up = fmin(a->set_up_s, ns), epochs = (ns - set_up) * a->rate;
        a->set_up_s -= set_up;
        a->done += epochs;
        t->work_s += epochs * a->epoch_s;
    }
    t->now_s = to_s;
}

/* Advances to the next event, or to when the target is reached. Returns false if the job is
 * over. */
static bool pass(struct tuning *t) {
    double to_s = NEVER, target_s = NEVER;
    for (uint32_t i = 0; i < t->count; i++)
        to_s = fmin(to_s, next_s(t, &t->active[i]));
    if (to_s > t->config->limit_s) to_s = t->config->limit_s;
    for (uint32_t i = 0; i < t->count; i++)
        target_s = fmin(target_s, reaches_s(t, &t->active[i], to_s));
    bool first = target_s < NEVER && t->result->target_s < 0;
    if (first) t->result->target_s = target_s;
    bool over = (first && !t->flat) || to_s >= t->config->limit_s;
    advance(t, first && !t->flat ? target_s : to_s);
    return !over;
}

/* ---- the whole job --------------------------------------------------------------------------- */

static int run_job(struct tuning *t) {
    int err;
    do {
        gather(t);
        begin_runs(t);
        err = step(t);
    } while (!err && t->count && pass(t));
    t->result->end_s = t->now_s;
    t->result->busy = t->busy_s / (t->now_s * t->config->gpus);
    t->result->work = t->work_s / (t->now_s * t->config->gpus);
    t->result->resizes = t->plan.resizes;
    return err;
}

/* c by (3.1) from the times of (3.2), which an executor would measure. */
static uint32_t packed_most(const struct tuning_config *c) {
    double mean[PACKED_LOOK];
    for (uint32_t p = 1; p <= PACKED_LOOK; p++)
        mean[p - 1] = salus_fluid_run_ns(1, 1.0 / p, c->task->alpha, 1);
    uint32_t most = salus_fluid_packed_most(mean, PACKED_LOOK, c->threshold);
    return c->packed_most && c->packed_most < most ? c->packed_most : most;
}

static uint32_t spread_most(const struct tuning_config *c) {
    uint32_t most = salus_fluid_spread_by(c->task->beta);
    return c->spread_most && c->spread_most < most ? c->spread_most : most;
}

static int begin(struct tuning *t) {
    const struct tuning_config *c = t->config;
    const struct salus_fluid_config config = {.gpus = c->gpus,
                                              .trials_most = ACTIVE_MOST,
                                              .packed_most = packed_most(c),
                                              .spread_most = spread_most(c),
                                              .flags = c->flags,
                                              .change_ns = (int64_t)(c->change_s * NS)};
    t->active = calloc(ACTIVE_MOST, sizeof(*t->active));
    t->events = calloc(2 * ACTIVE_MOST, sizeof(*t->events));
    if (!t->active || !t->events) return -ENOMEM;
    int err = tuner_init(&t->tuner, c->kind, &t->work, c->trials);
    if (err) return err;
    err = salus_fluid_create(&t->fluid, &config, NULL, 0);
    return err == -EINVAL ? -EPROTO : err;
}

int tuning_run(const struct tuning_config *config, struct tuning_result *out) {
    struct tuning t = {.config = config, .result = out};
    *out = (struct tuning_result){.target_s = -1};
    work_init(&t.work, config->task, config->seed);
    t.flat = config->kind == &tuner_grid || config->kind == &tuner_random;
    int err = begin(&t);
    if (!err) err = run_job(&t);
    salus_fluid_destroy(t.fluid);
    tuner_finish(&t.tuner);
    free(t.active);
    free(t.events);
    return err;
}
