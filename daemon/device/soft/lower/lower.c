/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers one PTX instruction to one executable instruction, sometimes with others before it (wgmma
 * becomes many). The file of the instruction's group does the work.
 */
#include "daemon/device/soft/lower/lower.h"

#include "common/err.h"
#include "daemon/device/soft/lower/lower_access.h"
#include "daemon/device/soft/lower/lower_alu.h"
#include "daemon/device/soft/lower/lower_bulk.h"
#include "daemon/device/soft/lower/lower_cancel.h"
#include "daemon/device/soft/lower/lower_control.h"
#include "daemon/device/soft/lower/lower_matrix.h"
#include "daemon/device/soft/lower/lower_mbarrier.h"
#include "daemon/device/soft/lower/lower_move.h"
#include "daemon/device/soft/lower/lower_tensor_map.h"
#include "daemon/device/soft/lower/lower_texture.h"
#include "daemon/device/soft/lower/lower_wgmma.h"
#include "daemon/device/soft/lower/operand.h"

static void dispatch(struct lowering *l, struct code_inst *c) {
    switch (l->inst->op) {
    case PTX_OP_bra: lower_control_branch(l, c); break;
    case PTX_OP_brx: lower_control_table(l, c); break;
    case PTX_OP_call: lower_control_call(l, c); break;
    case PTX_OP_ret:
    case PTX_OP_exit: break;
    case PTX_OP_red:
    case PTX_OP_st:
        if (lower_is_async(l->inst))
            lower_async(l, c);
        else if (lower_is_fill(l->inst))
            lower_fill(l, c);
        else if (l->inst->op == PTX_OP_red)
            lower_access_atomic(l, c, false);
        else
            lower_access(l, c, false);
        break;
    case PTX_OP_ld:
    case PTX_OP_ldu: lower_access(l, c, true); break;
    case PTX_OP_atom: lower_access_atomic(l, c, true); break;
    case PTX_OP_cp: lower_access_copy(l, c); break;
    case PTX_OP_lop3: lower_alu_lop3(l, c); break;
    case PTX_OP_cvt:
        if (ptx_operand_at(l->inst, 1)->kind == PTX_OPND_VEC)
            lower_alu_fours(l, c);
        else
            lower_alu(l, c);
        break;
    case PTX_OP_cvta: lower_move_cvta(l, c); break;
    case PTX_OP_alloca:
    case PTX_OP_stackrestore:
    case PTX_OP_stacksave: lower_control_stack(l, c); break;
    case PTX_OP_bar:
    case PTX_OP_barrier:
        if (!(l->inst->mods & PTX_MOD_WARP)) {
            lower_control_barrier(l, c);
            break;
        }
        /* fall through */
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_elect:
    case PTX_OP_activemask: lower_control_rendezvous(l, c); break;
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
        if (!lower_move_plain(l, c)) lower_alu(l, c);
        break;
    }
}

/* True for operations without a type. Every other one takes the widths of its operands from its
 * type; without a type the widths would be zero, and the access checks would check nothing. */
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
        if (!lower_move(l, &c)) return;
    } else {
        dispatch(l, &c);
    }
    lowering_emit(l, &c);
}
