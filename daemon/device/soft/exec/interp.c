/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop that runs one warp. The running split is held in a cursor; all others wait in x->splits,
 * where the runnable ones are unique by (frame, pc). Preferred lanes run first, then the deepest
 * frame, then the lowest pc, so that lanes that went ahead wait where the others will come by. A
 * split that reaches the pc of another one joins it.
 * A quantum ends at the first backward branch (`bra` or a table) or call after INTERP_QUANTUM
 * instructions; every loop contains one of these. Then other splits are preferred and other warps
 * get their quantum, so that a lane that spins until another one acts does not starve it.
 */
#include "daemon/device/soft/exec/interp.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/exec/bar.h"
#include "daemon/device/soft/exec/call.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/exec/rendezvous.h"
#include "daemon/device/soft/launch/block_state.h"
#include "daemon/device/soft/launch/clock.h"

#define INTERP_QUANTUM 20000
/* Instructions that a backward branch is charged after an atomic or volatile access. A branch after
 * a failed wait, or after a pass that changed nothing, is charged the rest of the quantum. */
#define INTERP_SPIN_COST 500

#define likely(e) __builtin_expect(!!(e), 1)
#define unlikely(e) __builtin_expect(!!(e), 0)

/* Number of checks in a quantum whether a split only waits, and the largest frame (bytes of
 * registers) that is checked. */
#define INTERP_LOOKS 4
#define INTERP_LOOK_BYTES 8192u

/* A split's state at its latest backward branch that looked like waiting. */
struct look {
    const struct code_inst *at; /* NULL: there is none yet */
    const struct frame *frame;
    uint32_t mask, left; /* left: checks that remain in this quantum */
    /* vain: lanes that seem to wait; fewest: how many they were when others continued instead */
    uint32_t vain;
    uint32_t fewest;
    unsigned char regs[INTERP_LOOK_BYTES];
};

struct cursor {
    const struct code_inst *insts, *ip, *lim; /* lim: the nearest runnable split ahead */
    uint32_t mask, lanes;
};

/* Counts the lanes of a mask. The oldest x86-64 processors have no instruction for this, and a
 * library call is expensive. */
static inline uint32_t count_lanes(uint32_t m) {
    m -= m >> 1 & 0x55555555;
    m = (m & 0x33333333) + (m >> 2 & 0x33333333);
    return ((m + (m >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* Takes the next split into the cursor. Returns false when none is runnable. */
static bool pick_split(struct warp_ctx *x, struct cursor *c) {
    uint32_t best = 0;
    uint64_t first = 0;
    /* The loop has no branches, since no predictor would foresee them. */
    for (uint32_t k = 0; k < x->split_count; k++) {
        const struct split *o = &x->splits[k];
        const uint64_t favour = (uint64_t)((o->mask & x->boost) != 0) << 63;
        const uint64_t order = o->state == SPLIT_RUN ? o->order | favour : 0;
        best = order > first ? k : best;
        first = order > first ? order : first;
    }
    if (!first) return false;
    struct split s = x->splits[best];
    x->splits[best] = x->splits[--x->split_count];
    int32_t lim = (int32_t)s.frame->func->count + 1;
    for (uint32_t k = 0; k < x->split_count; k++) {
        const struct split *o = &x->splits[k];
        const bool same = (o->state == SPLIT_RUN) & (o->frame == s.frame);
        const bool nearer = (o->pc > s.pc) & (o->pc < lim);
        lim = (same & nearer) ? o->pc : lim;
    }
    x->frame = s.frame;
    x->w.regs = s.frame->regs;
    x->w.consts = s.frame->func->consts;
    c->insts = s.frame->func->insts;
    c->ip = c->insts + s.pc;
    c->lim = c->insts + lim;
    c->mask = s.mask;
    c->lanes = count_lanes(s.mask);
    return true;
}

/* Called at the end of a quantum. Prefers the lanes after the last preferred ones, except lanes
 * that seem to wait: another lane may have to act before they can continue. */
static void rotate_splits(struct warp_ctx *x, uint32_t vain) {
    uint32_t runnable = 0;
    for (uint32_t k = 0; k < x->split_count; k++)
        runnable += x->splits[k].state == SPLIT_RUN;
    x->boost = 0;
    if (runnable < 2) return;
    for (uint32_t step = 1; step <= WARP_LANES; step++) {
        uint32_t lane = (x->fair_lane + step) % WARP_LANES;
        for (uint32_t k = 0; k < x->split_count; k++) {
            const struct split *s = &x->splits[k];
            if (s->state != SPLIT_RUN || !((s->mask & ~vain) >> lane & 1)) continue;
            x->boost = s->mask;
            x->fair_lane = lane;
            return;
        }
    }
}

/* Ends lanes for good. */
static void exit_lanes(struct warp_ctx *x, struct frame *frame, uint32_t mask) {
    while (frame) {
        struct frame *parent = frame->parent;
        frame->live &= ~mask;
        if (!frame->live && parent) frame_free(&x->block->frames, frame);
        frame = parent;
    }
    x->live &= ~mask;
    x->block->live_threads -= (uint32_t)__builtin_popcount(mask);
    bar_lanes_gone(x->block);
    if (x->split_count) rendezvous_resolve(x, false);
}

/* Takes a branch for the `m` lanes of the cursor. Returns true if the cursor is still valid. */
static bool take_branch(struct warp_ctx *x, struct cursor *c, const struct code_inst *target,
                        uint32_t m) {
    const struct code_inst *next = c->ip + 1;
    uint32_t rest = c->mask & ~m;
    bool back = target <= c->ip;
    if (!rest && (!back || !x->boost)) {
        c->ip = target;
        return true;
    }
    if (x->boost) {
        warp_split_add(x, x->frame, (int32_t)(target - c->insts), m, SPLIT_RUN, 0);
        warp_split_add(x, x->frame, (int32_t)(next - c->insts), rest, SPLIT_RUN, 0);
        return false;
    }
    /* The lower pc continues; the other split lies ahead, nearer than the previous limit. */
    const struct code_inst *ahead = back ? next : target;
    warp_split_add(x, x->frame, (int32_t)(ahead - c->insts), back ? rest : m, SPLIT_RUN, 0);
    if (ahead < c->lim) c->lim = ahead;
    c->ip = back ? target : next;
    c->mask = back ? m : rest;
    c->lanes = count_lanes(c->mask);
    return true;
}

/* Jumps through a table. Returns true when a lane went backward. */
static bool take_jump(struct warp_ctx *x, const struct cursor *c, uint32_t m) {
    const struct code_extra *t = c->ip->extra;
    const int32_t pc = (int32_t)(c->ip - c->insts);
    uint32_t index[WARP_LANES];
    bool back = false;
    memcpy(index, SLOT(uint32_t, &x->w, c->ip->a), sizeof(index));
    for (uint32_t left = m; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (index[lane] >= t->table_count) {
            warp_fault(&x->w, c->ip, lane, ERR_ILLEGAL_INSTRUCTION, index[lane],
                       "the index is outside the table");
            return back;
        }
        back |= t->table[index[lane]] <= pc;
        warp_split_add(x, x->frame, t->table[index[lane]], 1u << lane, SPLIT_RUN, 0);
    }
    return back;
}

/* Runs every instruction that has no handler, except `bra` and `mov`, for the `m` lanes; the other
 * lanes step over it. Returns true if the cursor is still valid; sets `*back` if lanes went
 * backward. */
static bool run_control(struct warp_ctx *x, struct cursor *c, uint32_t m, bool *back) {
    const struct code_inst *i = c->ip;
    int32_t pc = (int32_t)(i - c->insts);
    uint32_t rest = c->mask & ~m;
    bool alone = !rest && !x->split_count, on = true;
    warp_split_add(x, x->frame, pc + 1, rest, SPLIT_RUN, 0);
    switch (i->op) {
    case PTX_OP_brx: *back = take_jump(x, c, m); return false;
    case PTX_OP_call: call_enter(x, i, m); return false;
    case PTX_OP_ret:
        if (x->frame->parent) {
            call_return(x, x->frame, m);
            return false;
        }
        /* fall through */
    case PTX_OP_exit: exit_lanes(x, x->frame, m); return false;
    case PTX_OP_bar:
    case PTX_OP_barrier:
        if (!rendezvous_is(i)) {
            on = bar_arrive(x, i, pc, m);
            break;
        }
        /* fall through */
    default: on = rendezvous_arrive(x, i, pc, m); break;
    }
    if (on && alone && !x->split_count && !x->stop) {
        c->ip++;
        return true;
    }
    if (on) warp_split_add(x, x->frame, pc + 1, m, SPLIT_RUN, 0);
    return false;
}

/* True if lanes come back to a branch with every register as it was the last time: they only poll
 * until another thread acts. The number of checks is small, because a loop of atomics that makes
 * progress pays for them too. */
static bool asks_again(const struct warp_ctx *x, const struct code_inst *at, uint32_t mask,
                       struct look *l) {
    const struct frame *f = x->frame;
    const uint32_t bytes = f->func->reg_bytes;
    if (!l->left || bytes > sizeof(l->regs)) return false;
    l->left--;
    const bool again = l->at == at && l->frame == f && l->mask == mask;
    if (again && !memcmp(l->regs, f->regs, bytes)) return true;
    l->at = at;
    l->frame = f;
    l->mask = mask;
    memcpy(l->regs, f->regs, bytes);
    return false;
}

/* Returns the instructions that a backward branch is charged. */
static int64_t branch_cost(struct warp_ctx *x, const struct code_inst *at, uint32_t mask,
                           struct look *l) {
    if (!x->spin && !x->waits) return 0;
    const bool vain = x->waits || asks_again(x, at, mask, l);
    x->spin = x->waits = false;
    l->vain = mask;
    return vain ? INTERP_QUANTUM : INTERP_SPIN_COST;
}

/* True if lanes of this warp that do not wait shall run on at once, because the others seem to wait
 * for them. Otherwise the owner of a lock would run last among all warps that want the lock. This
 * goes on as long as fewer lanes wait each time; if not, they wait for somebody outside the
 * warp. */
static bool go_on_instead(const struct warp_ctx *x, struct look *l) {
    const uint32_t waiting = count_lanes(l->vain);
    if (!x->boost || !waiting || waiting >= l->fewest) return false;
    l->at = NULL;
    l->left = INTERP_LOOKS;
    l->vain = 0;
    l->fewest = waiting;
    return true;
}

static enum interp_outcome outcome_at_rest(const struct warp_ctx *x) {
    return x->split_count ? INTERP_BLOCKED : INTERP_ENDED;
}

/* Runs an instruction without a handler. Returns true if the cursor is still valid; sets `*ends` if
 * the quantum may end after this instruction. */
static bool run_one(struct warp_ctx *x, struct cursor *c, uint32_t m, int64_t done, bool *ends,
                    int64_t *spent, struct look *l) {
    const struct code_inst *i = c->ip;
    bool back = false, valid;
    if (i->op == PTX_OP_mov) { /* the only moves without a handler read clocks */
        move_clock(x, i, m, (uint64_t)done);
        c->ip++;
        *ends = false;
        return true;
    }
    if (i->op == PTX_OP_bra) {
        const struct code_inst *target = c->insts + i->target;
        back = target <= i;
        valid = take_branch(x, c, target, m);
    } else {
        valid = run_control(x, c, m, &back);
    }
    if (back) *spent += branch_cost(x, i, m, l);
    *ends = back || i->op == PTX_OP_call;
    return valid;
}

/* Runs splits for INTERP_QUANTUM instructions. Counts the instructions in `*used`; `*spent` counts
 * the extra charge for branches that look like waiting. */
static enum interp_outcome run_split(struct warp_ctx *x, struct cursor c, int64_t *used,
                                     int64_t *spent) {
    int64_t done = 0;
    uint64_t lanes = 0;
    enum interp_outcome state = INTERP_FAULT;
    struct look look; /* the registers in it are not cleared */
    look.at = NULL;
    look.left = INTERP_LOOKS;
    look.vain = 0;
    look.fewest = WARP_LANES + 1;
    for (;;) {
        if (unlikely(c.ip >= c.lim)) {
            warp_split_add(x, x->frame, (int32_t)(c.ip - c.insts), c.mask, SPLIT_RUN, 0);
            pick_split(x, &c);
            continue;
        }
        const struct code_inst *i = c.ip;
        uint32_t m = c.mask;
        done++;
        if (i->pred != CODE_NO_SLOT) {
            uint32_t p = code_pred(&x->w, i->pred);
            m &= i->pred_neg ? ~p : p;
            lanes += m == c.mask ? c.lanes : count_lanes(m);
            if (!m) {
                c.ip++;
                continue;
            }
        } else {
            lanes += c.lanes;
        }
        if (likely(i->run != NULL)) {
            i->run(&x->w, i, m);
            c.ip++;
            if (likely(!x->stop)) continue;
            break;
        }
        bool ends, valid = run_one(x, &c, m, done, &ends, spent, &look);
        if (unlikely(x->stop)) break;
        if (unlikely(ends && done + *spent >= INTERP_QUANTUM)) {
            if (valid) warp_split_add(x, x->frame, (int32_t)(c.ip - c.insts), c.mask, SPLIT_RUN, 0);
            rotate_splits(x, look.vain);
            if (done < INTERP_QUANTUM && go_on_instead(x, &look)) {
                *spent = 0;
                pick_split(x, &c);
                continue;
            }
            state = *spent ? INTERP_SPINS : INTERP_MORE;
            break;
        }
        if (!valid && !pick_split(x, &c)) {
            state = outcome_at_rest(x);
            break;
        }
    }
    *used = done;
    x->thread_insts += lanes;
    return state;
}

enum interp_outcome interp_run(struct warp_ctx *x, int64_t *budget) {
    struct cursor c;
    if (!pick_split(x, &c)) return outcome_at_rest(x);
    int64_t used, spent = 0;
    enum interp_outcome state = run_split(x, c, &used, &spent);
    x->warp_insts += (uint64_t)used;
    struct clock_counts *counts = x->block->config->counts;
    if (counts) counts->insts += (uint64_t)used;
    *budget -= used;
    return state;
}
