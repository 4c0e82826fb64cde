/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers instructions that only compute. The first operand is the result, the others are sources.
 */
#include "daemon/device/soft/lower/lower_alu.h"

#include "common/err.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/operand.h"

/* Smallest number of sources of each operation. A handler may rely on their slots. */
static uint32_t count_sources(const struct ptx_inst *i) {
    switch (i->op) {
    case PTX_OP_fma:
    case PTX_OP_mad:
    case PTX_OP_mad24:
    case PTX_OP_madc:
    case PTX_OP_sad:
    case PTX_OP_bfe:
    case PTX_OP_selp:
    case PTX_OP_slct:
    case PTX_OP_prmt:
    case PTX_OP_shf:
    case PTX_OP_dp4a:
    case PTX_OP_dp2a:
    case PTX_OP_fns:
    case PTX_OP_vmad:
    case PTX_OP_vabsdiff2:
    case PTX_OP_vabsdiff4:
    case PTX_OP_vadd2:
    case PTX_OP_vadd4:
    case PTX_OP_vavrg2:
    case PTX_OP_vavrg4:
    case PTX_OP_vmax2:
    case PTX_OP_vmax4:
    case PTX_OP_vmin2:
    case PTX_OP_vmin4:
    case PTX_OP_vset2:
    case PTX_OP_vset4:
    case PTX_OP_vsub2:
    case PTX_OP_vsub4: return 3;
    case PTX_OP_bfi:
    case PTX_OP_lop3: return 4;
    case PTX_OP_abs:
    case PTX_OP_neg:
    case PTX_OP_not:
    case PTX_OP_cnot:
    case PTX_OP_cvt:
    case PTX_OP_popc:
    case PTX_OP_clz:
    case PTX_OP_brev:
    case PTX_OP_bfind:
    case PTX_OP_sqrt:
    case PTX_OP_rcp:
    case PTX_OP_rsqrt:
    case PTX_OP_sin:
    case PTX_OP_cos:
    case PTX_OP_lg2:
    case PTX_OP_ex2:
    case PTX_OP_tanh:
    case PTX_OP_mov:
    case PTX_OP_testp: return 1;
    default: return 2;
    }
}

/* True for add.f32.f16 and similar forms. */
static bool mixes_widths(const struct ptx_inst *i) {
    bool one_type = i->op == PTX_OP_add || i->op == PTX_OP_sub || i->op == PTX_OP_fma;
    return one_type && i->type_count > 1;
}

/* Emits the conversion of a half to f32; returns its slot. */
static int32_t widened(struct lowering *l, const struct ptx_operand *o, uint8_t type) {
    struct code_inst c = {.op = PTX_OP_cvt, .type = PTX_F32, .type2 = type, .src = l->inst};
    c.b = c.c = c.e = c.d2 = c.pred = CODE_NO_SLOT;
    c.a = operand_source(l, o, 2, false);
    c.d_bytes = 4;
    c.a_bytes = 2;
    c.d = lowering_temp(l, 4);
    if (l->err) return CODE_NO_SLOT;
    c.run = isa_select(&c);
    lowering_emit(l, &c);
    return c.d;
}

/* Lowers d, a, c and d, a, b, c, where all sources but the last are halves. */
static void emit_mixed(struct lowering *l, struct code_inst *c) {
    const uint32_t last = l->inst->op == PTX_OP_fma ? 3 : 2;
    int32_t *slots[] = {&c->a, &c->b, &c->c};
    if (l->inst->operand_count != last + 1)
        return lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    operand_dest_or_pair(l, c, ptx_operand_at(l->inst, 0));
    for (uint32_t k = 1; k < last; k++)
        *slots[k - 1] = widened(l, ptx_operand_at(l->inst, k), c->type2);
    *slots[last - 1] = operand_source(l, ptx_operand_at(l->inst, last), 4, false);
    if (l->err) return;
    c->type2 = PTX_NONE;
    c->a_bytes = 4;
    c->run = isa_select(c);
    if (!c->run) lowering_refuse(l);
}

void lower_alu(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    int32_t *slots[] = {&c->a, &c->b, &c->c, &c->e};
    uint32_t need = count_sources(i);
    if (i->op == PTX_OP_UNKNOWN) {
        lowering_refuse(l);
        return;
    }
    if (mixes_widths(i)) return emit_mixed(l, c);
    operand_dest_or_pair(l, c, ptx_operand_at(i, 0));
    if (i->operand_count < need + 1) lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    for (uint32_t k = 1; k < i->operand_count && k <= 4 && !l->err; k++) {
        const struct ptx_operand *o = &i->operands[k];
        uint32_t bytes = isa_operand_bytes(i, k);
        *slots[k - 1] = operand_source(l, o, bytes, i->op == PTX_OP_cvt);
        if (o->negated) c->c_neg = true;
        if (k == 1) {
            uint32_t have = operand_reg_bytes(l, o);
            c->a_bytes = (uint8_t)(have ? have : bytes);
        }
    }
    if (l->err) return;
    c->run = isa_select(c);
    if (!c->run) lowering_refuse(l);
}

void lower_alu_lop3(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    lower_alu(l, c);
    if (l->err || c->d2 == CODE_NO_SLOT) return;
    const struct ptx_operand zero = {.kind = PTX_OPND_IMM};
    struct code_inst set = *c;
    set.op = PTX_OP_setp;
    set.cmp = PTX_NE;
    set.d = c->d2;
    if (ptx_operand_at(i, 0)->elems[0].kind == PTX_OPND_NONE) c->d = lowering_temp(l, 4);
    set.a = c->d;
    set.b = operand_source(l, &zero, 4, false);
    set.c = operand_source(l, ptx_operand_at(i, 5), LOWERING_PRED, false);
    set.c_neg = ptx_operand_at(i, 5)->negated;
    set.e = set.d2 = c->d2 = CODE_NO_SLOT;
    set.d_bytes = LOWERING_PRED;
    set.run = isa_select(&set);
    if (l->err) return;
    lowering_emit(l, c);
    *c = set;
}

void lower_alu_fours(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *list = ptx_operand_at(l->inst, 1);
    struct code_extra *x = lowering_extra(l, c, 0, 4);
    if (!x) return;
    operand_dest_or_pair(l, c, ptx_operand_at(l->inst, 0));
    for (; x->use_count < 4 && x->use_count < list->elem_count; x->use_count++)
        x->uses[x->use_count] =
            (struct code_elem){operand_source(l, &list->elems[x->use_count], 4, false), 4};
    c->b = operand_source(l, ptx_operand_at(l->inst, 2), 4, false);
    if (x->use_count != 4) lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    if (l->err) return;
    c->run = isa_select(c);
    if (!c->run) lowering_refuse(l);
}
