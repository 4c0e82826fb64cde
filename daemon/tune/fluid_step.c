/* SPDX-License-Identifier: Apache-2.0
 *
 * The step: advances the trials, applies the events, places waiting trials, and resizes running
 * ones. Allocates nothing.
 */
#include <errno.h>
#include <math.h>

#include "daemon/tune/fluid_answer.h"
#include "daemon/tune/fluid_placement.h"
#include "daemon/tune/fluid_resize.h"
#include "daemon/tune/fluid_state.h"

#define BUDGET_MOST_NS (100 * 365 * INT64_C(86400000000000))
#define LEFT_LEAST_NS 1.0 /* a trial without an END event always has some work left */

/* Advances all trials at the speed of (3.2). LEFT events correct the estimate. */
static void advance(struct salus_fluid *f, int64_t now_ns) {
    if (now_ns <= f->now_ns) return;
    double ns = (double)(now_ns - f->now_ns);
    for (uint32_t i = 0; i < f->trials.count; i++) {
        struct trial *t = fluid_state_trial(f, i);
        t->left_ns = fmax(t->left_ns - ns * fluid_state_rate(f, t), LEFT_LEAST_NS);
    }
    f->now_ns = now_ns;
}

/* ---- trials ---------------------------------------------------------------------------------- */

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static void set_limits(struct salus_fluid *f, struct trial *t, const struct salus_fluid_event *e) {
    const struct salus_fluid_config *c = &f->config;
    bool fifo = c->flags & SALUS_FLUID_FIFO;
    t->curve = (struct curve){e->alpha, e->beta};
    t->packed_most = least(e->packed_most ? e->packed_most : c->packed_most,
                           fifo ? 1 : fluid_curve_packed_most(e->alpha));
    t->spread_most = least(e->spread_most ? e->spread_most : c->spread_most,
                           fifo ? 1 : fluid_curve_spread_most(e->beta));
    t->packed_said = t->packed_most;
    t->spread_said = t->spread_most;
}

static void fill_in(struct salus_fluid *f, struct trial *t, const struct salus_fluid_event *e) {
    t->group = e->group;
    t->left_ns = (double)e->left_ns;
    set_limits(f, t, e);
}

static enum salus_fluid_fault take_join(struct salus_fluid *f, const struct salus_fluid_event *e) {
    struct curve curve = {e->alpha, e->beta};
    if (trials_find(&f->trials, e->id) != TRIALS_NONE) return SALUS_FLUID_FAULT_TWICE;
    if (e->left_ns <= 0 || e->left_ns > BUDGET_MOST_NS) return SALUS_FLUID_FAULT_BUDGET;
    if (!fluid_curve_can_be(&curve)) return SALUS_FLUID_FAULT_OVERHEAD;
    if (f->trials.count == f->trials.capacity) return SALUS_FLUID_FAULT_FULL;
    bool fifo = f->config.flags & SALUS_FLUID_FIFO;
    uint64_t turn = fifo ? f->trials.turns++ : trials_turn(&f->trials, e->group);
    struct trial *t = &f->trials.at[trials_add(&f->trials, e->id)];
    fill_in(f, t, e);
    t->turn = turn;
    f->waiting++;
    return SALUS_FLUID_FAULT_NONE;
}

static enum salus_fluid_fault take_left(struct trial *t, const struct salus_fluid_event *e) {
    if (e->left_ns < 0 || e->left_ns > BUDGET_MOST_NS) return SALUS_FLUID_FAULT_BUDGET;
    t->left_ns = fmax((double)e->left_ns, LEFT_LEAST_NS);
    return SALUS_FLUID_FAULT_NONE;
}

/* Applies a KNOWN event. A running trial keeps its share: its c (on a shared GPU) or d (on several
 * GPUs) does not drop below the present value until the trial waits (fluid_state_wait). A share of
 * exactly 1/c follows c. */
static enum salus_fluid_fault take_known(struct salus_fluid *f, struct trial *t,
                                         const struct salus_fluid_event *e) {
    struct curve curve = {e->alpha, e->beta};
    if (!fluid_curve_can_be(&curve)) return SALUS_FLUID_FAULT_OVERHEAD;
    uint32_t before = t->packed_most;
    set_limits(f, t, e);
    if (t->share > t->spread_most) t->spread_most = (uint32_t)t->share;
    if (t->share > 0 && t->share < 1) {
        if (t->packed_most < before) t->packed_most = before;
        if (t->share == 1.0 / before) t->share = 1.0 / t->packed_most;
    }
    f->freed = true;
    return SALUS_FLUID_FAULT_NONE;
}

static enum salus_fluid_fault take_end(struct salus_fluid *f, uint32_t place) {
    fluid_state_wait(f, place);
    f->waiting--;
    f->freed = true;
    trials_remove(&f->trials, place);
    return SALUS_FLUID_FAULT_NONE;
}

static enum salus_fluid_fault take_died(struct salus_fluid *f, uint32_t place) {
    struct trial *t = &f->trials.at[place];
    if (t->state == SALUS_FLUID_WAITING) return SALUS_FLUID_FAULT_WAITS;
    t->deaths++;
    fluid_state_wait(f, place);
    return SALUS_FLUID_FAULT_NONE;
}

static enum salus_fluid_fault take_settled(struct salus_fluid *f, uint32_t place) {
    struct trial *t = &f->trials.at[place];
    if (t->state != SALUS_FLUID_RESIZING) return SALUS_FLUID_FAULT_SETTLED;
    t->state = SALUS_FLUID_RUNNING;
    strips_settle(&f->strips, place);
    f->freed = true;
    return SALUS_FLUID_FAULT_NONE;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static enum salus_fluid_fault take_gpu_came(struct salus_fluid *f, uint32_t gpu) {
    if (gpu >= f->strips.most) return SALUS_FLUID_FAULT_GPU;
    if (f->strips.at[gpu].here) return SALUS_FLUID_FAULT_GPU_TWICE;
    strips_come(&f->strips, gpu);
    f->freed = true;
    return SALUS_FLUID_FAULT_NONE;
}

/* Takes a lost GPU from a trial. A trial with other GPUs gets one GPU less and restarts. If the
 * trial was leaving this GPU anyway, it has left it. */
static void lose(struct salus_fluid *f, uint32_t place, uint32_t gpu) {
    struct trial *t = &f->trials.at[place];
    if (f->strips.at[gpu].leaving) return;
    strips_drop(&f->strips, t, gpu);
    if (t->share <= 1) {
        fluid_state_wait(f, place);
        return;
    }
    t->share--;
    t->state = SALUS_FLUID_RESIZING;
    t->settles_ns = (double)f->now_ns + (double)f->config.change_ns;
    f->resizes++;
}

static enum salus_fluid_fault take_gpu_gone(struct salus_fluid *f, uint32_t gpu) {
    struct strips *s = &f->strips;
    if (gpu >= s->most) return SALUS_FLUID_FAULT_GPU;
    if (!s->at[gpu].here) return SALUS_FLUID_FAULT_NO_GPU;
    if (s->at[gpu].owner != STRIPS_NONE) lose(f, s->at[gpu].owner, gpu);
    for (uint32_t i = 0; i < f->trials.count; i++) {
        const struct trial *t = fluid_state_trial(f, i);
        if (t->share > 0 && t->share < 1 && t->gpu == gpu)
            fluid_state_wait(f, f->trials.in_order[i]);
    }
    strips_go(s, gpu);
    f->freed = true;
    return SALUS_FLUID_FAULT_NONE;
}

/* ---- the step -------------------------------------------------------------------------------- */

static enum salus_fluid_fault take_of_trial(struct salus_fluid *f,
                                            const struct salus_fluid_event *e) {
    uint32_t place = trials_find(&f->trials, e->id);
    if (place == TRIALS_NONE) return SALUS_FLUID_FAULT_NO_TRIAL;
    switch (e->kind) {
    case SALUS_FLUID_LEFT: return take_left(&f->trials.at[place], e);
    case SALUS_FLUID_END: return take_end(f, place);
    case SALUS_FLUID_DIED: return take_died(f, place);
    case SALUS_FLUID_KNOWN: return take_known(f, &f->trials.at[place], e);
    default: return take_settled(f, place);
    }
}

static enum salus_fluid_fault take(struct salus_fluid *f, const struct salus_fluid_event *e) {
    switch (e->kind) {
    case SALUS_FLUID_JOIN: return take_join(f, e);
    case SALUS_FLUID_LEFT:
    case SALUS_FLUID_END:
    case SALUS_FLUID_DIED:
    case SALUS_FLUID_KNOWN:
    case SALUS_FLUID_SETTLED: return take_of_trial(f, e);
    case SALUS_FLUID_GPU_CAME: return take_gpu_came(f, e->gpu);
    case SALUS_FLUID_GPU_GONE: return take_gpu_gone(f, e->gpu);
    case SALUS_FLUID_TIME: return SALUS_FLUID_FAULT_NONE;
    default: return SALUS_FLUID_FAULT_KIND;
    }
}

int32_t salus_fluid_step(struct salus_fluid *f, int64_t now_ns,
                         const struct salus_fluid_event *events, uint32_t count,
                         struct salus_fluid_plan *out) {
    if (count > 2 * f->config.trials_most) return -E2BIG;
    advance(f, now_ns);
    f->freed = false;
    f->refused = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum salus_fluid_fault fault = take(f, &events[i]);
        if (fault) f->refusals[f->refused++] = (struct salus_fluid_refusal){i, fault};
    }
    strips_recount(&f->strips, &f->trials);
    fluid_placement_run(f);
    fluid_resize_run(f);
    strips_recount(&f->strips, &f->trials);
    fluid_answer_write(f, out);
    return 0;
}
