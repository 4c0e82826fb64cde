/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers moves. Their handlers are in exec/move.c, or in isa if an instruction only computes.
 */
#include "daemon/device/soft/lower/lower_move.h"

#include "common/err.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/lower_alu.h"
#include "daemon/device/soft/lower/operand.h"

/* Destination of a move: its register must have the width of the type. */
static int32_t moved_dest(struct lowering *l, const struct ptx_operand *o, uint32_t bytes) {
    int32_t slot = operand_dest(l, o);
    if (!l->err && o->kind == PTX_OPND_REG && operand_reg_bytes(l, o) != bytes)
        lowering_fail(l, ERR_INVALID_PTX, "the destination has the wrong width");
    return slot;
}

/* Packs {a, b, ...} into d, or unpacks a into {d, e, ...}. The list goes into extra's uses or
 * defs. */
static void emit_pack(struct lowering *l, struct code_inst *c, bool pack) {
    const struct ptx_operand *vec = ptx_operand_at(l->inst, pack);
    uint32_t total = operand_lane_bytes(c->type), n = vec->elem_count;
    if ((n != 2 && n != 4 && n != 8) || total % n) {
        lowering_refuse(l);
        return;
    }
    struct code_extra *x = lowering_extra(l, c, pack ? 0 : n, pack ? n : 0);
    if (!x) return;
    uint32_t part = total / n, lane = part < 2 ? 2 : part;
    struct code_elem *elems = pack ? x->uses : x->defs;
    for (uint32_t k = 0; k < n && !l->err; k++) {
        const struct ptx_operand *o = &vec->elems[k];
        elems[k].bytes = (uint8_t)lane;
        if (pack)
            elems[k].slot = operand_source(l, o, lane, false);
        else if (o->kind == PTX_OPND_NONE)
            elems[k].slot = CODE_NO_SLOT;
        else
            elems[k].slot = operand_source(l, o, lane, false);
        if (!pack && elems[k].slot < 0 && elems[k].slot != CODE_NO_SLOT)
            lowering_fail(l, ERR_INVALID_PTX, "a destination must be a register");
    }
    if (pack) {
        x->use_count = n;
        c->d = moved_dest(l, ptx_operand_at(l->inst, 0), total);
    } else {
        x->def_count = n;
        c->a = operand_source(l, ptx_operand_at(l->inst, 1), total, false);
    }
    c->d_bytes = (uint8_t)part;
    c->run = move_select(c);
}

bool lower_move(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *d = ptx_operand_at(l->inst, 0), *a = ptx_operand_at(l->inst, 1);
    if (d->kind == PTX_OPND_VEC || a->kind == PTX_OPND_VEC) {
        emit_pack(l, c, a->kind == PTX_OPND_VEC);
        return true;
    }
    const uint32_t bytes = operand_lane_bytes(c->type);
    if ((a->kind == PTX_OPND_SREG || a->kind == PTX_OPND_VAR) && d->kind == PTX_OPND_REG) {
        int32_t dest = moved_dest(l, d, bytes);
        if (operand_emit_special(l, a, dest, bytes, c)) return false; /* done */
    }
    if (bytes == 16) {
        c->d = moved_dest(l, d, bytes);
        c->a = operand_source(l, a, bytes, false);
        c->run = move_select(c);
    } else {
        lower_alu(l, c);
    }
    return true;
}

void lower_move_cvta(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *a = ptx_operand_at(l->inst, 1);
    c->d = operand_dest(l, ptx_operand_at(l->inst, 0));
    c->a = operand_source(l, a, 8, false);
    c->d_bytes = c->a_bytes = 8;
    if (a->kind == PTX_OPND_VAR && a->var) c->space = operand_var_space(l, a->var);
    if (c->space == PTX_PARAM && !l->func->entry) c->space = PTX_LOCAL;
    c->run = move_select(c);
    if (c->run || l->err) return;
    c->op = PTX_OP_mov; /* global, const and param addresses are generic already */
    c->run = isa_select(c);
}

bool lower_move_plain(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *a = ptx_operand_at(l->inst, 1);
    uint32_t have = operand_reg_bytes(l, a);
    switch (l->inst->op) {
    case PTX_OP_mov:
    case PTX_OP_cvta: return false;
    case PTX_OP_isspacep:
        if (have && have != 8) lowering_refuse(l);
        operand_dest_or_pair(l, c, ptx_operand_at(l->inst, 0));
        c->a = operand_source(l, a, 8, false);
        break;
    case PTX_OP_mapa:
    case PTX_OP_getctarank:
        operand_dest_or_pair(l, c, ptx_operand_at(l->inst, 0));
        c->a_bytes = (uint8_t)operand_lane_bytes(c->type);
        c->a = operand_source(l, a, c->a_bytes, false);
        if (l->inst->op == PTX_OP_mapa)
            c->b = operand_source(l, ptx_operand_at(l->inst, 2), 4, false);
        break;
    case PTX_OP_createpolicy: operand_dest_or_pair(l, c, ptx_operand_at(l->inst, 0)); break;
    default: break;
    }
    if (l->err) return true;
    c->run = move_select(c);
    return c->run != NULL;
}
