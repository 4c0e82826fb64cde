/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers wgmma. For each of its warps it becomes what mma does: a's part is loaded into registers
 * (unless it is there already); then b is loaded, eight columns at a time, and multiplied. All of
 * the work is done when the instruction runs, which PTX allows; so fences and commits do nothing. A
 * wait only keeps each of the four warps from continuing before all have arrived: a program may let
 * one of them tell another warp to refill the memory.
 */
#include "daemon/device/soft/lower/lower_wgmma.h"

#include <errno.h>

#include "common/err.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/instructions/ptx_wgmma.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/operand.h"
#include "daemon/device/soft/memory/group.h"

enum { OPERAND_D, OPERAND_A, OPERAND_B, OPERAND_KEEP, OPERAND_SIGNS };

#define B_REGS 2 /* registers of a lane for eight columns of b */

struct product {
    struct ptx_wgmma form;
    struct ptx_matrix *mma;
    struct code_inst blank; /* with the guard, and no operand */
    struct code_elem a[PTX_WGMMA_A_REGS];
    bool turns_a, turns_b;
    int32_t everybody, zero;
};

static int32_t constant(struct lowering *l, uint32_t value) {
    const struct ptx_operand o = {.kind = PTX_OPND_IMM, .imm = value};
    return operand_source(l, &o, 4, false);
}

/* Reads an operand that is a number: a sign, or whether a matrix is stored by the other
 * dimension. */
static int64_t number(struct lowering *l, uint32_t k, bool sign) {
    const struct ptx_operand *o = ptx_operand_at(l->inst, k);
    const int64_t v = (int64_t)o->imm;
    const bool good = o->kind == PTX_OPND_IMM && (sign ? v == 1 || v == -1 : v == 0 || v == 1);
    if (!good) lowering_fail(l, ERR_INVALID_PTX, "operand %u cannot have this value", k + 1);
    return v;
}

static struct code_elem temp(struct lowering *l) {
    return (struct code_elem){lowering_temp(l, 4), 4};
}

/* ---- parts of a matrix ----------------------------------------------------------------------- */

/* Loads registers `to` of eight columns of b, beginning at column `first`, or with `first` -1 the
 * warp's 16 rows of a. */
static void load(struct lowering *l, const struct product *p, const struct ptx_operand *from,
                 int64_t first, bool turns, struct code_elem *to, uint32_t count) {
    struct code_inst c = p->blank;
    struct code_extra *x = lowering_extra(l, &c, count, 0);
    if (!x) return;
    for (; x->def_count < count; x->def_count++)
        x->defs[x->def_count] = to[x->def_count] = temp(l);
    c.a = operand_source(l, from, 8, false);
    c.a_bytes = 8;
    c.offset = first;
    c.vec = turns;
    c.e = p->everybody;
    x->together = group_load;
    lowering_emit(l, &c);
}

static void take_a(struct lowering *l, struct product *p) {
    const struct ptx_operand *a = ptx_operand_at(l->inst, OPERAND_A);
    if (a->kind != PTX_OPND_VEC) return load(l, p, a, -1, p->turns_a, p->a, PTX_WGMMA_A_REGS);
    if (a->elem_count != PTX_WGMMA_A_REGS)
        return lowering_fail(l, ERR_INVALID_PTX, "operand a must have four registers");
    for (uint32_t k = 0; k < PTX_WGMMA_A_REGS && !l->err; k++)
        p->a[k] = (struct code_elem){operand_source(l, &a->elems[k], 4, false), 4};
}

/* Emits d = a op b (, c) on 32 bits. */
static void compute(struct lowering *l, const struct product *p, enum ptx_op op, int32_t d,
                    int32_t a, int32_t b, int32_t c) {
    struct code_inst i = p->blank;
    i.op = (uint16_t)op;
    i.type = PTX_B32;
    i.d_bytes = i.a_bytes = 4;
    i.d = d;
    i.a = a;
    i.b = b;
    i.c = c;
    i.run = isa_select(&i);
    lowering_emit(l, &i);
}

static void negate_a(struct lowering *l, struct product *p) {
    const int32_t signs = constant(l, p->form.signs);
    for (uint32_t k = 0; k < PTX_WGMMA_A_REGS; k++) {
        const int32_t a = p->a[k].slot;
        p->a[k] = temp(l);
        compute(l, p, PTX_OP_xor, p->a[k].slot, a, signs, CODE_NO_SLOT);
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

/* Initial value of a register of the sum: the old value, or 0. */
static struct code_elem kept(struct lowering *l, const struct product *p, int32_t sum) {
    const struct ptx_operand *keep = ptx_operand_at(l->inst, OPERAND_KEEP);
    const struct code_elem c = temp(l);
    const int32_t yes = operand_source(l, keep, LOWERING_PRED, false);
    compute(l, p, PTX_OP_selp, c.slot, keep->negated ? p->zero : sum, keep->negated ? sum : p->zero,
            yes);
    return c;
}

/* Multiplies eight columns, beginning at `first`. */
static void multiply(struct lowering *l, const struct product *p, uint32_t first,
                     struct code_inst *c) {
    const struct ptx_operand *d = ptx_operand_at(l->inst, OPERAND_D);
    const uint32_t regs = p->mma->d.regs, at = first / 8 * regs;
    *c = p->blank;
    c->op = PTX_OP_mma;
    struct code_extra *x = lowering_extra(l, c, regs, PTX_WGMMA_A_REGS + B_REGS + regs);
    if (!x) return;
    x->matrix = p->mma;
    for (; x->use_count < PTX_WGMMA_A_REGS; x->use_count++)
        x->uses[x->use_count] = p->a[x->use_count];
    load(l, p, ptx_operand_at(l->inst, OPERAND_B), first, p->turns_b, &x->uses[x->use_count],
         B_REGS);
    x->use_count += B_REGS;
    for (uint32_t k = 0; k < regs && !l->err; k++) {
        const bool none = d->elems[at + k].kind == PTX_OPND_NONE;
        const int32_t sum = none ? lowering_temp(l, 4) : operand_dest(l, &d->elems[at + k]);
        x->uses[x->use_count++] = kept(l, p, sum);
        x->defs[x->def_count++] = (struct code_elem){sum, 4};
    }
    c->e = p->everybody;
    if (l->err) return;
    x->together = isa_select_matrix(c);
    if (!x->together)
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION,
                      "the software GPU does not multiply matrices of these types and this shape");
}

/* Reads the signs and storage orders, which follow the predicate. */
static bool read_numbers(struct lowering *l, struct product *p) {
    const bool given = ptx_operand_at(l->inst, OPERAND_A)->kind == PTX_OPND_VEC;
    const uint32_t storage = OPERAND_SIGNS + 2;
    bool negative = false;
    if (p->form.negates)
        negative = number(l, OPERAND_SIGNS, true) != number(l, OPERAND_SIGNS + 1, true);
    if (p->form.turns && !given) p->turns_a = number(l, storage, false);
    if (p->form.turns) p->turns_b = number(l, given ? storage : storage + 1, false);
    return negative;
}

static void lower_product(struct lowering *l, struct product *p, struct code_inst *c) {
    char why[8];
    const struct ptx_operand *d = ptx_operand_at(l->inst, OPERAND_D);
    p->mma = arena_alloc(l->arena, sizeof(*p->mma));
    if (!p->mma) return lowering_fail(l, -ENOMEM, "out of memory");
    if (!ptx_matrix_find(PTX_OP_mma, p->form.mma, p->mma, why, sizeof(why)))
        return lowering_fail(
            l, ERR_ILLEGAL_INSTRUCTION,
            "the software GPU does not multiply matrices of these types and this shape");
    if (d->kind != PTX_OPND_VEC || d->elem_count != p->form.sum_regs)
        return lowering_fail(l, ERR_INVALID_PTX, "the sum has another number of registers");
    p->blank = *c;
    p->everybody = constant(l, UINT32_MAX);
    p->zero = constant(l, 0);
    const bool negative = read_numbers(l, p);
    take_a(l, p);
    if (negative) negate_a(l, p);
    for (uint32_t first = 0; first < p->form.n && !l->err; first += 8) {
        if (first) lowering_emit(l, c);
        multiply(l, p, first, c);
    }
}

void lower_wgmma(struct lowering *l, struct code_inst *c) {
    struct product p = {.mma = NULL};
    char why[8];
    if (!ptx_wgmma_find(l->inst->text, &p.form, why, sizeof(why)))
        return lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "not supported by the software GPU");
    switch (p.form.verb) {
    case PTX_WGMMA_MULTIPLY: lower_product(l, &p, c); return;
    case PTX_WGMMA_WAIT:
        c->op = PTX_OP_bar;
        c->target = CODE_GROUP_BARRIER;
        return;
    default: c->run = move_select(c); return;
    }
}
