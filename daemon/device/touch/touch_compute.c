/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on the possible values of registers. Results are computed for the integer operations
 * that kernels use for addresses and conditions; other results may be any number.
 */
#include "daemon/device/touch/touch_compute.h"
#include "daemon/device/soft/instructions/ptx_tables.h"

#include <string.h>

static enum ptx_type type_of(const struct ptx_inst *i, uint32_t k) {
    return k < i->type_count ? (enum ptx_type)i->types[k] : PTX_NONE;
}

static bool is_integer(enum ptx_type t) {
    char class = ptx_type_class(t);
    return t != PTX_NONE && (class == 'u' || class == 's' || class == 'b') &&
           ptx_type_bytes(t) <= 8;
}

static bool is_signed(enum ptx_type t) {
    return ptx_type_class(t) == 's';
}

static uint32_t bits_of(enum ptx_type t) {
    return 8 * ptx_type_bytes(t);
}

/* ---- any result ------------------------------------------------------------------------------ */

static bool reads_tainted(const struct touch_state *s, const struct ptx_inst *i) {
    for (uint32_t k = 1; k < i->operand_count; k++)
        if (touch_operand_tainted(s, &i->operands[k])) return true;
    return false;
}

static void give_any(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                     bool tainted) {
    touch_store_any(w, s, i, ptx_operand_at(i, 0), tainted || reads_tainted(s, i));
}

/* The carry flag is no operand, so its taint is tracked apart. */
static void give_carried(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    bool takes = i->op == PTX_OP_addc || i->op == PTX_OP_subc || i->op == PTX_OP_madc;
    bool tainted = reads_tainted(s, i) || (takes && w->carry_tainted);
    if (i->mods & PTX_MOD_CC) w->carry_tainted |= tainted || touch_guard_tainted(s, i);
    give_any(w, s, i, tainted);
}

/* ---- integers -------------------------------------------------------------------------------- */

static struct touch_value source(struct touch_walk *w, const struct touch_state *s,
                                 const struct ptx_inst *i, uint32_t k, uint32_t bits) {
    return touch_operand(w, s, ptx_operand_at(i, k), bits);
}

static struct touch_value product(struct touch_walk *w, const struct touch_state *s,
                                  const struct ptx_inst *i, enum ptx_type t) {
    uint32_t bits = bits_of(t);
    struct touch_value a = source(w, s, i, 1, bits), b = source(w, s, i, 2, bits);
    if (i->mods & PTX_MOD_WIDE) return touch_mul_wide(&a, &b, bits, is_signed(t));
    if (i->mods & PTX_MOD_HI) return touch_mul_high(&a, &b, bits, is_signed(t));
    return touch_mul(&a, &b, bits);
}

static struct touch_value product_and(struct touch_walk *w, const struct touch_state *s,
                                      const struct ptx_inst *i, enum ptx_type t) {
    uint32_t bits = i->mods & PTX_MOD_WIDE ? 2 * bits_of(t) : bits_of(t);
    struct touch_value p = product(w, s, i, t), c = source(w, s, i, 3, bits);
    return touch_add(&p, &c, bits);
}

static struct touch_value opposite(const struct touch_value *a, uint32_t bits, uint64_t of) {
    struct touch_value from = touch_number(of, bits);
    return touch_sub(&from, a, bits);
}

static struct touch_value absolute(const struct touch_value *a, uint32_t bits) {
    struct touch_value minus = opposite(a, bits, 0);
    return touch_max(a, &minus, bits, true);
}

static struct touch_value field(struct touch_walk *w, const struct touch_state *s,
                                const struct ptx_inst *i, uint32_t bits) {
    struct touch_value a = source(w, s, i, 1, bits), at = source(w, s, i, 2, 32),
                       len = source(w, s, i, 3, 32);
    struct touch_value r = touch_any(bits);
    r.tainted = a.tainted || at.tainted || len.tainted;
    if (!touch_is_number(&at) || !touch_is_number(&len) || at.lo + len.lo > bits) return r;
    struct touch_value mask = touch_number(touch_mask((uint32_t)len.lo), bits);
    if (!len.lo) mask = touch_number(0, bits);
    r = touch_shr(&a, &at, bits, false);
    return touch_and(&r, &mask, bits);
}

/* True when the result is known; then `out` has it. */
static bool integer(struct touch_walk *w, const struct touch_state *s, const struct ptx_inst *i,
                    enum ptx_type t, struct touch_value *out) {
    uint32_t bits = bits_of(t);
    bool sign = is_signed(t);
    struct touch_value a = source(w, s, i, 1, bits), b = source(w, s, i, 2, bits);
    struct touch_value by = source(w, s, i, 2, 32);
    switch (i->op) {
    case PTX_OP_add: *out = touch_add(&a, &b, bits); return true;
    case PTX_OP_sub: *out = touch_sub(&a, &b, bits); return true;
    case PTX_OP_mul: *out = product(w, s, i, t); return true;
    case PTX_OP_mad: *out = product_and(w, s, i, t); return true;
    case PTX_OP_neg: *out = opposite(&a, bits, 0); return true;
    case PTX_OP_not: *out = opposite(&a, bits, UINT64_MAX); return true;
    case PTX_OP_abs: *out = absolute(&a, bits); return true;
    case PTX_OP_shl: *out = touch_shl(&a, &by, bits); return true;
    case PTX_OP_shr: *out = touch_shr(&a, &by, bits, sign); return true;
    case PTX_OP_and: *out = touch_and(&a, &b, bits); return true;
    case PTX_OP_or: *out = touch_or(&a, &b, bits); return true;
    case PTX_OP_xor: *out = touch_xor(&a, &b, bits); return true;
    case PTX_OP_min: *out = touch_min(&a, &b, bits, sign); return true;
    case PTX_OP_max: *out = touch_max(&a, &b, bits, sign); return true;
    case PTX_OP_div: *out = touch_div(&a, &b, bits, sign); return true;
    case PTX_OP_rem: *out = touch_rem(&a, &b, bits, sign); return true;
    case PTX_OP_bfe: *out = field(w, s, i, bits); return !sign;
    default: return false;
    }
}

static bool is_plain(const struct ptx_inst *i) {
    return !(i->mods & (PTX_MOD_SAT | PTX_MOD_CC | PTX_MOD_RELU)) && i->type_count == 1 &&
           is_integer(type_of(i, 0));
}

static void compute(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    struct touch_value v;
    if (!is_plain(i) || !integer(w, s, i, type_of(i, 0), &v)) return give_any(w, s, i, false);
    v.id = 0;
    touch_store(w, s, i, ptx_operand_at(i, 0), v);
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Handles {low, high} = a 64-bit value, and the reverse. */
static bool move_halves(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    const struct ptx_operand *d = ptx_operand_at(i, 0), *a = ptx_operand_at(i, 1);
    struct touch_value by = touch_number(32, 32), low, high;
    if (type_of(i, 0) != PTX_B64) return false;
    if (d->kind == PTX_OPND_VEC && d->elem_count == 2 && a->kind == PTX_OPND_REG) {
        struct touch_value v = touch_operand(w, s, a, 64);
        high = touch_shr(&v, &by, 64, false);
        low = touch_low(&v, 32);
        high = touch_low(&high, 32);
        touch_store(w, s, i, &d->elems[0], low);
        touch_store(w, s, i, &d->elems[1], high);
        return true;
    }
    if (a->kind != PTX_OPND_VEC || a->elem_count != 2 || d->kind != PTX_OPND_REG) return false;
    low = touch_operand(w, s, &a->elems[0], 32);
    high = touch_operand(w, s, &a->elems[1], 32);
    low = touch_extend(&low, 32, 64, false);
    high = touch_extend(&high, 32, 64, false);
    high = touch_shl(&high, &by, 64);
    low = touch_add(&low, &high, 64);
    touch_store(w, s, i, d, low);
    return true;
}

static void move(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    const struct ptx_operand *d = ptx_operand_at(i, 0), *a = ptx_operand_at(i, 1);
    enum ptx_type t = type_of(i, 0);
    if (move_halves(w, s, i)) return;
    if (d->kind != PTX_OPND_REG || a->kind == PTX_OPND_VEC || t == PTX_PRED ||
        ptx_type_bytes(t) > 8)
        return give_any(w, s, i, false);
    struct touch_value v = touch_operand(w, s, a, bits_of(t));
    touch_store(w, s, i, d, v);
}

/* Converts one integer type to another. */
static void convert(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    enum ptx_type to = type_of(i, 0), from = type_of(i, 1);
    const struct ptx_operand *d = ptx_operand_at(i, 0);
    if (i->type_count != 2 || !is_integer(to) || !is_integer(from) || i->mods & PTX_MOD_SAT ||
        d->kind != PTX_OPND_REG)
        return give_any(w, s, i, false);
    uint32_t have = touch_reg_bits(s->func, d->reg), bits = bits_of(to);
    struct touch_value v = touch_operand(w, s, ptx_operand_at(i, 1), bits_of(from));
    if (bits_of(from) != bits || have != bits) {
        v = touch_extend(&v, bits_of(from), bits, is_signed(from));
        v = touch_extend(&v, bits, have, is_signed(to));
    }
    touch_store(w, s, i, d, v);
}

/* Variables that stand for addresses outside global memory. */
static const struct ptx_var shared_memory = {.space = PTX_SHARED, .name = "shared memory"};
static const struct ptx_var constant_memory = {.space = PTX_CONST, .name = "constants"};

static void convert_address(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    uint32_t bits = bits_of(type_of(i, 0));
    struct touch_value v = touch_operand(w, s, ptx_operand_at(i, 1), bits);
    bool to = i->mods & PTX_MOD_TO;
    if (bits != 64) return give_any(w, s, i, false);
    if (to && !v.var && i->space != PTX_GLOBAL) return give_any(w, s, i, false);
    if (!to && !v.var && i->space != PTX_GLOBAL) {
        v.var = i->space == PTX_CONST ? &constant_memory : &shared_memory;
        v.id = 0;
    }
    v.generic = v.var && (!to || i->space == PTX_GLOBAL);
    touch_store(w, s, i, ptx_operand_at(i, 0), v);
}

static struct touch_pred pred_source(const struct touch_state *s, const struct ptx_operand *o) {
    struct touch_pred p = {0};
    if (o->kind == PTX_OPND_REG && s->func->regs[o->reg].type == PTX_PRED)
        p = s->preds[s->pred_of[o->reg]];
    else if (o->kind == PTX_OPND_IMM)
        p.truth = o->imm ? TOUCH_TRUE : TOUCH_FALSE;
    return o->negated ? touch_pred_not(&p) : p;
}

static void choose(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    const struct ptx_operand *c = ptx_operand_at(i, 3);
    enum ptx_type t = type_of(i, 0);
    if (!is_integer(t) || c->kind != PTX_OPND_REG) return give_any(w, s, i, false);
    struct touch_value a = source(w, s, i, 1, bits_of(t)), b = source(w, s, i, 2, bits_of(t));
    struct touch_pred p = pred_source(s, c);
    struct touch_value v = p.truth == TOUCH_TRUE    ? a
                           : p.truth == TOUCH_FALSE ? b
                                                    : touch_either(&a, &b, bits_of(t));
    v.tainted |= p.tainted;
    touch_store(w, s, i, ptx_operand_at(i, 0), v);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

struct sides {
    __int128 alo, ahi, blo, bhi;
    __int128 least, most; /* limits of the type */
    uint32_t bits, aid, bid;
};

static void add_bound(struct touch_pred *p, bool truth, uint32_t id, uint32_t bits, __int128 lo,
                      __int128 hi) {
    struct touch_value v = touch_range(lo, hi, bits);
    struct touch_atom atom = {.lo = v.lo, .len = v.len, .id = id, .bits = bits};
    if (lo <= hi) touch_pred_add(p, truth, &atom);
}

/* a < b; if false, a >= b. */
static struct touch_pred less(const struct sides *x) {
    struct touch_pred p = {0};
    if (x->ahi < x->blo) p.truth = TOUCH_TRUE;
    if (x->alo >= x->bhi) p.truth = TOUCH_FALSE;
    if (p.truth != TOUCH_EITHER) return p;
    add_bound(&p, true, x->aid, x->bits, x->least, x->bhi - 1);
    add_bound(&p, true, x->bid, x->bits, x->alo + 1, x->most);
    add_bound(&p, false, x->aid, x->bits, x->blo, x->most);
    add_bound(&p, false, x->bid, x->bits, x->least, x->ahi);
    return p;
}

static struct touch_pred equal(const struct touch_value *a, const struct touch_value *b,
                               const struct sides *x) {
    struct touch_pred p = {0};
    struct touch_value common = *a;
    bool alike = a->var == b->var;
    if (touch_is_number(a) && touch_is_number(b)) {
        p.truth = a->lo == b->lo ? TOUCH_TRUE : TOUCH_FALSE;
        return p;
    }
    if (!alike) return p;
    if (!a->var && !touch_meet(&common, b->lo, b->len, x->bits)) {
        p.truth = TOUCH_FALSE;
        return p;
    }
    if (a->var) return p;
    touch_pred_add(&p, true, &(struct touch_atom){b->lo, b->len, a->id, x->bits});
    touch_pred_add(&p, true, &(struct touch_atom){a->lo, a->len, b->id, x->bits});
    if (!b->len) /* any number but that one */
        add_bound(&p, false, a->id, x->bits, (__int128)b->lo + 1,
                  (__int128)b->lo + touch_mask(x->bits));
    if (!a->len)
        add_bound(&p, false, b->id, x->bits, (__int128)a->lo + 1,
                  (__int128)a->lo + touch_mask(x->bits));
    return p;
}

static struct sides sides_of(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool sign) {
    struct sides x = {.bits = bits, .aid = a->var ? 0 : a->id, .bid = b->var ? 0 : b->id};
    if (sign) {
        struct touch_signed m = touch_as_signed(a, bits), n = touch_as_signed(b, bits);
        x.alo = m.lo, x.ahi = m.hi, x.blo = n.lo, x.bhi = n.hi;
        x.most = (__int128)(touch_mask(bits) / 2);
        x.least = -x.most - 1;
    } else {
        struct touch_unsigned m = touch_as_unsigned(a, bits), n = touch_as_unsigned(b, bits);
        x.alo = m.lo, x.ahi = m.hi, x.blo = n.lo, x.bhi = n.hi;
        x.most = touch_mask(bits);
    }
    return x;
}

static struct touch_pred compare(const struct touch_value *a, const struct touch_value *b,
                                 enum ptx_cmp cmp, enum ptx_type t) {
    bool sign = is_signed(t) && cmp != PTX_LO && cmp != PTX_LS && cmp != PTX_HI && cmp != PTX_HS;
    struct sides ab = sides_of(a, b, bits_of(t), sign), ba = sides_of(b, a, bits_of(t), sign);
    struct touch_pred p = {0};
    switch (cmp) {
    case PTX_EQ: return equal(a, b, &ab);
    case PTX_NE: p = equal(a, b, &ab); return touch_pred_not(&p);
    case PTX_LT:
    case PTX_LO: return less(&ab);
    case PTX_GT:
    case PTX_HI: return less(&ba);
    case PTX_GE:
    case PTX_HS: p = less(&ab); return touch_pred_not(&p);
    case PTX_LE:
    case PTX_LS: p = less(&ba); return touch_pred_not(&p);
    default: return p;
    }
}

static struct touch_pred combine(enum ptx_sub how, const struct touch_pred *a,
                                 const struct touch_pred *b) {
    struct touch_pred p = {.tainted = a->tainted || b->tainted};
    if (how == PTX_SUB_AND) return touch_pred_and(a, b);
    if (how == PTX_SUB_OR) return touch_pred_or(a, b);
    return p;
}

/* p|q = (a compared with b) and c: q uses the inverted comparison. */
static void set_pred(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    enum ptx_type t = type_of(i, 0);
    const struct ptx_operand *d = ptx_operand_at(i, 0);
    bool tainted = reads_tainted(s, i);
    if (!is_integer(t) || i->type_count != 1) return give_any(w, s, i, false);
    struct touch_value a = source(w, s, i, 1, bits_of(t)), b = source(w, s, i, 2, bits_of(t));
    struct touch_pred p = compare(&a, &b, (enum ptx_cmp)i->cmp, t), q = touch_pred_not(&p);
    if (i->sub) {
        struct touch_pred c = pred_source(s, ptx_operand_at(i, 3));
        p = combine((enum ptx_sub)i->sub, &p, &c);
        q = combine((enum ptx_sub)i->sub, &q, &c);
    }
    p.tainted = q.tainted = tainted;
    bool pair = d->kind == PTX_OPND_VEC;
    touch_store_pred(w, s, i, pair ? &d->elems[0] : d, p);
    if (pair && d->elem_count > 1) touch_store_pred(w, s, i, &d->elems[1], q);
}

static bool on_preds(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    if (type_of(i, 0) != PTX_PRED || i->op == PTX_OP_setp) return false;
    struct touch_pred a = pred_source(s, ptx_operand_at(i, 1)),
                      b = pred_source(s, ptx_operand_at(i, 2)), p;
    switch (i->op) {
    case PTX_OP_mov: p = a; break;
    case PTX_OP_not: p = touch_pred_not(&a); break;
    case PTX_OP_and: p = touch_pred_and(&a, &b); break;
    case PTX_OP_or: p = touch_pred_or(&a, &b); break;
    default: give_any(w, s, i, false); return true;
    }
    touch_store_pred(w, s, i, ptx_operand_at(i, 0), p);
    return true;
}

/* ---- all instructions ------------------------------------------------------------------------ */

/* True when the results follow from the operands, of this lane or of others of its warp. */
static bool is_pure(enum ptx_op op) {
    switch (op) {
    case PTX_OP_bfi:
    case PTX_OP_bfind:
    case PTX_OP_bmsk:
    case PTX_OP_brev:
    case PTX_OP_clz:
    case PTX_OP_cnot:
    case PTX_OP_copysign:
    case PTX_OP_cos:
    case PTX_OP_createpolicy:
    case PTX_OP_dp2a:
    case PTX_OP_dp4a:
    case PTX_OP_elect:
    case PTX_OP_ex2:
    case PTX_OP_fma:
    case PTX_OP_fns:
    case PTX_OP_isspacep:
    case PTX_OP_lg2:
    case PTX_OP_lop3:
    case PTX_OP_mad24:
    case PTX_OP_match:
    case PTX_OP_mma:
    case PTX_OP_movmatrix:
    case PTX_OP_mul24:
    case PTX_OP_popc:
    case PTX_OP_prmt:
    case PTX_OP_rcp:
    case PTX_OP_redux:
    case PTX_OP_rsqrt:
    case PTX_OP_sad:
    case PTX_OP_set:
    case PTX_OP_shf:
    case PTX_OP_shfl:
    case PTX_OP_sin:
    case PTX_OP_slct:
    case PTX_OP_sqrt:
    case PTX_OP_szext:
    case PTX_OP_tanh:
    case PTX_OP_testp:
    case PTX_OP_vabsdiff:
    case PTX_OP_vabsdiff2:
    case PTX_OP_vabsdiff4:
    case PTX_OP_vadd:
    case PTX_OP_vadd2:
    case PTX_OP_vadd4:
    case PTX_OP_vote: return true;
    default: return false;
    }
}

/* True for instructions without a visible effect. */
static bool is_nothing(const struct ptx_inst *i) {
    switch (i->op) {
    case PTX_OP_barrier:
    case PTX_OP_bar: return !(i->mods & PTX_MOD_RED);
    case PTX_OP_nanosleep:
    case PTX_OP_pmevent:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu:
    case PTX_OP_setmaxnreg: return true;
    default: return false;
    }
}

bool touch_compute(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    if (is_nothing(i) || on_preds(w, s, i)) return true;
    switch (i->op) {
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mad:
    case PTX_OP_addc:
    case PTX_OP_subc:
    case PTX_OP_madc:
        if (i->mods & PTX_MOD_CC || i->op == PTX_OP_addc || i->op == PTX_OP_subc ||
            i->op == PTX_OP_madc)
            give_carried(w, s, i);
        else
            compute(w, s, i);
        return true;
    case PTX_OP_mul:
    case PTX_OP_neg:
    case PTX_OP_not:
    case PTX_OP_abs:
    case PTX_OP_shl:
    case PTX_OP_shr:
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_xor:
    case PTX_OP_min:
    case PTX_OP_max:
    case PTX_OP_div:
    case PTX_OP_rem:
    case PTX_OP_bfe: compute(w, s, i); return true;
    case PTX_OP_mov: move(w, s, i); return true;
    case PTX_OP_cvt: convert(w, s, i); return true;
    case PTX_OP_cvta: convert_address(w, s, i); return true;
    case PTX_OP_selp: choose(w, s, i); return true;
    case PTX_OP_setp: set_pred(w, s, i); return true;
    case PTX_OP_bar:
    case PTX_OP_barrier: give_any(w, s, i, false); return true;
    case PTX_OP_activemask: give_any(w, s, i, true); return true;
    default:
        if (!is_pure((enum ptx_op)i->op)) return false;
        give_any(w, s, i, !strncmp(i->text, "vote.", 5) && !strstr(i->text, ".sync"));
        return true;
    }
}
