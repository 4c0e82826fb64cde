/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations by which lanes of a warp exchange values: shfl, vote, match, redux, bar.warp, elect,
 * and the operations on matrices that a warp holds together. Lanes meet by operation, qualifiers
 * and member mask, not by pc: compilers duplicate code, so that members may come from different
 * instructions and even frames. Lanes of one instruction may carry different masks and then form
 * several meetings. No meeting waits for lanes that have exited.
 */
#include "daemon/device/soft/exec/rendezvous.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/launch/block_state.h"

/* A meeting: the values that each lane brought, and the results. */
struct meeting {
    uint32_t mask; /* lanes that take part */
    uint32_t a[WARP_LANES], b[WARP_LANES], c[WARP_LANES];
    uint64_t wide[WARP_LANES]; /* operands of match */
    uint32_t pred;             /* operands of vote */
    uint32_t d[WARP_LANES], p; /* results; p also where the destination is a predicate */
};

bool rendezvous_is(const struct code_inst *i) {
    switch (i->op) {
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_elect:
    case PTX_OP_ldmatrix:
    case PTX_OP_mma:
    case PTX_OP_movmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_wgmma:
    case PTX_OP_wmma: return true;
    case PTX_OP_bar:
    case PTX_OP_barrier: return i->mods & PTX_MOD_WARP;
    default: return false;
    }
}

/* ---- the operations ----------------------------------------------------------------------------
 */

/* shfl. A source lane that does not take part (no member, exited, or elsewhere in the code) gives
 * 0. PTX leaves the value undefined; docs/adr/0009-what-ptx-leaves-open.md says why it is 0. The
 * predicate says only that the source lane is in range, whether or not it takes part. */
static void run_shfl(const struct code_inst *i, struct meeting *m) {
    m->p = 0;
    for (uint32_t left = m->mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint32_t b = m->b[lane] & 31, clamp = m->c[lane] & 31, seg = m->c[lane] >> 8 & 31;
        uint32_t low = lane & seg, high = low | (clamp & ~seg), j;
        bool ok;
        switch (i->sub) {
        case PTX_SUB_UP:
            j = lane - b;
            ok = (int32_t)j >= (int32_t)high;
            break;
        case PTX_SUB_DOWN:
            j = lane + b;
            ok = j <= high;
            break;
        case PTX_SUB_BFLY:
            j = lane ^ b;
            ok = j <= high;
            break;
        default:
            j = low | (b & ~seg);
            ok = j <= high;
            break;
        }
        if (!ok) j = lane;
        if (ok) m->p |= 1u << lane;
        m->d[lane] = m->mask >> (j & 31) & 1 ? m->a[j & 31] : 0;
    }
}

static void run_vote(const struct code_inst *i, struct meeting *m) {
    uint32_t yes = m->pred & m->mask;
    bool value = i->sub == PTX_SUB_ALL   ? yes == m->mask
                 : i->sub == PTX_SUB_ANY ? yes != 0
                                         : yes == m->mask || !yes;
    m->p = value ? m->mask : 0;
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        m->d[lane] = yes;
}

/* Returns the lanes of `among` that brought this value. */
static uint32_t lanes_with(const struct meeting *m, uint64_t value, uint32_t among) {
    uint32_t same = 0;
    for (uint32_t left = among; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        same |= (uint32_t)(m->wide[lane] == value) << lane;
    }
    return same;
}

static void run_match(const struct code_inst *i, struct meeting *m) {
    const bool all = i->sub == PTX_SUB_ALL;
    m->p = 0;
    for (uint32_t left = m->mask; left;) {
        const uint32_t same = lanes_with(m, m->wide[__builtin_ctz(left)], left);
        const uint32_t told = all && same != m->mask ? 0 : same;
        if (all) m->p |= told;
        for (uint32_t rest = same; rest; rest &= rest - 1)
            m->d[__builtin_ctz(rest)] = told;
        left &= ~same;
    }
}

/* Returns the smaller or greater of two floats. A NaN is ignored, or with .NaN it is the result.
 * Negative zero is smaller than positive zero. */
static uint32_t redux_floats(const struct code_inst *i, uint32_t x, uint32_t y) {
    const bool nan_x = (x & INT32_MAX) > 0x7f800000, nan_y = (y & INT32_MAX) > 0x7f800000;
    if (nan_x || nan_y) {
        bool none = i->mods & PTX_MOD_NAN || (nan_x && nan_y);
        return none ? 0x7fffffff : nan_x ? y : x;
    }
    const int32_t a = (int32_t)x, b = (int32_t)y; /* as integers in the order of the floats */
    const bool less = (a < 0 ? INT32_MIN - a : a) < (b < 0 ? INT32_MIN - b : b);
    const bool negative_zero = x == 0x80000000 && !y;
    return (less || negative_zero) == (i->sub == PTX_SUB_MIN) ? x : y;
}

/* Folds the value `x` of the first lane with the value `y` of each other lane. */
#define REDUX_REST(expr)                                                    \
    for (uint32_t left = m->mask & (m->mask - 1); left; left &= left - 1) { \
        const uint32_t y = m->a[__builtin_ctz(left)];                       \
        x = (expr);                                                         \
    }                                                                       \
    break

static uint32_t redux_integers(const struct code_inst *i, const struct meeting *m) {
    /* with the sign bit flipped, signed values compare as unsigned */
    const uint32_t top = i->type == PTX_S32 ? 1u << 31 : 0;
    uint32_t x = m->a[__builtin_ctz(m->mask)];
    switch (i->sub) {
    case PTX_SUB_ADD: REDUX_REST(x + y);
    case PTX_SUB_AND: REDUX_REST(x & y);
    case PTX_SUB_OR: REDUX_REST(x | y);
    case PTX_SUB_XOR: REDUX_REST(x ^ y);
    case PTX_SUB_MIN: REDUX_REST((x ^ top) < (y ^ top) ? x : y);
    default: REDUX_REST((x ^ top) > (y ^ top) ? x : y);
    }
    return x;
}

static uint32_t redux_all_floats(const struct code_inst *i, const struct meeting *m) {
    const uint32_t bits = i->mods & PTX_MOD_ABS ? INT32_MAX : UINT32_MAX;
    uint32_t left = m->mask, v = m->a[__builtin_ctz(left)] & bits;
    v = redux_floats(i, v, v);
    for (left &= left - 1; left; left &= left - 1)
        v = redux_floats(i, v, m->a[__builtin_ctz(left)] & bits);
    return v;
}

static void run_redux(const struct code_inst *i, struct meeting *m) {
    const uint32_t v = i->type == PTX_F32 ? redux_all_floats(i, m) : redux_integers(i, m);
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        m->d[lane] = v;
}

static void run_meeting(const struct code_inst *i, struct meeting *m) {
    switch (i->op) {
    case PTX_OP_shfl: run_shfl(i, m); break;
    case PTX_OP_vote: run_vote(i, m); break;
    case PTX_OP_match: run_match(i, m); break;
    case PTX_OP_redux: run_redux(i, m); break;
    case PTX_OP_elect: {
        uint32_t leader = (uint32_t)__builtin_ctz(m->mask);
        m->p = 1u << leader;
        for (uint32_t lane = 0; lane < WARP_LANES; lane++)
            m->d[lane] = leader;
        break;
    }
    default: break;
    }
}

/* ---- values in and out -------------------------------------------------------------------------
 */

static void take_operands(const struct frame *f, const struct code_inst *i, uint32_t mask,
                          struct meeting *m) {
    struct warp w = {.regs = f->regs, .consts = f->func->consts};
    if (i->op == PTX_OP_vote) {
        uint32_t p = code_pred(&w, i->a);
        m->pred = (m->pred & ~mask) | ((i->c_neg ? ~p : p) & mask);
        return;
    }
    if (i->a == CODE_NO_SLOT) return;
    if (i->op == PTX_OP_redux && mask == UINT32_MAX) {
        memcpy(m->a, SLOT(uint32_t, &w, i->a), sizeof(m->a));
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (i->a_bytes == 8)
            m->wide[lane] = SLOT(uint64_t, &w, i->a)[lane];
        else
            m->wide[lane] = m->a[lane] = SLOT(uint32_t, &w, i->a)[lane];
        if (i->b != CODE_NO_SLOT) m->b[lane] = SLOT(uint32_t, &w, i->b)[lane];
        if (i->c != CODE_NO_SLOT) m->c[lane] = SLOT(uint32_t, &w, i->c)[lane];
    }
}

static void give_results(const struct frame *f, const struct code_inst *i, uint32_t mask,
                         const struct meeting *m) {
    struct warp w = {.regs = f->regs, .consts = f->func->consts};
    bool pred = i->op == PTX_OP_vote && i->sub != PTX_SUB_BALLOT;
    int32_t slot = pred ? i->d : i->d2;
    if (slot != CODE_NO_SLOT) {
        uint32_t *p = SLOT(uint32_t, &w, slot);
        *p = (*p & ~mask) | (m->p & mask);
    }
    if (pred || i->d == CODE_NO_SLOT) return;
    uint32_t *d = SLOT(uint32_t, &w, i->d);
    if (mask == UINT32_MAX) {
        memcpy(d, m->d, sizeof(m->d));
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        d[lane] = m->d[lane];
    }
}

/* ---- lanes that hold a matrix together ---------------------------------------------------------
 */

/* Returns the handler that all lanes run together, or NULL. */
static code_handler *handler_of_all(const struct code_inst *i) {
    const struct code_extra *x = i->extra;
    return x ? x->together : NULL;
}

/* Runs an operation of the whole warp. A lane that has exited or never existed holds no part of the
 * matrix; PTX leaves that case undefined, and here it faults. */
static void run(struct warp_ctx *x, struct frame *f, const struct code_inst *i, uint32_t mask) {
    x->frame = f;
    x->w.regs = f->regs;
    x->w.consts = f->func->consts;
    if (mask == UINT32_MAX)
        handler_of_all(i)(&x->w, i, mask);
    else
        warp_fault(&x->w, i, (uint32_t)__builtin_ctz(mask), ERR_ILLEGAL_INSTRUCTION, 0,
                   "not all lanes of the warp take part in the operation");
}

static void copy_lanes(const struct frame *from, struct frame *to, const struct code_elem *e,
                       uint32_t mask) {
    if (e->slot == CODE_NO_SLOT || e->slot < 0) return; /* a sink or a constant */
    for (uint32_t left = mask; left; left &= left - 1) {
        size_t at = (size_t)e->slot + (size_t)__builtin_ctz(left) * e->bytes;
        memcpy(to->regs + at, from->regs + at, e->bytes);
    }
}

/* Copies the registers that an instruction reads (fragments, an address and a stride), or those
 * that it writes. */
static void copy_operands(const struct frame *from, struct frame *to, const struct code_inst *i,
                          uint32_t mask, bool read) {
    const struct code_extra *c = i->extra;
    const struct code_elem address = {i->a, i->a_bytes}, stride = {i->b, 4};
    const struct code_elem *elems = read ? c->uses : c->defs;
    for (uint32_t k = 0; k < (read ? c->use_count : c->def_count); k++)
        copy_lanes(from, to, &elems[k], mask);
    if (!read) return;
    copy_lanes(from, to, &address, mask);
    copy_lanes(from, to, &stride, mask);
}

/* Copies operands of waiting lanes between their frames and `own`. */
static void gather(struct warp_ctx *x, struct frame *own, const struct code_inst *i, uint32_t mask,
                   bool in) {
    for (uint32_t k = 0; k < x->split_count; k++) {
        const struct split *s = &x->splits[k];
        if (s->state != SPLIT_MEET || !(s->mask & mask)) continue;
        copy_operands(in ? s->frame : own, in ? own : s->frame, i, s->mask & mask, in);
    }
}

/* Runs an operation for lanes that entered the function separately, each with the registers of its
 * own call. A temporary frame is used: in any lane's frame the other lanes may have calls that have
 * not returned. */
static void run_apart(struct warp_ctx *x, struct frame *f, const struct code_inst *i,
                      uint32_t mask) {
    struct frame *own = frame_push(&x->block->frames, f->func, f->parent, f->call, mask);
    if (!own) {
        warp_fault(&x->w, i, (uint32_t)__builtin_ctz(mask), ERR_ILLEGAL_ADDRESS, 0,
                   "out of host memory for the registers of a warp operation");
        return;
    }
    gather(x, own, i, mask, true);
    run(x, own, i, mask);
    gather(x, own, i, mask, false);
    x->frame = f;
    x->w.regs = f->regs;
    frame_free(&x->block->frames, own);
}

/* ---- meeting -----------------------------------------------------------------------------------
 */

static const struct code_inst *inst_of(const struct split *s) {
    return &s->frame->func->insts[s->pc];
}

static bool same_inst(const struct code_inst *a, const struct code_inst *b) {
    const uint32_t ignored = PTX_MOD_ALIGNED;
    if (handler_of_all(a)) return a == b;
    bool barrier_a = a->mods & PTX_MOD_WARP, barrier_b = b->mods & PTX_MOD_WARP;
    if (barrier_a && barrier_b) return true; /* bar.warp and barrier.warp */
    return a->op == b->op && a->type == b->type && a->sub == b->sub &&
           !((a->mods ^ b->mods) & ~ignored);
}

static uint32_t wanted_members(const struct split *s, uint32_t lane) {
    const struct code_inst *i = inst_of(s);
    struct warp w = {.regs = s->frame->regs, .consts = s->frame->func->consts};
    return SLOT(uint32_t, &w, i->e)[lane] | 1u << lane;
}

/* Returns the waiting lanes that meet with `lane` of split `s`. */
static uint32_t meeting_group(const struct warp_ctx *x, const struct split *s, uint32_t lane) {
    uint32_t members = wanted_members(s, lane), group = 0;
    for (uint32_t k = 0; k < x->split_count; k++) {
        const struct split *o = &x->splits[k];
        if (o->state != SPLIT_MEET || !same_inst(inst_of(s), inst_of(o))) continue;
        for (uint32_t left = o->mask; left; left &= left - 1) {
            uint32_t other = (uint32_t)__builtin_ctz(left);
            if (wanted_members(o, other) == members) group |= 1u << other;
        }
    }
    return group;
}

static bool in_one_frame(const struct warp_ctx *x, const struct frame *f, uint32_t mask) {
    for (uint32_t k = 0; k < x->split_count; k++) {
        const struct split *s = &x->splits[k];
        if (s->state == SPLIT_MEET && (s->mask & mask) && s->frame != f) return false;
    }
    return true;
}

/* Carries out a meeting of waiting lanes; their splits become runnable after the instruction. */
static void hold_meeting(struct warp_ctx *x, struct frame *frame, const struct code_inst *i,
                         uint32_t group) {
    struct meeting m = {.mask = group};
    bool together = handler_of_all(i);
    if (together) (in_one_frame(x, frame, group) ? run : run_apart)(x, frame, i, group);
    for (uint32_t k = 0; k < x->split_count && !together; k++) {
        const struct split *s = &x->splits[k];
        if (s->state == SPLIT_MEET && (s->mask & group))
            take_operands(s->frame, inst_of(s), s->mask & group, &m);
    }
    run_meeting(i, &m);
    for (uint32_t k = 0; k < x->split_count; k++) {
        struct split s = x->splits[k];
        if (s.state != SPLIT_MEET || !(s.mask & group)) continue;
        if (!together) give_results(s.frame, inst_of(&s), s.mask & group, &m);
        x->splits[k].mask &= ~group;
        if (!x->splits[k].mask) x->splits[k--] = x->splits[--x->split_count];
        warp_split_add(x, s.frame, s.pc + 1, s.mask & group, SPLIT_RUN, 0);
    }
}

static bool resolve_one(struct warp_ctx *x, bool lenient) {
    for (uint32_t k = 0; k < x->split_count; k++) {
        struct split s = x->splits[k];
        if (s.state != SPLIT_MEET) continue;
        uint32_t seen = 0;
        for (uint32_t left = s.mask; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            if (seen >> lane & 1) continue;
            uint32_t group = meeting_group(x, &s, lane);
            uint32_t need = wanted_members(&s, lane) & x->live;
            seen |= group;
            if ((need & ~group) && !lenient) continue;
            hold_meeting(x, s.frame, inst_of(&s), group);
            return true;
        }
    }
    return false;
}

bool rendezvous_resolve(struct warp_ctx *x, bool lenient) {
    bool any = false;
    while (resolve_one(x, lenient)) {
        any = true;
        if (lenient) break; /* one meeting may be enough for the rest to continue normally */
    }
    return any;
}

/* True when all lanes of `mask` carry the same member mask and no member is missing. */
static bool all_present(const struct warp_ctx *x, const struct code_inst *i, uint32_t mask) {
    if (i->e == CODE_NO_SLOT) return true; /* the old forms take the lanes that are here */
    const uint32_t *members = SLOT(uint32_t, &x->w, i->e);
    uint32_t first = members[__builtin_ctz(mask)];
    if ((first & x->live) != mask) return false;
    if (i->e < 0) return true;
    for (uint32_t left = mask; left; left &= left - 1)
        if (members[__builtin_ctz(left)] != first) return false;
    return true;
}

/* Returns the handler for the usual case that the whole warp arrives at once, or NULL. */
static code_handler *handler_at_once(const struct code_inst *i, uint32_t mask) {
    const struct code_extra *e = i->extra;
    return e && mask == UINT32_MAX ? e->at_once : NULL;
}

bool rendezvous_arrive(struct warp_ctx *x, const struct code_inst *i, int32_t pc, uint32_t mask) {
    if (all_present(x, i, mask)) {
        code_handler *at_once = handler_at_once(i, mask);
        if (at_once) {
            at_once(&x->w, i, mask);
            return true;
        }
        if (handler_of_all(i)) {
            run(x, x->frame, i, mask);
            return true;
        }
        struct meeting m;
        m.mask = mask;
        m.pred = 0;
        take_operands(x->frame, i, mask, &m);
        run_meeting(i, &m);
        give_results(x->frame, i, mask, &m);
        return true;
    }
    warp_split_add(x, x->frame, pc, mask, SPLIT_MEET, 0);
    rendezvous_resolve(x, false);
    return false;
}

static void run_activemask(struct warp *w, const struct code_inst *i, uint32_t mask) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    for (uint32_t left = mask; left; left &= left - 1)
        d[__builtin_ctz(left)] = mask;
}

code_handler *rendezvous_select(const struct code_inst *i) {
    return i->op == PTX_OP_activemask ? run_activemask : NULL;
}
