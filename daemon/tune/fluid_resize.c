/* SPDX-License-Identifier: Apache-2.0
 *
 * DynamicFluid (Algorithm 3.2): resizes running trials when GPUs were freed and no trial waits for
 * them.
 *
 * A is here the set of all running trials, of all groups: n is the number of all GPUs, and the
 * shares of concurrent groups have to add up to it. "Update a_i with w_i resources" is read as
 * w'_i.
 *
 * The w_i of the comparison is the trial's actual share. On a shared GPU that is its part beside
 * the present sharers (strips.h), not the planned 1/c. A trial that is being resized has no such
 * width and is left alone until it has settled. Until then it still owns the GPUs that it leaves,
 * and it owns the added GPUs at once. It therefore holds the larger of the two widths.
 *
 * The printed algorithm scales down whenever that saves GPU time, w'(h' + epsilon) < w h. The trial
 * may then be the last to end, and if no other trial can use the freed GPUs, the group ends later
 * than with StaticFluid. Here a trial scales down only if it also ends no later than the group
 * would have. SALUS_FLUID_DOWN_ANY selects the printed rule.
 *
 * The printed algorithm acts only "towards the end of the TrialGroup", when no trial waits. A trial
 * that joins late then waits until another one ends, however wide that one is. With
 * SALUS_FLUID_ROOM, shares are planned for all trials, including waiting ones, and a trial that has
 * more than its share shrinks to it. The exception is a trial that would have to restart and ends
 * within epsilon.
 *
 * A trial gives up a share below one GPU at once. One whole GPU becomes a shared one without a
 * restart, because shares are weights under Salus. Every other change restarts the trial, which
 * costs epsilon.
 */
#include "daemon/tune/fluid_resize.h"

#include <math.h>

#include "daemon/tune/fluid_placement.h"

static double run_ns(const struct trial *t, double share) {
    return t->left_ns / fluid_curve_rate(&t->curve, share);
}

static void resize(struct salus_fluid *f, struct trial *t) {
    t->state = SALUS_FLUID_RESIZING;
    t->settles_ns = (double)f->now_ns + (double)f->config.change_ns;
    f->resizes++;
}

/* Gives the trial as many of the wanted GPUs as are idle, if the resize pays off. */
static void scale_up(struct salus_fluid *f, const struct shares_ask *a, double now) {
    struct strips *s = &f->strips;
    struct trial *t = &f->trials.at[a->place];
    bool alone = t->share < 1 && s->at[t->gpu].sharers == 1;
    uint32_t own = t->share >= 1 ? (uint32_t)t->share : alone;
    uint32_t more = (uint32_t)a->share - own;
    if (more > s->idle) more = s->idle;
    double to = own + more;
    if (to <= now || run_ns(t, to) + (double)f->config.change_ns >= run_ns(t, now)) return;
    if (t->share < 1) {
        /* The GPU becomes idle if the trial was alone there; strips_take takes it back below. */
        strips_part_with(s, t);
        more += own;
    }
    t->share = to;
    strips_take(s, t, a->place, more);
    resize(f, t);
}

/* Shrinks a trial from whole GPUs to fewer, or to a part of one. */
static void shrink(struct salus_fluid *f, struct trial *t, double to) {
    bool restarts = t->share > 1;
    if (restarts) strips_leave(&f->strips, t, to < 1 ? 1 : (uint32_t)to);
    if (to < 1)
        strips_share(&f->strips, t, to);
    else
        t->share = to;
    if (restarts) resize(f, t);
}

static void scale_down(struct salus_fluid *f, const struct shares_ask *a, double now,
                       double latest_ns) {
    struct trial *t = &f->trials.at[a->place];
    double change_ns = (double)f->config.change_ns, to = a->share;
    double then_ns = run_ns(t, to) + change_ns;
    if (t->share < 1 || to * then_ns >= now * run_ns(t, now)) return;
    if (!(f->config.flags & SALUS_FLUID_DOWN_ANY) && (double)f->now_ns + then_ns > latest_ns)
        return;
    shrink(f, t, to);
}

/* Collects asks for all trials that may be resized. Returns their number, the GPUs that they own or
 * that are idle, and the end of the last trial. */
static uint32_t gather(struct salus_fluid *f, uint32_t *gpus, double *latest_ns) {
    uint32_t count = 0;
    *gpus = f->strips.here;
    *latest_ns = 0;
    for (uint32_t i = 0; i < f->trials.count; i++) {
        const struct trial *t = fluid_state_trial(f, i);
        *latest_ns = fmax(*latest_ns, fluid_state_end_ns(f, t));
        if (t->state == SALUS_FLUID_RESIZING) continue;
        f->asks[count] = fluid_state_ask(f, f->trials.in_order[i]);
        f->asks[count++].turn = 0;
    }
    for (uint32_t i = 0; i < f->strips.most; i++) {
        uint32_t owner = f->strips.at[i].owner;
        *gpus -= owner != STRIPS_NONE && f->trials.at[owner].state == SALUS_FLUID_RESIZING;
    }
    return count;
}

/* Plans shares for all trials, including waiting ones, and shrinks those above their share. Returns
 * false if none shrank. */
static bool make_room(struct salus_fluid *f) {
    uint32_t gpus;
    double latest_ns;
    bool made = false;
    uint32_t count = gather(f, &gpus, &latest_ns);
    shares_sort(f->asks, f->spare, count);
    shares_plan(f->asks, count, gpus, f->config.flags);
    for (uint32_t i = 0; i < count; i++) {
        struct trial *t = &f->trials.at[f->asks[i].place];
        if (t->share < 1 || f->asks[i].share >= t->share) continue;
        if (t->share > 1 && run_ns(t, t->share) <= (double)f->config.change_ns) continue;
        shrink(f, t, f->asks[i].share);
        made = true;
    }
    return made;
}

static void share_out(struct salus_fluid *f) {
    uint32_t gpus;
    double latest_ns;
    uint32_t count = gather(f, &gpus, &latest_ns);
    shares_sort(f->asks, f->spare, count);
    shares_plan(f->asks, count, gpus, f->config.flags);
    for (uint32_t i = 0; i < count; i++) {
        const struct shares_ask *a = &f->asks[i];
        double now = strips_part(&f->strips, &f->trials.at[a->place]);
        if (a->share > now)
            scale_up(f, a, now);
        else if (a->share < now)
            scale_down(f, a, now, latest_ns);
    }
}

void fluid_resize_run(struct salus_fluid *f) {
    uint32_t flags = f->config.flags;
    if (flags & (SALUS_FLUID_STATIC | SALUS_FLUID_FIFO)) return;
    if (f->waiting) {
        if (flags & SALUS_FLUID_ROOM && make_room(f)) fluid_placement_run(f);
    } else if (f->freed) {
        share_out(f);
    }
}
