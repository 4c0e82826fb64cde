/* SPDX-License-Identifier: Apache-2.0
 *
 * StaticFluid (Algorithm 3.1): places the trials of a group on idle GPUs, the largest shares first.
 *
 * M' of the algorithm, "idle resources", are the GPUs without a trial. A trial that does not fit
 * waits, and is planned again whenever a GPU is idle ("small trials may be scheduled when any
 * resource becomes idle", lemma 1). A waiting trial's share may therefore change. This differs from
 * the printed algorithm, which fixes w_i at the beginning: late trials get whole GPUs when many are
 * idle. Groups are placed one after the other; a later group gets the GPUs that an earlier one
 * leaves.
 */
#include "daemon/tune/fluid_placement.h"

/* Places one trial. Returns false if it does not fit. */
static bool put(struct salus_fluid *f, const struct shares_ask *a) {
    struct strips *s = &f->strips;
    struct trial *t = &f->trials.at[a->place];
    if (a->share < 1) {
        bool full = f->config.flags & SALUS_FLUID_FRACTIONS;
        uint32_t gpu = strips_open(s, t, a->share, full);
        if (gpu == STRIPS_NONE) return false;
        strips_join(s, t, gpu, a->share);
    } else {
        if (a->share > s->idle) return false;
        t->share = a->share;
        strips_take(s, t, a->place, (uint32_t)a->share);
    }
    t->state = SALUS_FLUID_RUNNING;
    f->waiting--;
    return true;
}

/* Places the trials of one group. After a failure, trials that need at least as much are
 * skipped. */
static void run_group(struct salus_fluid *f, struct shares_ask *asks, uint32_t count) {
    const struct shares_ask *failed = NULL;
    shares_plan(asks, count, f->strips.idle, f->config.flags);
    for (uint32_t i = 0; i < count; i++) {
        const struct shares_ask *a = &asks[i];
        bool alike = failed && a->packed_most <= failed->packed_most && a->share >= failed->share;
        if (!alike && !put(f, a)) failed = a;
    }
}

void fluid_placement_run(struct salus_fluid *f) {
    uint32_t count = 0, end;
    for (uint32_t i = 0; f->waiting && i < f->trials.count; i++)
        if (fluid_state_trial(f, i)->state == SALUS_FLUID_WAITING)
            f->asks[count++] = fluid_state_ask(f, f->trials.in_order[i]);
    shares_sort(f->asks, f->spare, count);
    for (uint32_t at = 0; at < count; at = end) {
        for (end = at + 1; end < count && f->asks[end].turn == f->asks[at].turn;)
            end++;
        run_group(f, &f->asks[at], end - at);
    }
}
