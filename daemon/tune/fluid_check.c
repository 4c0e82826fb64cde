/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the invariants of the library's state.
 */
#include <math.h>
#include <stdio.h>

#include "daemon/tune/fluid_state.h"

static const char *check_shared(const struct salus_fluid *f, const struct trial *t) {
    if (t->gpu >= f->strips.most) return "a trial with a share is on no GPU";
    const struct strip *g = &f->strips.at[t->gpu];
    if (!g->here) return "a trial is on a GPU that was removed";
    if (g->owner != STRIPS_NONE) return "a trial shares a GPU that another one has alone";
    if (g->sharers > t->packed_most) return "more trials share a GPU than one of them may";
    return NULL;
}

static const char *check_whole(const struct salus_fluid *f, const struct trial *t) {
    uint32_t count = 0;
    for (uint32_t gpu = t->gpu; gpu != STRIPS_NONE; gpu = f->strips.at[gpu].next, count++) {
        const struct strip *g = &f->strips.at[gpu];
        if (!g->here) return "a trial has a GPU that was removed";
        if (g->leaving) return "a trial has a GPU that it is to leave";
        if (&f->trials.at[g->owner] != t) return "a trial has another one's GPU";
    }
    if (count != t->share) return "a trial's share and its number of GPUs differ";
    return t->share <= t->spread_most ? NULL : "a trial is on more GPUs than it may";
}

static const char *check_trial(const struct salus_fluid *f, const struct trial *t) {
    if (!(t->left_ns > 0) || !isfinite(t->left_ns)) return "a running trial has no work left";
    if ((t->share == 0) != (t->state == SALUS_FLUID_WAITING)) return "a trial waits with a share";
    if (t->share == 0) return t->gpu == STRIPS_NONE ? NULL : "a trial waits on a GPU";
    return t->share < 1 ? check_shared(f, t) : check_whole(f, t);
}

static const char *check_counts(const struct salus_fluid *f) {
    uint32_t here = 0, idle = 0, sharers = 0, sharing = 0, waiting = 0;
    for (uint32_t i = 0; i < f->strips.most; i++) {
        const struct strip *g = &f->strips.at[i];
        here += g->here;
        idle += g->here && g->owner == STRIPS_NONE && !g->sharers;
        sharers += g->sharers;
        if (!g->here && (g->owner != STRIPS_NONE || g->sharers))
            return "a GPU that was removed is used";
        if (g->leaving && f->trials.at[g->owner].state != SALUS_FLUID_RESIZING)
            return "a GPU is marked as being left, and no trial leaves it";
    }
    for (uint32_t i = 0; i < f->trials.count; i++) {
        const struct trial *t = &f->trials.at[f->trials.in_order[i]];
        sharing += t->share > 0 && t->share < 1;
        waiting += t->state == SALUS_FLUID_WAITING;
    }
    if (here != f->strips.here || idle != f->strips.idle) return "the number of GPUs is wrong";
    if (sharers != sharing) return "the number of trials on a GPU is wrong";
    return waiting == f->waiting ? NULL : "the number of waiting trials is wrong";
}

const char *salus_fluid_check(const struct salus_fluid *f) {
    const char *broken = check_counts(f);
    for (uint32_t i = 0; !broken && i < f->trials.count; i++)
        broken = check_trial(f, &f->trials.at[f->trials.in_order[i]]);
    return broken;
}
