/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the plan for the caller and marks the trials that changed.
 */
#include "daemon/tune/fluid_answer.h"

#include <math.h>

static int64_t whole_ns(double ns) {
    return ns < 0x1p62 ? (int64_t)ns : INT64_MAX;
}

static bool differs(const struct trial *t, double part) {
    return t->moved || t->share != t->shown_share || part != t->shown_part ||
           t->state != t->shown_state;
}

static uint32_t write_gpus(const struct salus_fluid *f, const struct trial *t, uint32_t *to) {
    uint32_t count = 0;
    for (uint32_t gpu = t->gpu; gpu != STRIPS_NONE; gpu = f->strips.at[gpu].next) {
        to[count++] = gpu;
        if (t->share < 1) break;
    }
    return count;
}

static void write_trial(struct salus_fluid *f, struct trial *t, struct salus_fluid_trial *to) {
    double part = strips_part(&f->strips, t);
    *to = (struct salus_fluid_trial){.id = t->id,
                                     .group = t->group,
                                     .share = t->share,
                                     .part = part,
                                     .left_ns = whole_ns(ceil(t->left_ns)),
                                     .end_ns = whole_ns(ceil(fluid_state_end_ns(f, t))),
                                     .state = t->state,
                                     .changed = differs(t, part),
                                     .deaths = t->deaths};
    t->shown_share = t->share;
    t->shown_part = part;
    t->shown_state = t->state;
    t->moved = false;
}

void fluid_answer_write(struct salus_fluid *f, struct salus_fluid_plan *out) {
    uint32_t gpus = 0;
    *out = (struct salus_fluid_plan){.trials = f->shown,
                                     .gpus = f->shown_gpus,
                                     .refusals = f->refusals,
                                     .count = f->trials.count,
                                     .refused = f->refused,
                                     .waiting = f->waiting,
                                     .idle = f->strips.idle,
                                     .resizes = f->resizes};
    for (uint32_t i = 0; i < out->count; i++) {
        struct trial *t = fluid_state_trial(f, i);
        struct salus_fluid_trial *to = &f->shown[i];
        write_trial(f, t, to);
        to->gpu_first = gpus;
        to->gpu_count = write_gpus(f, t, f->shown_gpus + gpus);
        gpus += to->gpu_count;
        if (t->state != SALUS_FLUID_WAITING && to->end_ns > out->end_ns) out->end_ns = to->end_ns;
    }
}
