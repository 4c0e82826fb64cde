/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands: a register, an immediate, an address. Any other operand is first moved to a temporary.
 */
#include "daemon/device/soft/lower/operand.h"

#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"

uint32_t operand_lane_bytes(uint32_t type) {
    if (type == PTX_PRED) return LOWERING_PRED;
    uint32_t bytes = ptx_type_bytes(type);
    return bytes < 2 ? 2 : bytes;
}

uint32_t operand_reg_bytes(const struct lowering *l, const struct ptx_operand *o) {
    if (o->kind != PTX_OPND_REG || o->reg < 0 || (uint32_t)o->reg >= l->func->reg_count) return 0;
    return l->reg_bytes[o->reg];
}

static int32_t const_slot(struct lowering *l, uint64_t bits, uint32_t bytes) {
    int32_t slot = consts_slot(&l->consts, bits, bytes);
    if (!slot) lowering_fail(l, -ENOMEM, "out of memory");
    return slot;
}

/* Bits of a float literal. Literals have the width in which they were written; this converts to the
 * width of the operand. */
static uint64_t float_bits(const struct ptx_operand *o, uint32_t bytes) {
    uint64_t bits = o->imm;
    if (o->imm_float_bytes == 4 && bytes == 8) {
        uint32_t narrow = (uint32_t)bits;
        float f;
        memcpy(&f, &narrow, sizeof(f));
        double d = f;
        memcpy(&bits, &d, sizeof(bits));
    } else if (o->imm_float_bytes == 8 && bytes == 4) {
        double d;
        memcpy(&d, &bits, sizeof(d));
        float f = (float)d;
        uint32_t narrow;
        memcpy(&narrow, &f, sizeof(narrow));
        bits = narrow;
    }
    return bits;
}

enum ptx_space operand_var_space(const struct lowering *l, const struct ptx_var *v) {
    if (v->space != PTX_PARAM) return v->space;
    if (l->func->entry)
        for (uint32_t i = 0; i < l->func->param_count; i++)
            if (l->func->params[i] == v) return PTX_PARAM;
    return PTX_LOCAL;
}

bool operand_emit_special(struct lowering *l, const struct ptx_operand *o, int32_t dest,
                          uint32_t bytes, const struct code_inst *like) {
    struct code_inst c = {.d = dest, .d2 = CODE_NO_SLOT, .pred = CODE_NO_SLOT, .op = PTX_OP_mov};
    c.a = c.b = c.c = c.e = CODE_NO_SLOT;
    c.src = l->inst;
    c.d_bytes = (uint8_t)bytes;
    if (like) {
        c.pred = like->pred;
        c.pred_neg = like->pred_neg;
    }
    if (o->kind == PTX_OPND_SREG) {
        c.run = move_is_clock(o->sreg) ? NULL : move_sreg(bytes);
        c.target = (int32_t)o->sreg;
    } else if (o->kind == PTX_OPND_VAR && o->var) {
        c.space = operand_var_space(l, o->var);
        if (c.space != PTX_LOCAL && c.space != PTX_PARAM) return false;
        c.run = move_address;
        c.offset = o->offset + (int64_t)o->var->offset;
    } else {
        return false;
    }
    bool narrow = (bytes == 2 || !bytes) && o->kind == PTX_OPND_SREG;
    if (bytes != 4 && bytes != 8 && !narrow)
        lowering_fail(l, ERR_INVALID_PTX, "an address or special register does not fit");
    lowering_emit(l, &c);
    return true;
}

/* Slot of a register. A register of 128 bits can only be used as a whole. */
static int32_t register_slot(struct lowering *l, const struct ptx_operand *o, uint32_t bytes,
                             bool wider) {
    if (o->reg < 0 || (uint32_t)o->reg >= l->func->reg_count) {
        lowering_fail(l, ERR_INVALID_PTX, "no such register");
        return CODE_NO_SLOT;
    }
    uint32_t have = l->reg_bytes[o->reg];
    bool pred = bytes == LOWERING_PRED;
    if (wider && have > 8 && have > bytes)
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "128 bits for %u are not supported", 8 * bytes);
    else if (pred != (have == LOWERING_PRED) || have < bytes || (have > bytes && !wider))
        lowering_fail(l, ERR_INVALID_PTX, "register %s has the wrong width",
                      l->func->regs[o->reg].name);
    return o->reg;
}

int32_t operand_source(struct lowering *l, const struct ptx_operand *o, uint32_t bytes,
                       bool wider) {
    switch (o->kind) {
    case PTX_OPND_REG: return register_slot(l, o, bytes, wider);
    case PTX_OPND_IMM: return const_slot(l, float_bits(o, bytes), bytes);
    case PTX_OPND_FUNC:
        return const_slot(l, CODE_HANDLE(o->func->index) + (uint64_t)o->offset, bytes);
    case PTX_OPND_SREG:
    case PTX_OPND_VAR: {
        if (o->kind == PTX_OPND_VAR) {
            enum ptx_space space = operand_var_space(l, o->var);
            if (space != PTX_LOCAL && space != PTX_PARAM)
                return const_slot(l, o->var->offset + (uint64_t)o->offset, bytes);
        }
        int32_t temp = lowering_temp(l, bytes);
        operand_emit_special(l, o, temp, bytes, NULL);
        return temp;
    }
    default:
        lowering_fail(l, ERR_INVALID_PTX, "an operand is missing or of the wrong kind");
        return CODE_NO_SLOT;
    }
}

int32_t operand_dest(struct lowering *l, const struct ptx_operand *o) {
    if (o->kind == PTX_OPND_NONE) return lowering_temp(l, CODE_SINK);
    if (o->kind != PTX_OPND_REG || o->reg < 0 || (uint32_t)o->reg >= l->func->reg_count) {
        lowering_fail(l, ERR_INVALID_PTX, "the destination must be a register");
        return CODE_NO_SLOT;
    }
    return o->reg;
}

void operand_address(struct lowering *l, const struct ptx_operand *o, struct code_inst *c) {
    c->a = CODE_NO_SLOT;
    c->a_bytes = 8;
    c->target = (int32_t)(l->accesses++ % CODE_WINDOWS << 8);
    if (o->kind != PTX_OPND_ADDR) {
        lowering_fail(l, ERR_INVALID_PTX, "an address is missing");
        return;
    }
    c->offset = (int64_t)((uint64_t)o->offset + o->imm);
    if (o->reg >= 0) {
        struct ptx_operand reg = {.kind = PTX_OPND_REG, .reg = o->reg};
        c->a_bytes = (uint8_t)operand_reg_bytes(l, &reg);
        if (c->a_bytes != 4 && c->a_bytes != 8)
            lowering_fail(l, ERR_INVALID_PTX, "an address needs 32 or 64 bits");
        c->a = register_slot(l, &reg, c->a_bytes, false);
    }
    if (o->var) {
        c->space = operand_var_space(l, o->var);
        c->offset = (int64_t)((uint64_t)c->offset + o->var->offset);
        if (c->space == PTX_LOCAL) c->target |= CODE_FRAME_LOCAL;
    } else if (c->space == PTX_PARAM) {
        /* An address taken by mov: in the entry's parameter block, or in the lane's stack. */
        c->space = l->func->entry ? PTX_GENERIC : PTX_LOCAL;
    }
    if (c->space == PTX_CONST) c->target |= CODE_CONSTANT;
    if (c->space == PTX_GLOBAL || c->space == PTX_CONST) c->space = PTX_GENERIC;
}

int32_t operand_address_value(struct lowering *l, const struct ptx_operand *o) {
    struct code_inst c = {.space = PTX_GENERIC};
    operand_address(l, o, &c);
    if (l->err) return CODE_NO_SLOT;
    if (c.a == CODE_NO_SLOT) return const_slot(l, (uint64_t)c.offset, 8);
    struct code_inst add = {.op = PTX_OP_add, .type = PTX_U64, .a = c.a, .src = l->inst};
    add.c = add.e = add.d2 = add.pred = CODE_NO_SLOT;
    if (c.a_bytes == 4) {
        struct code_inst widen = {.op = PTX_OP_cvt, .type = PTX_U64, .type2 = PTX_U32, .a = c.a};
        widen.b = widen.c = widen.e = widen.d2 = widen.pred = CODE_NO_SLOT;
        widen.d_bytes = 8;
        widen.a_bytes = 4;
        widen.src = l->inst;
        widen.d = lowering_temp(l, 8);
        widen.run = isa_select(&widen);
        lowering_emit(l, &widen);
        add.a = widen.d;
    }
    if (!c.offset) return add.a;
    add.b = const_slot(l, (uint64_t)c.offset, 8);
    add.d_bytes = add.a_bytes = 8;
    add.d = lowering_temp(l, 8);
    add.run = isa_select(&add);
    lowering_emit(l, &add);
    return add.d;
}

void operand_dest_or_pair(struct lowering *l, struct code_inst *c, const struct ptx_operand *o) {
    if (o->kind == PTX_OPND_VEC) {
        if (o->elem_count != 2)
            lowering_fail(l, ERR_INVALID_PTX, "a pair of destinations expected");
        if (l->err) return;
        c->d2 = o->elems[1].kind == PTX_OPND_NONE ? CODE_NO_SLOT : operand_dest(l, &o->elems[1]);
        o = &o->elems[0];
    }
    c->d = operand_dest(l, o);
    uint32_t bytes = operand_reg_bytes(l, o);
    c->d_bytes = (uint8_t)bytes;
    if (bytes > 8) /* only moves, loads and exchanges have 128 bits */
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "a result of 128 bits is not supported here");
}
