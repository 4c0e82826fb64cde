/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of one build: finds the family of handlers for an operation.
 */
#include "daemon/device/soft/isa/arithmetic/isa.h"

/* Picks a handler for arithmetic that exists for integers, f32 and f64, halves and packed
 * integers. */
static code_handler *pick_arithmetic(const struct code_inst *i) {
    if (i->type == PTX_F32X2) return ISA_FN(pair_select)(i);
    if (i->round > PTX_RN) return ISA_FN(directed_select)(i);
    switch (i->type) {
    case PTX_F32:
    case PTX_F64: return ISA_FN(real_select)(i);
    case PTX_F16:
    case PTX_F16X2:
    case PTX_BF16:
    case PTX_BF16X2: return ISA_FN(half_select)(i);
    case PTX_U16X2:
    case PTX_S16X2: return ISA_FN(packed_select)(i);
    default:
        if (i->mods & PTX_MOD_CC) return ISA_FN(carry_select)(i);
        if (i->op == PTX_OP_div || i->op == PTX_OP_rem) return ISA_FN(divide_select)(i);
        return ISA_FN(integer_select)(i);
    }
}

static code_handler *pick_video(const struct code_inst *i) {
    switch (i->op) {
    case PTX_OP_dp2a:
    case PTX_OP_dp4a:
    case PTX_OP_vabsdiff:
    case PTX_OP_vabsdiff2:
    case PTX_OP_vabsdiff4:
    case PTX_OP_vadd:
    case PTX_OP_vadd2:
    case PTX_OP_vadd4:
    case PTX_OP_vavrg2:
    case PTX_OP_vavrg4:
    case PTX_OP_vmad:
    case PTX_OP_vmax:
    case PTX_OP_vmax2:
    case PTX_OP_vmax4:
    case PTX_OP_vmin:
    case PTX_OP_vmin2:
    case PTX_OP_vmin4:
    case PTX_OP_vset:
    case PTX_OP_vset2:
    case PTX_OP_vset4:
    case PTX_OP_vshl:
    case PTX_OP_vshr:
    case PTX_OP_vsub:
    case PTX_OP_vsub2:
    case PTX_OP_vsub4: return ISA_FN(video_select)(i);
    default: return NULL;
    }
}

code_handler *ISA_FN(table_select)(const struct code_inst *i) {
    switch (i->op) {
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mul:
    case PTX_OP_mad:
    case PTX_OP_fma:
    case PTX_OP_div:
    case PTX_OP_rem:
    case PTX_OP_mul24:
    case PTX_OP_mad24:
    case PTX_OP_sad:
    case PTX_OP_abs:
    case PTX_OP_neg:
    case PTX_OP_min:
    case PTX_OP_max:
    case PTX_OP_copysign:
    case PTX_OP_testp: return pick_arithmetic(i);
    case PTX_OP_rcp:
    case PTX_OP_sqrt:
        if (i->mods & PTX_MOD_APPROX) return ISA_FN(approx_select)(i);
        return pick_arithmetic(i);
    case PTX_OP_rsqrt:
    case PTX_OP_ex2:
    case PTX_OP_lg2:
    case PTX_OP_sin:
    case PTX_OP_cos:
    case PTX_OP_tanh: return ISA_FN(approx_select)(i);
    case PTX_OP_addc:
    case PTX_OP_subc:
    case PTX_OP_madc: return ISA_FN(carry_select)(i);
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_xor:
    case PTX_OP_not:
    case PTX_OP_cnot:
    case PTX_OP_shl:
    case PTX_OP_shr:
    case PTX_OP_mov:
    case PTX_OP_selp:
    case PTX_OP_slct: return ISA_FN(logic_select)(i);
    case PTX_OP_lop3:
    case PTX_OP_shf:
    case PTX_OP_brev:
    case PTX_OP_bfe:
    case PTX_OP_bfi:
    case PTX_OP_bfind:
    case PTX_OP_bmsk:
    case PTX_OP_fns:
    case PTX_OP_clz:
    case PTX_OP_popc:
    case PTX_OP_prmt:
    case PTX_OP_szext: return ISA_FN(bits_select)(i);
    case PTX_OP_set:
    case PTX_OP_setp: return ISA_FN(compare_select)(i);
    case PTX_OP_cvt: return ISA_FN(convert_select)(i);
    case PTX_OP_shfl: return ISA_FN(shuffle_select)(i);
    default: return pick_video(i);
    }
}
