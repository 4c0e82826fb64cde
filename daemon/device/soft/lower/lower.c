/* SPDX-License-Identifier: Apache-2.0
 *
 * One PTX instruction into one executable instruction (and now and then a helper before it). What
 * only computes is left to isa_select; the forms that move data, control and lanes are laid out
 * here, each group beside the fields its handler reads.
 */
#include "daemon/device/soft/lower/lower.h"

#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/exec/rendezvous.h"
#include "daemon/device/soft/exec/stack.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/lower_bulk.h"
#include "daemon/device/soft/lower/lower_cancel.h"
#include "daemon/device/soft/lower/lower_matrix.h"
#include "daemon/device/soft/lower/lower_mbarrier.h"
#include "daemon/device/soft/lower/lower_tensor_map.h"
#include "daemon/device/soft/lower/lower_texture.h"
#include "daemon/device/soft/lower/lower_wgmma.h"
#include "daemon/device/soft/lower/operand.h"
#include "daemon/device/soft/memory/atomics.h"
#include "daemon/device/soft/runtime/cdp.h"
#include "daemon/device/soft/runtime/devrt.h"
#include "daemon/device/soft/runtime/graph_call.h"

static void refuse(struct lowering *l) {
    lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "not supported by the software GPU");
}

/* `d` or the pair `d|p`. */
static void set_dest(struct lowering *l, struct code_inst *c, const struct ptx_operand *o) {
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
    if (bytes > 8) /* what has 128 bits is moved, loaded or exchanged */
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "a result of 128 bits is not supported here");
}

/* What is moved has the width of its type. */
static int32_t moved_dest(struct lowering *l, const struct ptx_operand *o, uint32_t bytes) {
    int32_t slot = operand_dest(l, o);
    if (!l->err && o->kind == PTX_OPND_REG && operand_reg_bytes(l, o) != bytes)
        lowering_fail(l, ERR_INVALID_PTX, "the destination has the wrong width");
    return slot;
}

/* ---- arithmetic --------------------------------------------------------------------------------
 */

/* Sources each operation needs at least; a handler may rely on their slots. */
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

/* add.f32.f16 and its kin. */
static bool mixes_widths(const struct ptx_inst *i) {
    bool one_type = i->op == PTX_OP_add || i->op == PTX_OP_sub || i->op == PTX_OP_fma;
    return one_type && i->type_count > 1;
}

/* A half as f32. */
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

/* d, a, c and d, a, b, c: all but the last are halves. */
static void emit_mixed(struct lowering *l, struct code_inst *c) {
    const uint32_t last = l->inst->op == PTX_OP_fma ? 3 : 2;
    int32_t *slots[] = {&c->a, &c->b, &c->c};
    if (l->inst->operand_count != last + 1)
        return lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    set_dest(l, c, ptx_operand_at(l->inst, 0));
    for (uint32_t k = 1; k < last; k++)
        *slots[k - 1] = widened(l, ptx_operand_at(l->inst, k), c->type2);
    *slots[last - 1] = operand_source(l, ptx_operand_at(l->inst, last), 4, false);
    if (l->err) return;
    c->type2 = PTX_NONE;
    c->a_bytes = 4;
    c->run = isa_select(c);
    if (!c->run) refuse(l);
}

static void emit_alu(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    int32_t *slots[] = {&c->a, &c->b, &c->c, &c->e};
    uint32_t need = count_sources(i);
    if (i->op == PTX_OP_UNKNOWN) {
        refuse(l);
        return;
    }
    if (mixes_widths(i)) return emit_mixed(l, c);
    set_dest(l, c, ptx_operand_at(i, 0));
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
    if (!c->run) refuse(l);
}

/* lop3 with d|p, whose p is what setp.ne says of the result, 0 and the last operand. */
static void emit_lop3(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    emit_alu(l, c);
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

/* cvt.rs of four: d, {a, b, e, f}, random bits; the list is in extra's uses. */
static void emit_fours(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *list = ptx_operand_at(l->inst, 1);
    struct code_extra *x = lowering_extra(l, c, 0, 4);
    if (!x) return;
    set_dest(l, c, ptx_operand_at(l->inst, 0));
    for (; x->use_count < 4 && x->use_count < list->elem_count; x->use_count++)
        x->uses[x->use_count] =
            (struct code_elem){operand_source(l, &list->elems[x->use_count], 4, false), 4};
    c->b = operand_source(l, ptx_operand_at(l->inst, 2), 4, false);
    if (x->use_count != 4) lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    if (l->err) return;
    c->run = isa_select(c);
    if (!c->run) refuse(l);
}

/* ---- moves -------------------------------------------------------------------------------------
 */

/* Packs {a, b, ...} into d, or unpacks a into {d, e, ...}: extra's uses or defs. */
static void emit_pack(struct lowering *l, struct code_inst *c, bool pack) {
    const struct ptx_operand *vec = ptx_operand_at(l->inst, pack);
    uint32_t total = operand_lane_bytes(c->type), n = vec->elem_count;
    if ((n != 2 && n != 4 && n != 8) || total % n) {
        refuse(l);
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

static bool emit_mov(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *d = ptx_operand_at(l->inst, 0), *a = ptx_operand_at(l->inst, 1);
    if (d->kind == PTX_OPND_VEC || a->kind == PTX_OPND_VEC) {
        emit_pack(l, c, a->kind == PTX_OPND_VEC);
        return true;
    }
    const uint32_t bytes = operand_lane_bytes(c->type);
    if ((a->kind == PTX_OPND_SREG || a->kind == PTX_OPND_VAR) && d->kind == PTX_OPND_REG) {
        int32_t dest = moved_dest(l, d, bytes);
        if (operand_emit_special(l, a, dest, bytes, c)) return false; /* all done */
    }
    if (bytes == 16) {
        c->d = moved_dest(l, d, bytes);
        c->a = operand_source(l, a, bytes, false);
        c->run = move_select(c);
    } else {
        emit_alu(l, c);
    }
    return true;
}

static void emit_cvta(struct lowering *l, struct code_inst *c) {
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

/* ---- memory ------------------------------------------------------------------------------------
 * ld: d or extra's defs, address in a and offset. st: value in b or extra's uses. What has 128 bits
 * is a vector of one. atom, red: value in b, second in c. The flags are in target.
 */

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

static void emit_access(struct lowering *l, struct code_inst *c, bool load) {
    const struct ptx_operand *value = ptx_operand_at(l->inst, load ? 0 : 1);
    struct ptx_operand elem = *value, one = {.kind = PTX_OPND_VEC, .elem_count = 1};
    uint32_t bytes = ptx_type_bytes(c->type), lane = operand_lane_bytes(c->type);
    if (c->type == PTX_PRED) {
        refuse(l);
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
        lowering_fail(l, ERR_INVALID_PTX, "outside the kernel's parameters");
    if (l->err) return;
    c->run = isa_select_access(c);
    if (!c->run) refuse(l);
}

/* {d}, [a], {b} of .v2 .v4 .v8: extra's defs and uses. */
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
    c->run = atomics_select(c);
    if (!c->run) refuse(l);
}

static void emit_atomic(struct lowering *l, struct code_inst *c, bool result) {
    uint32_t lane = operand_lane_bytes(c->type), k = result;
    if (l->inst->vec > 1) return emit_atomic_vector(l, c, result);
    if (c->type == PTX_PRED) {
        refuse(l);
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
    c->run = atomics_select(c);
    if (!c->run) refuse(l);
}

/* cp.async [to], [from], bytes{, count|ignored}: the fields are those of isa/memory/copy.c. */
static void emit_copy(struct lowering *l, struct code_inst *c) {
    const char *text = l->inst->text;
    if (strncmp(text, "cp.async.mbarrier.", 18) == 0) {
        lower_mbarrier_copies(l, c);
        return;
    }
    if (strstr(text, ".bulk")) {
        lower_bulk(l, c);
        return;
    }
    c->run = move_select(c); /* nothing to do, unless it has addresses */
    if (strstr(text, "wait") || strstr(text, "commit")) return;
    c->space = PTX_SHARED;
    operand_address(l, ptx_operand_at(l->inst, 0), c);
    if (c->space != PTX_SHARED) refuse(l);
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

/* ---- control -----------------------------------------------------------------------------------
 */

static void emit_branch(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *o = ptx_operand_at(l->inst, 0);
    if (o->kind != PTX_OPND_LABEL || o->target < 0 || (uint32_t)o->target > l->func->inst_count) {
        lowering_fail(l, ERR_INVALID_PTX, "a branch needs a label");
        return;
    }
    c->target = o->target;
}

static void emit_brx(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    struct code_extra *x = lowering_extra(l, c, 0, 0);
    if (!x) return;
    c->a = operand_source(l, ptx_operand_at(i, 0), 4, false);
    x->table = arena_calloc(l->arena, i->table_count + 1, sizeof(*x->table));
    if (!x->table || !i->table_count) {
        lowering_fail(l, x->table ? ERR_INVALID_PTX : -ENOMEM, "no table of targets");
        return;
    }
    x->table_count = i->table_count;
    for (uint32_t k = 0; k < i->table_count; k++) {
        x->table[k] = i->table[k];
        if (x->table[k] < 0 || (uint32_t)x->table[k] > l->func->inst_count)
            lowering_fail(l, ERR_INVALID_PTX, "a target lies outside the function");
    }
}

static void add_argument(struct lowering *l, const struct ptx_operand *o, uint32_t bytes, bool def,
                         struct code_extra *x, struct code_arg *arg) {
    if (o->var && (o->kind == PTX_OPND_VAR || o->kind == PTX_OPND_ADDR)) {
        if (operand_var_space(l, o->var) != PTX_LOCAL || o->reg > 0 || o->offset < 0 ||
            (uint64_t)o->offset > o->var->bytes) {
            lowering_fail(l, ERR_INVALID_PTX, "%s is not a .param variable here", o->var->name);
            return;
        }
        arg->offset = (uint32_t)(o->var->offset + (uint64_t)o->offset);
        arg->bytes = (uint32_t)(o->var->bytes - (uint64_t)o->offset);
        return;
    }
    uint32_t have = operand_reg_bytes(l, o);
    uint32_t lane = have ? have : bytes < 2 ? 2 : bytes > 8 && bytes != 16 ? 8 : bytes;
    arg->in_slot = true;
    arg->bytes = lane;
    arg->elem.bytes = (uint8_t)lane;
    if (def && o->kind == PTX_OPND_NONE)
        arg->elem.slot = CODE_NO_SLOT;
    else
        arg->elem.slot = operand_source(l, o, lane, false);
    if (def && arg->elem.slot < 0 && arg->elem.slot != CODE_NO_SLOT)
        lowering_fail(l, ERR_INVALID_PTX, "a result needs a register or a .param variable");
    if (def)
        x->defs[x->def_count++] = arg->elem;
    else
        x->uses[x->use_count++] = arg->elem;
}

static void undefined(struct lowering *l, const char *name) {
    if (native_is_cudas(name))
        lowering_fail(l, ERR_NOT_FOUND, "%s is not among the calls of CUDA's device runtime here",
                      name);
    else
        lowering_fail(l, ERR_NOT_FOUND, "%s is not defined anywhere", name);
}

/* (rets), func|reg, (args), prototype: what is absent has no kind. */
static void emit_call(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    const struct ptx_operand *rets = ptx_operand_at(i, 0), *callee = ptx_operand_at(i, 1),
                             *args = ptx_operand_at(i, 2);
    struct code_extra *x = lowering_extra(l, c, rets->elem_count, args->elem_count);
    if (!x) return;
    const struct ptx_func *proto = i->proto;
    if (callee->kind == PTX_OPND_FUNC && callee->func) {
        proto = callee->func;
        x->func = (int32_t)callee->func->index;
        x->native = native_find(callee->func);
        if (!callee->func->defined && !x->native) undefined(l, callee->func->name);
    } else {
        c->a = operand_source(l, callee, 8, false);
    }
    x->args = arena_calloc(l->arena, args->elem_count + 1, sizeof(*x->args));
    x->rets = arena_calloc(l->arena, rets->elem_count + 1, sizeof(*x->rets));
    if (!x->args || !x->rets) lowering_fail(l, -ENOMEM, "out of memory");
    for (uint32_t k = 0; k < args->elem_count && !l->err; k++) {
        uint64_t bytes = proto && k < proto->param_count ? proto->params[k]->bytes : 8;
        add_argument(l, &args->elems[k], (uint32_t)bytes, false, x, &x->args[x->arg_count++]);
    }
    for (uint32_t k = 0; k < rets->elem_count && !l->err; k++) {
        uint64_t bytes = proto && k < proto->ret_count ? proto->rets[k]->bytes : 8;
        add_argument(l, &rets->elems[k], (uint32_t)bytes, true, x, &x->rets[x->ret_count++]);
    }
    if (x->native)
        c->run = native_is_cdp(x->native)          ? cdp_call
                 : x->native == NATIVE_GraphLaunch ? graph_call
                                                   : devrt_call;
}

/* bar: id a, count b, predicate c, result d (LOWERING_PRED: d_bytes 0). */
static void emit_bar(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    if (strstr(i->text, ".cluster")) {
        c->target = CODE_CLUSTER_BARRIER;
        if (!strstr(i->text, ".arrive") && !strstr(i->text, ".wait")) refuse(l);
        c->vec = strstr(i->text, ".wait") ? 2 : 1;
        return;
    }
    uint32_t k = 0, last = i->operand_count;
    if (i->mods & PTX_MOD_RED) {
        if (last < 3) {
            lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
            return;
        }
        set_dest(l, c, &i->operands[k++]);
        const struct ptx_operand *p = &i->operands[--last];
        c->c = operand_source(l, p, LOWERING_PRED, false);
        c->c_neg = p->negated;
    }
    if (k < last) c->a = operand_source(l, &i->operands[k++], 4, false);
    if (k < last) c->b = operand_source(l, &i->operands[k++], 4, false);
    c->target = -1;
}

/* ---- lanes together: the member mask is in e, CODE_NO_SLOT for the forms without .sync ------- */
static void set_at_once(struct lowering *l, struct code_inst *c) {
    struct code_extra *x = lowering_extra(l, c, 0, 0);
    if (x) x->at_once = isa_select(c);
}

static void emit_rendezvous(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    uint32_t at = 1, width = 4;
    bool pair = i->op == PTX_OP_bar || i->op == PTX_OP_barrier;
    if (pair)
        at = 0;
    else
        set_dest(l, c, ptx_operand_at(i, 0));
    switch (i->op) {
    case PTX_OP_shfl:
        c->a = operand_source(l, ptx_operand_at(i, at++), 4, false);
        c->b = operand_source(l, ptx_operand_at(i, at++), 4, false);
        c->c = operand_source(l, ptx_operand_at(i, at++), 4, false);
        break;
    case PTX_OP_vote:
        width = LOWERING_PRED;
        /* fall through */
    case PTX_OP_match:
    case PTX_OP_redux:
        if (width) width = operand_lane_bytes(c->type);
        c->c_neg = ptx_operand_at(i, at)->negated;
        c->a = operand_source(l, ptx_operand_at(i, at++), width, false);
        c->a_bytes = (uint8_t)width;
        break;
    default: break;
    }
    bool narrow = ptx_type_bytes(c->type) == 4 && ptx_type_class(c->type) != 'f';
    if (i->op == PTX_OP_redux && c->type == PTX_F32) narrow = true;
    if ((i->op == PTX_OP_redux || i->op == PTX_OP_shfl) && !narrow) refuse(l);
    bool sync = (i->mods & PTX_MOD_SYNC) || pair || i->op == PTX_OP_elect;
    if (i->op == PTX_OP_activemask) sync = false;
    if (sync || ptx_operand_at(i, at)->kind != PTX_OPND_NONE)
        c->e = operand_source(l, ptx_operand_at(i, at), 4, false);
    if (l->err) return;
    if (i->op == PTX_OP_shfl) set_at_once(l, c);
    c->run = rendezvous_select(c);
    if (!c->run && !rendezvous_is(c)) refuse(l);
}

/* alloca d, size, align; stacksave d; stackrestore a. */
static void emit_stack(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    const struct ptx_operand *align = ptx_operand_at(i, 2);
    bool restores = i->op == PTX_OP_stackrestore;
    c->offset = align->kind == PTX_OPND_IMM ? (int64_t)align->imm : 8;
    if (c->offset < 1 || c->offset > 4096 || (c->offset & (c->offset - 1))) {
        lowering_fail(l, ERR_INVALID_PTX, "an alignment of %lld", (long long)c->offset);
        return;
    }
    if (!restores) set_dest(l, c, ptx_operand_at(i, 0));
    c->a_bytes = (uint8_t)ptx_type_bytes(c->type);
    if (i->op != PTX_OP_stacksave)
        c->a = operand_source(l, ptx_operand_at(i, restores ? 0 : 1), c->a_bytes, false);
    if (c->offset > l->local_align) l->local_align = (uint32_t)c->offset;
    l->stack = true;
    c->run = stack_select(c);
}

/* What move.c does as it stands; false: not one of these. */
static bool emit_plain(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *a = ptx_operand_at(l->inst, 1);
    uint32_t have = operand_reg_bytes(l, a);
    switch (l->inst->op) {
    case PTX_OP_mov:
    case PTX_OP_cvta: return false;
    case PTX_OP_isspacep:
        if (have && have != 8) refuse(l);
        set_dest(l, c, ptx_operand_at(l->inst, 0));
        c->a = operand_source(l, a, 8, false);
        break;
    case PTX_OP_mapa:
    case PTX_OP_getctarank:
        set_dest(l, c, ptx_operand_at(l->inst, 0));
        c->a_bytes = (uint8_t)operand_lane_bytes(c->type);
        c->a = operand_source(l, a, c->a_bytes, false);
        if (l->inst->op == PTX_OP_mapa)
            c->b = operand_source(l, ptx_operand_at(l->inst, 2), 4, false);
        break;
    case PTX_OP_createpolicy: set_dest(l, c, ptx_operand_at(l->inst, 0)); break;
    default: break;
    }
    if (l->err) return true;
    c->run = move_select(c);
    return c->run != NULL;
}

static void dispatch(struct lowering *l, struct code_inst *c) {
    switch (l->inst->op) {
    case PTX_OP_bra: emit_branch(l, c); break;
    case PTX_OP_brx: emit_brx(l, c); break;
    case PTX_OP_call: emit_call(l, c); break;
    case PTX_OP_ret:
    case PTX_OP_exit: break;
    case PTX_OP_red:
    case PTX_OP_st:
        if (lower_is_async(l->inst))
            lower_async(l, c);
        else if (lower_is_fill(l->inst))
            lower_fill(l, c);
        else if (l->inst->op == PTX_OP_red)
            emit_atomic(l, c, false);
        else
            emit_access(l, c, false);
        break;
    case PTX_OP_ld:
    case PTX_OP_ldu: emit_access(l, c, true); break;
    case PTX_OP_atom: emit_atomic(l, c, true); break;
    case PTX_OP_cp: emit_copy(l, c); break;
    case PTX_OP_lop3: emit_lop3(l, c); break;
    case PTX_OP_cvt:
        if (ptx_operand_at(l->inst, 1)->kind == PTX_OPND_VEC)
            emit_fours(l, c);
        else
            emit_alu(l, c);
        break;
    case PTX_OP_cvta: emit_cvta(l, c); break;
    case PTX_OP_alloca:
    case PTX_OP_stackrestore:
    case PTX_OP_stacksave: emit_stack(l, c); break;
    case PTX_OP_bar:
    case PTX_OP_barrier:
        if (!(l->inst->mods & PTX_MOD_WARP)) {
            emit_bar(l, c);
            break;
        }
        /* fall through */
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_elect:
    case PTX_OP_activemask: emit_rendezvous(l, c); break;
    case PTX_OP_clusterlaunchcontrol: lower_cancel(l, c); break;
    case PTX_OP_mbarrier: lower_mbarrier(l, c); break;
    case PTX_OP_tensormap: lower_tensor_map(l, c); break;
    case PTX_OP_ldmatrix:
    case PTX_OP_mma:
    case PTX_OP_movmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_wmma: lower_matrix(l, c); break;
    case PTX_OP_wgmma: lower_wgmma(l, c); break;
    case PTX_OP_istypep:
    case PTX_OP_suld:
    case PTX_OP_suq:
    case PTX_OP_sured:
    case PTX_OP_sust:
    case PTX_OP_tex:
    case PTX_OP_tld4:
    case PTX_OP_txq: lower_texture(l, c); break;
    default:
        if (!emit_plain(l, c)) emit_alu(l, c);
        break;
    }
}

/* Operations whose name says all. Every other one takes the widths of its operands from its type;
 * without one they would be zero, and so would what the access checks look at. */
static bool is_untyped(uint32_t op) {
    switch (op) {
    case PTX_OP_applypriority:
    case PTX_OP_bar:
    case PTX_OP_barrier:
    case PTX_OP_bra:
    case PTX_OP_brkpt:
    case PTX_OP_brx:
    case PTX_OP_call:
    case PTX_OP_cp:
    case PTX_OP_discard:
    case PTX_OP_elect:
    case PTX_OP_exit:
    case PTX_OP_fence:
    case PTX_OP_griddepcontrol:
    case PTX_OP_isspacep:
    case PTX_OP_ldmatrix:
    case PTX_OP_membar:
    case PTX_OP_mma:
    case PTX_OP_movmatrix:
    case PTX_OP_pmevent:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu:
    case PTX_OP_ret:
    case PTX_OP_stmatrix:
    case PTX_OP_tensormap:
    case PTX_OP_trap:
    case PTX_OP_wgmma:
    case PTX_OP_wmma: return true;
    default: return op == PTX_OP_UNKNOWN || ptx_texture_is(op);
    }
}

void lower_inst(struct lowering *l, const struct ptx_inst *i) {
    l->inst = i;
    struct code_inst c = {.op = i->op,
                          .type = i->types[0],
                          .type2 = i->type_count > 1 ? i->types[1] : PTX_NONE,
                          .space = i->space,
                          .round = i->round,
                          .cmp = i->cmp,
                          .sub = i->sub,
                          .sub2 = i->sub2,
                          .vec = i->vec,
                          .mods = i->mods,
                          .pred_neg = i->pred_neg,
                          .src = i};
    c.d = c.a = c.b = c.c = c.e = c.d2 = c.pred = CODE_NO_SLOT;
    if (c.type == PTX_NONE && !is_untyped(i->op) && !lower_is_fill(i)) {
        lowering_fail(l, ERR_INVALID_PTX, "the instruction names no type");
        return;
    }
    if (i->pred >= 0) {
        struct ptx_operand p = {.kind = PTX_OPND_REG, .reg = i->pred};
        c.pred = operand_source(l, &p, LOWERING_PRED, false);
    }
    if (i->op == PTX_OP_mov) {
        if (!emit_mov(l, &c)) return;
    } else {
        dispatch(l, &c);
    }
    lowering_emit(l, &c);
}
