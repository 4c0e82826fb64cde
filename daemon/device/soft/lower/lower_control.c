/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers control flow. Calls of CUDA's device runtime are recognised by name.
 */
#include "daemon/device/soft/lower/lower_control.h"

#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/exec/rendezvous.h"
#include "daemon/device/soft/exec/stack.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/operand.h"
#include "daemon/device/soft/runtime/cdp.h"
#include "daemon/device/soft/runtime/devrt.h"
#include "daemon/device/soft/runtime/graph_call.h"

void lower_control_branch(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *o = ptx_operand_at(l->inst, 0);
    if (o->kind != PTX_OPND_LABEL || o->target < 0 || (uint32_t)o->target > l->func->inst_count) {
        lowering_fail(l, ERR_INVALID_PTX, "a branch needs a label");
        return;
    }
    c->target = o->target;
}

void lower_control_table(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    struct code_extra *x = lowering_extra(l, c, 0, 0);
    if (!x) return;
    c->a = operand_source(l, ptx_operand_at(i, 0), 4, false);
    x->table = arena_calloc(l->arena, i->table_count + 1, sizeof(*x->table));
    if (!x->table || !i->table_count) {
        lowering_fail(l, x->table ? ERR_INVALID_PTX : -ENOMEM,
                      "the branch has no table of targets");
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
            lowering_fail(
                l, ERR_INVALID_PTX,
                "the argument %s of a call must be a .param variable, at an offset within it",
                o->var->name);
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
        lowering_fail(l, ERR_NOT_FOUND, "%s is undefined", name);
}

void lower_control_call(struct lowering *l, struct code_inst *c) {
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

void lower_control_barrier(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    if (strstr(i->text, ".cluster")) {
        c->target = CODE_CLUSTER_BARRIER;
        if (!strstr(i->text, ".arrive") && !strstr(i->text, ".wait")) lowering_refuse(l);
        c->vec = strstr(i->text, ".wait") ? 2 : 1;
        return;
    }
    uint32_t k = 0, last = i->operand_count;
    if (i->mods & PTX_MOD_RED) {
        if (last < 3) {
            lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
            return;
        }
        operand_dest_or_pair(l, c, &i->operands[k++]);
        const struct ptx_operand *p = &i->operands[--last];
        c->c = operand_source(l, p, LOWERING_PRED, false);
        c->c_neg = p->negated;
    }
    if (k < last) c->a = operand_source(l, &i->operands[k++], 4, false);
    if (k < last) c->b = operand_source(l, &i->operands[k++], 4, false);
    c->target = -1;
}

static void set_at_once(struct lowering *l, struct code_inst *c) {
    struct code_extra *x = lowering_extra(l, c, 0, 0);
    if (x) x->at_once = isa_select(c);
}

void lower_control_rendezvous(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    uint32_t at = 1, width = 4;
    bool pair = i->op == PTX_OP_bar || i->op == PTX_OP_barrier;
    if (pair)
        at = 0;
    else
        operand_dest_or_pair(l, c, ptx_operand_at(i, 0));
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
    if ((i->op == PTX_OP_redux || i->op == PTX_OP_shfl) && !narrow) lowering_refuse(l);
    bool sync = (i->mods & PTX_MOD_SYNC) || pair || i->op == PTX_OP_elect;
    if (i->op == PTX_OP_activemask) sync = false;
    if (sync || ptx_operand_at(i, at)->kind != PTX_OPND_NONE)
        c->e = operand_source(l, ptx_operand_at(i, at), 4, false);
    if (l->err) return;
    if (i->op == PTX_OP_shfl) set_at_once(l, c);
    c->run = rendezvous_select(c);
    if (!c->run && !rendezvous_is(c)) lowering_refuse(l);
}

void lower_control_stack(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    const struct ptx_operand *align = ptx_operand_at(i, 2);
    bool restores = i->op == PTX_OP_stackrestore;
    c->offset = align->kind == PTX_OPND_IMM ? (int64_t)align->imm : 8;
    if (c->offset < 1 || c->offset > 4096 || (c->offset & (c->offset - 1))) {
        lowering_fail(l, ERR_INVALID_PTX, "the alignment %lld is not supported",
                      (long long)c->offset);
        return;
    }
    if (!restores) operand_dest_or_pair(l, c, ptx_operand_at(i, 0));
    c->a_bytes = (uint8_t)ptx_type_bytes(c->type);
    if (i->op != PTX_OP_stacksave)
        c->a = operand_source(l, ptx_operand_at(i, restores ? 0 : 1), c->a_bytes, false);
    if (c->offset > l->local_align) l->local_align = (uint32_t)c->offset;
    l->stack = true;
    c->run = stack_select(c);
}
