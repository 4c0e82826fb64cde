/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers loads and stores, atomic operations, and copies by lanes.
 */
#include "daemon/device/soft/lower/lower_access.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/lower_bulk.h"
#include "daemon/device/soft/lower/lower_mbarrier.h"
#include "daemon/device/soft/lower/operand.h"
#include "daemon/device/soft/memory/atomic_access.h"

static void emit_vector(struct lowering *l, struct code_inst *c, const struct ptx_operand *vec,
                        bool load) {
    uint32_t n = vec->elem_count, type = ptx_type_bytes(c->type);
    if (n != l->inst->vec || n > 8 || type * n > 32) {
        lowering_fail(l, ERR_INVALID_PTX, "the vector has the wrong length");
        return;
    }
    struct code_extra *x = lowering_extra(l, c, load ? n : 0, load ? 0 : n);
    if (!x) return;
    struct code_elem *elems = load ? x->defs : x->uses;
    for (uint32_t k = 0; k < n && !l->err; k++) {
        const struct ptx_operand *o = &vec->elems[k];
        uint32_t have = operand_reg_bytes(l, o), lane = operand_lane_bytes(c->type);
        elems[k].bytes = (uint8_t)(have ? have : lane);
        if (load && o->kind == PTX_OPND_NONE)
            elems[k].slot = CODE_NO_SLOT;
        else
            elems[k].slot = operand_source(l, o, lane, true);
        if (load && elems[k].slot < 0 && elems[k].slot != CODE_NO_SLOT)
            lowering_fail(l, ERR_INVALID_PTX, "a destination must be a register");
    }
    *(load ? &x->def_count : &x->use_count) = n;
}

void lower_access(struct lowering *l, struct code_inst *c, bool load) {
    const struct ptx_operand *value = ptx_operand_at(l->inst, load ? 0 : 1);
    struct ptx_operand elem = *value, one = {.kind = PTX_OPND_VEC, .elem_count = 1};
    uint32_t bytes = ptx_type_bytes(c->type), lane = operand_lane_bytes(c->type);
    if (c->type == PTX_PRED) {
        lowering_refuse(l);
        return;
    }
    if (bytes == 16 && value->kind != PTX_OPND_VEC) {
        one.elems = &elem;
        value = &one;
    }
    operand_address(l, ptx_operand_at(l->inst, load ? 1 : 0), c);
    if (value->kind == PTX_OPND_VEC) {
        emit_vector(l, c, value, load);
    } else if (load) {
        c->d = operand_dest(l, value);
        c->d_bytes = value->kind == PTX_OPND_NONE ? 8 : (uint8_t)operand_reg_bytes(l, value);
        if (c->d_bytes < lane) lowering_fail(l, ERR_INVALID_PTX, "the destination is too narrow");
        if (c->d_bytes > 8)
            lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "128 bits for less are not supported");
    } else {
        c->b = operand_source(l, value, lane, true);
        uint32_t have = operand_reg_bytes(l, value);
        c->d_bytes = (uint8_t)(have ? have : lane);
    }
    uint64_t total = (uint64_t)bytes * (value->kind == PTX_OPND_VEC ? value->elem_count : 1);
    if (c->space == PTX_PARAM && c->a == CODE_NO_SLOT && !l->err &&
        (c->offset < 0 || (uint64_t)c->offset + total > l->func->param_bytes))
        lowering_fail(l, ERR_INVALID_PTX, "the address is outside the kernel's parameters");
    if (l->err) return;
    c->run = isa_select_access(c);
    if (!c->run) lowering_refuse(l);
}

/* Lowers {d}, [a], {b} with .v2, .v4 or .v8. The lists go into extra's defs and uses. */
static void emit_atomic_vector(struct lowering *l, struct code_inst *c, bool result) {
    const struct ptx_operand *d = ptx_operand_at(l->inst, 0),
                             *b = ptx_operand_at(l->inst, 1u + result);
    const uint32_t n = l->inst->vec, lane = operand_lane_bytes(c->type);
    const bool back = result && d->kind == PTX_OPND_VEC;
    struct code_extra *x = lowering_extra(l, c, n, n);
    if (!x) return;
    if (b->kind != PTX_OPND_VEC || b->elem_count != n || (back && d->elem_count != n))
        return lowering_fail(l, ERR_INVALID_PTX, "the vector has the wrong length");
    operand_address(l, ptx_operand_at(l->inst, result), c);
    for (uint32_t k = 0; k < n && !l->err; k++) {
        x->uses[k] =
            (struct code_elem){operand_source(l, &b->elems[k], lane, false), (uint8_t)lane};
        if (!back) continue;
        x->defs[k] = (struct code_elem){CODE_NO_SLOT, (uint8_t)lane};
        if (d->elems[k].kind == PTX_OPND_NONE) continue;
        x->defs[k].slot = operand_source(l, &d->elems[k], lane, false);
        if (x->defs[k].slot < 0)
            lowering_fail(l, ERR_INVALID_PTX, "a destination must be a register");
    }
    x->use_count = n;
    x->def_count = back ? n : 0;
    if (l->err) return;
    c->run = atomic_access_select(c);
    if (!c->run) lowering_refuse(l);
}

void lower_access_atomic(struct lowering *l, struct code_inst *c, bool result) {
    uint32_t lane = operand_lane_bytes(c->type), k = result;
    if (l->inst->vec > 1) return emit_atomic_vector(l, c, result);
    if (c->type == PTX_PRED) {
        lowering_refuse(l);
        return;
    }
    if (result && ptx_operand_at(l->inst, 0)->kind != PTX_OPND_NONE) {
        c->d = operand_source(l, ptx_operand_at(l->inst, 0), lane, false);
        if (c->d < 0) lowering_fail(l, ERR_INVALID_PTX, "the destination must be a register");
    }
    operand_address(l, ptx_operand_at(l->inst, k), c);
    c->b = operand_source(l, ptx_operand_at(l->inst, k + 1), lane, false);
    if (c->sub == PTX_SUB_CAS)
        c->c = operand_source(l, ptx_operand_at(l->inst, k + 2), lane, false);
    c->d_bytes = (uint8_t)lane;
    if (l->err) return;
    c->run = atomic_access_select(c);
    if (!c->run) lowering_refuse(l);
}

void lower_access_copy(struct lowering *l, struct code_inst *c) {
    const char *text = l->inst->text;
    if (strncmp(text, "cp.async.mbarrier.", 18) == 0) {
        lower_mbarrier_copies(l, c);
        return;
    }
    if (strstr(text, ".bulk")) {
        lower_bulk(l, c);
        return;
    }
    c->run = move_select(c); /* does nothing, unless the form has addresses */
    if (strstr(text, "wait") || strstr(text, "commit")) return;
    c->space = PTX_SHARED;
    operand_address(l, ptx_operand_at(l->inst, 0), c);
    if (c->space != PTX_SHARED) lowering_refuse(l);
    c->b = operand_address_value(l, ptx_operand_at(l->inst, 1));
    const struct ptx_operand *size = ptx_operand_at(l->inst, 2), *from = ptx_operand_at(l->inst, 3);
    if (size->kind != PTX_OPND_IMM || (size->imm != 4 && size->imm != 8 && size->imm != 16)) {
        lowering_fail(l, ERR_INVALID_PTX, "copies 4, 8 or 16 bytes");
        return;
    }
    c->d_bytes = (uint8_t)size->imm;
    if (from->kind == PTX_OPND_REG && operand_reg_bytes(l, from) == LOWERING_PRED) {
        c->e = operand_source(l, from, LOWERING_PRED, false);
        c->c_neg = from->negated;
    } else if (from->kind != PTX_OPND_NONE && !strstr(text, "cache_hint")) {
        c->c = operand_source(l, from, 4, false);
    }
    c->run = isa_select_copy(c);
}
