/* SPDX-License-Identifier: Apache-2.0
 *
 * Interprets a kernel for all its threads at once. Where several paths meet, their states are
 * joined. The place earliest in the text continues first, so that a loop is repeated while its
 * exits are joined. After too many steps, the states at the heads of loops are widened too, until
 * they grow no more.
 */
#include "daemon/device/touch/touch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/device/device_recovery.h"
#include "daemon/device/touch/touch_access.h"
#include "daemon/device/touch/touch_compute.h"

#define STEPS_ROUND (1u << 20) /* instructions, and copied registers: some 20 ms */
#define STEPS_MOST (4u << 20)
#define REGS_A_STEP 4
#define INSTS_MOST (1u << 18)

struct path {
    struct touch_walk walk;
    uint32_t *pred_of, pred_count;
    uint8_t *is_target;           /* [inst_count + 1] */
    uint8_t *gathered;            /* number of times */
    struct touch_state **waiting; /* states to continue from there */
    struct touch_state **held; /* the join of all states at the head of a loop since STEPS_ROUND */
    uint64_t steps;
    uint32_t first; /* no state waits before it */
};

static void fail(struct path *p, int err) {
    if (!p->walk.err) p->walk.err = err;
}

static void spend(struct path *p, uint64_t steps) {
    p->steps += steps;
    if (p->steps <= STEPS_MOST && p->walk.next_id < UINT32_MAX - (1u << 24)) return;
    if (!p->walk.err)
        snprintf(p->walk.why, p->walk.why_bytes, "the kernel takes too long to analyze");
    fail(p, -ENOTSUP);
}

static void spend_state(struct path *p) {
    spend(p, 1 + p->walk.func->reg_count / REGS_A_STEP);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Adds the state, which the path owns from now on. */
static void wait_at(struct path *p, struct touch_state *s, uint32_t at) {
    struct touch_state **place = &p->waiting[at];
    if (at < p->first) p->first = at;
    if (!*place) {
        *place = s;
        return;
    }
    spend_state(p);
    touch_state_join(*place, s, &p->walk.next_id);
    free(s);
}

/* Widens the state at the head of a loop, which continues once more if it grew. */
static void gather(struct path *p, struct touch_state *s, uint32_t at) {
    struct touch_state **held = &p->held[at];
    bool first = !*held;
    spend_state(p);
    if (first) *held = s; /* equalities of its registers may not hold in later states */
    bool grew = touch_state_widen(*held, s, p->gathered[at], &p->walk.next_id) || first;
    if (!first) free(s);
    p->gathered[at] += p->gathered[at] < UINT8_MAX;
    struct touch_state *copy = grew ? touch_state_copy(*held) : NULL;
    if (copy)
        wait_at(p, copy, at);
    else if (grew)
        fail(p, -ENOMEM);
}

static void go_to(struct path *p, struct touch_state *s, uint32_t from, int32_t to) {
    if (to < 0 || (uint32_t)to > p->walk.func->inst_count) {
        free(s);
        fail(p, -EINVAL);
    } else if ((uint32_t)to <= from && p->steps > STEPS_ROUND) {
        gather(p, s, (uint32_t)to);
    } else {
        wait_at(p, s, (uint32_t)to);
    }
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Returns the state of threads whose guard holds, which branch; `*s` becomes the state of the
 * others. NULL: there are none. */
static struct touch_state *part(struct path *p, struct touch_state **s, const struct ptx_inst *i) {
    struct touch_state *there = *s;
    if (i->pred < 0) {
        *s = NULL;
        return there;
    }
    if (touch_guard_tainted(*s, i))
        touch_refuse(&p->walk, i, "may branch differently when the kernel is repeated");
    spend_state(p);
    there = touch_state_copy(*s);
    if (!there) {
        fail(p, -ENOMEM);
        return NULL;
    }
    if (!touch_state_assume(there, i->pred, !i->pred_neg)) {
        free(there);
        there = NULL;
    }
    if (!touch_state_assume(*s, i->pred, i->pred_neg)) {
        free(*s);
        *s = NULL;
    }
    return there;
}

static void branch_by_table(struct path *p, struct touch_state *s, const struct ptx_inst *i) {
    uint32_t at = (uint32_t)(i - p->walk.func->insts);
    if (touch_operand_tainted(s, ptx_operand_at(i, 0)))
        touch_refuse(&p->walk, i, "may branch differently when the kernel is repeated");
    for (uint32_t k = 0; k < i->table_count && !p->walk.err; k++) {
        spend_state(p);
        struct touch_state *copy = touch_state_copy(s);
        if (copy)
            go_to(p, copy, at, i->table[k]);
        else
            fail(p, -ENOMEM);
    }
    free(s);
}

/* Returns true for a branch. `*s` becomes the state behind it. */
static bool branch(struct path *p, struct touch_state **s, const struct ptx_inst *i) {
    bool leaves = i->op == PTX_OP_exit || i->op == PTX_OP_ret || i->op == PTX_OP_trap;
    if (!leaves && i->op != PTX_OP_bra && i->op != PTX_OP_brx) return false;
    struct touch_state *there = part(p, s, i);
    if (!there) return true;
    if (leaves)
        free(there);
    else if (i->op == PTX_OP_brx)
        branch_by_table(p, there, i);
    else
        go_to(p, there, (uint32_t)(i - p->walk.func->insts), ptx_operand_at(i, 0)->target);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* True when the guard is false in all threads. */
static bool is_skipped(const struct touch_state *s, const struct ptx_inst *i) {
    return i->pred >= 0 &&
           s->preds[s->pred_of[i->pred]].truth == (i->pred_neg ? TOUCH_TRUE : TOUCH_FALSE);
}

/* Continues from there to the next place where paths meet. */
static void go_on(struct path *p, struct touch_state *s, uint32_t at) {
    const struct ptx_func *f = p->walk.func;
    for (uint32_t begin = at; s && !p->walk.err && at < f->inst_count; at++) {
        const struct ptx_inst *i = &f->insts[at];
        if (at != begin && p->is_target[at]) {
            wait_at(p, s, at);
            return;
        }
        spend(p, 1);
        if (is_skipped(s, i) && !touch_guard_tainted(s, i)) continue;
        if (i->op == PTX_OP_call)
            touch_refuse(&p->walk, i, "calls a function");
        else if (!branch(p, &s, i) && !touch_compute(&p->walk, s, i) &&
                 !touch_access(&p->walk, s, i))
            touch_refuse(&p->walk, i, NULL);
    }
    free(s);
}

static void go(struct path *p) {
    struct touch_state *s = touch_state_make(p->walk.func, p->pred_of, p->pred_count);
    if (!s) return fail(p, -ENOMEM);
    wait_at(p, s, 0);
    for (p->first = 0; p->first <= p->walk.func->inst_count && !p->walk.err;) {
        uint32_t at = p->first++;
        s = p->waiting[at];
        p->waiting[at] = NULL;
        if (s) go_on(p, s, at);
    }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void find_targets(struct path *p) {
    const struct ptx_func *f = p->walk.func;
    for (uint32_t k = 0; k < f->inst_count; k++) {
        const struct ptx_inst *i = &f->insts[k];
        const struct ptx_operand *o = ptx_operand_at(i, 0);
        if (i->op == PTX_OP_bra && o->target >= 0 && (uint32_t)o->target <= f->inst_count)
            p->is_target[o->target] = 1;
        for (uint32_t t = 0; i->op == PTX_OP_brx && t < i->table_count; t++)
            if (i->table[t] >= 0 && (uint32_t)i->table[t] <= f->inst_count)
                p->is_target[i->table[t]] = 1;
    }
}

static void number_preds(struct path *p) {
    const struct ptx_func *f = p->walk.func;
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (f->regs[r].type == PTX_PRED) p->pred_of[r] = p->pred_count++;
}

static int path_init(struct path *p) {
    const struct ptx_func *f = p->walk.func;
    size_t places = (size_t)f->inst_count + 1;
    p->pred_of = calloc(f->reg_count + 1, sizeof(*p->pred_of));
    p->is_target = calloc(places, 1);
    p->gathered = calloc(places, 1);
    p->waiting = calloc(places, sizeof(struct touch_state *));
    p->held = calloc(places, sizeof(struct touch_state *));
    p->walk.reads = malloc(places * sizeof(struct touch_span));
    p->walk.writes = malloc(places * sizeof(struct touch_span));
    if (!p->pred_of || !p->is_target || !p->gathered || !p->waiting || !p->held || !p->walk.reads ||
        !p->walk.writes)
        return -ENOMEM;
    for (size_t k = 0; k < places; k++)
        p->walk.reads[k] = p->walk.writes[k] = (struct touch_span){1, 0};
    find_targets(p);
    number_preds(p);
    return 0;
}

static void path_finish(struct path *p) {
    for (size_t k = 0; k <= p->walk.func->inst_count; k++) {
        if (p->waiting) free(p->waiting[k]);
        if (p->held) free(p->held[k]);
    }
    free(p->pred_of);
    free(p->is_target);
    free(p->gathered);
    free(p->waiting);
    free(p->held);
    free(p->walk.reads);
    free(p->walk.writes);
}

static int tell(const struct touch_walk *w, int (*see)(void *, const struct dev_touched *),
                void *arg) {
    int err = 0;
    if (w->reads_all) err = see(arg, &(struct dev_touched){.kind = DEV_READS_ALL});
    if (!err && w->reads_variables)
        err = see(arg, &(struct dev_touched){.kind = DEV_READS_VARIABLES});
    for (uint32_t k = 0; k < w->func->inst_count && !err; k++) {
        const struct touch_span *r = &w->reads[k], *x = &w->writes[k];
        if (r->lo <= r->hi)
            err = see(arg, &(struct dev_touched){DEV_READS, r->lo, r->hi - r->lo + 1});
        if (x->lo <= x->hi && !err)
            err = see(arg, &(struct dev_touched){DEV_WRITES, x->lo, x->hi - x->lo + 1});
    }
    return err;
}

int touch_kernel(const struct ptx_func *kernel, const struct dev_launch *launch,
                 int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                 size_t why_bytes) {
    if (kernel->unsupported || kernel->inst_count > INSTS_MOST) {
        snprintf(why, why_bytes, "the effect of %.60s is unknown",
                 kernel->unsupported ? kernel->unsupported : "a kernel of this length");
        return -ENOTSUP;
    }
    bool tainted = false, again;
    int err;
    do { /* repeats if memory stored late may have been loaded early */
        struct path p = {.walk = {.func = kernel,
                                  .launch = launch,
                                  .inner_was = tainted,
                                  .inner_tainted = tainted,
                                  .why = why,
                                  .why_bytes = why_bytes}};
        err = path_init(&p);
        if (!err) go(&p);
        if (!err) err = p.walk.err;
        again = !err && p.walk.inner_tainted && !tainted;
        tainted |= p.walk.inner_tainted;
        if (!err && !again) err = tell(&p.walk, see, arg);
        path_finish(&p);
    } while (again);
    return err;
}
