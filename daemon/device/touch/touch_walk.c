/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands: their values, and the destinations of results.
 */
#include "daemon/device/touch/touch_walk.h"

#include <errno.h>
#include <stdio.h>

void touch_refuse(struct touch_walk *w, const struct ptx_inst *i, const char *does) {
    if (w->err) return;
    w->err = -ENOTSUP;
    if (does)
        snprintf(w->why, w->why_bytes, "%.60s in line %u %s", i->text, i->line, does);
    else
        snprintf(w->why, w->why_bytes, "the effect of %.60s in line %u is unknown", i->text,
                 i->line);
}

/* ---- guards ---------------------------------------------------------------------------------- */

static const struct touch_pred *guard(const struct touch_state *s, const struct ptx_inst *i) {
    return i->pred < 0 ? NULL : &s->preds[s->pred_of[i->pred]];
}

bool touch_guarded(const struct touch_state *s, const struct ptx_inst *i) {
    const struct touch_pred *p = guard(s, i);
    return p && p->truth != (i->pred_neg ? TOUCH_FALSE : TOUCH_TRUE);
}

bool touch_guard_tainted(const struct touch_state *s, const struct ptx_inst *i) {
    const struct touch_pred *p = guard(s, i);
    return p && p->tainted;
}

/* ---- sources --------------------------------------------------------------------------------- */

static struct touch_value below(uint32_t count, uint32_t bits) {
    return touch_range(0, count ? count - 1 : 0, bits);
}

/* True when the register is the same in a repetition of the launch. */
static bool is_fixed(enum ptx_sreg r) {
    switch (r) {
    case PTX_SREG_LANEID:
    case PTX_SREG_LANEMASK_EQ:
    case PTX_SREG_LANEMASK_LE:
    case PTX_SREG_LANEMASK_LT:
    case PTX_SREG_LANEMASK_GE:
    case PTX_SREG_LANEMASK_GT:
    case PTX_SREG_DYNAMIC_SMEM:
    case PTX_SREG_TOTAL_SMEM: return true;
    default: return r >= PTX_SREG_CLUSTERID_X && r <= PTX_SREG_IS_EXPLICIT_CLUSTER;
    }
}

static struct touch_value special(const struct touch_walk *w, enum ptx_sreg r, uint32_t bits) {
    const struct dev_launch *l = w->launch;
    if (r <= PTX_SREG_TID_Z) return below(l->block[r - PTX_SREG_TID_X], bits);
    if (r <= PTX_SREG_NTID_Z) return touch_number(l->block[r - PTX_SREG_NTID_X], bits);
    if (r <= PTX_SREG_CTAID_Z) return below(l->grid[r - PTX_SREG_CTAID_X], bits);
    if (r <= PTX_SREG_NCTAID_Z) return touch_number(l->grid[r - PTX_SREG_NCTAID_X], bits);
    struct touch_value v = r == PTX_SREG_LANEID ? below(32, bits) : touch_any(bits);
    v.tainted = !is_fixed(r);
    return v;
}

static struct touch_value register_value(const struct touch_state *s, int32_t reg, uint32_t bits) {
    uint32_t have = touch_reg_bits(s->func, reg);
    if (have == bits) return s->values[reg];
    return touch_low(&s->values[reg], bits < have ? bits : have);
}

struct touch_value touch_operand(struct touch_walk *w, const struct touch_state *s,
                                 const struct ptx_operand *o, uint32_t bits) {
    struct touch_value v = touch_any(bits);
    switch (o->kind) {
    case PTX_OPND_REG:
        if (s->func->regs[o->reg].type == PTX_PRED) {
            v.tainted = touch_operand_tainted(s, o);
            return v;
        }
        return register_value(s, o->reg, bits);
    case PTX_OPND_IMM: return o->imm_float_bytes ? v : touch_number(o->imm, bits);
    case PTX_OPND_SREG: return special(w, o->sreg, bits);
    case PTX_OPND_VAR:
        v = touch_number((uint64_t)o->offset, bits);
        v.var = o->var->linked ? o->var->linked : o->var;
        v.generic = v.var->space == PTX_GLOBAL;
        return v;
    default: v.tainted = touch_operand_tainted(s, o); return v;
    }
}

bool touch_operand_tainted(const struct touch_state *s, const struct ptx_operand *o) {
    bool tainted = o->kind == PTX_OPND_VAR && o->var->space == PTX_GLOBAL;
    if (o->kind == PTX_OPND_SREG) return o->sreg > PTX_SREG_NCTAID_Z && !is_fixed(o->sreg);
    if (o->kind == PTX_OPND_VEC)
        for (uint32_t k = 0; k < o->elem_count; k++)
            tainted |= touch_operand_tainted(s, &o->elems[k]);
    if ((o->kind != PTX_OPND_REG && o->kind != PTX_OPND_ADDR) || o->reg < 0) return tainted;
    if (s->func->regs[o->reg].type == PTX_PRED) return s->preds[s->pred_of[o->reg]].tainted;
    const struct touch_value *v = &s->values[o->reg];
    return v->tainted || (v->generic && o->kind == PTX_OPND_REG);
}

/* ---- results --------------------------------------------------------------------------------- */

void touch_store(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                 const struct ptx_operand *d, struct touch_value v) {
    if (d->kind != PTX_OPND_REG || d->reg < 0) return;
    if (s->func->regs[d->reg].type == PTX_PRED) {
        touch_refuse(w, i, NULL);
        return;
    }
    struct touch_value *at = &s->values[d->reg];
    if (touch_guarded(s, i)) {
        v = touch_either(at, &v, touch_reg_bits(s->func, d->reg));
        v.tainted |= touch_guard_tainted(s, i);
    }
    if (!v.id) v.id = ++w->next_id;
    *at = v;
}

void touch_store_pred(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                      const struct ptx_operand *d, struct touch_pred p) {
    if (d->kind != PTX_OPND_REG || d->reg < 0) return;
    if (s->func->regs[d->reg].type != PTX_PRED) {
        touch_refuse(w, i, NULL);
        return;
    }
    struct touch_pred *at = touch_pred_at(s, d->reg);
    if (d->negated) p = touch_pred_not(&p);
    if (touch_guarded(s, i)) {
        p = touch_pred_either(at, &p);
        p.tainted |= touch_guard_tainted(s, i);
    }
    *at = p;
}

void touch_store_any(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                     const struct ptx_operand *d, bool tainted) {
    for (uint32_t k = 0; d->kind == PTX_OPND_VEC && k < d->elem_count; k++)
        touch_store_any(w, s, i, &d->elems[k], tainted);
    if (d->kind != PTX_OPND_REG || d->reg < 0) return;
    if (s->func->regs[d->reg].type == PTX_PRED) {
        touch_store_pred(w, s, i, d, (struct touch_pred){.tainted = tainted});
        return;
    }
    struct touch_value v = touch_any(touch_reg_bits(s->func, d->reg));
    v.tainted = tainted;
    touch_store(w, s, i, d, v);
}
