/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference's entry: selects the part of the reference that an instruction belongs to.
 */
#include "test/lib/alu/aluref.h"
#include "daemon/device/soft/instructions/ptx_tables.h"

static bool is_real(enum ptx_type t) {
    return ptx_type_class(t) == 'f' || t == PTX_F16X2 || t == PTX_BF16X2 || t == PTX_F32X2;
}

bool aluref_run(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    r->ulps = 0;
    switch (i->op) {
    case PTX_OP_cvt: return aluref_convert(r);
    case PTX_OP_set:
    case PTX_OP_setp: return aluref_compare(r);
    case PTX_OP_addc:
    case PTX_OP_subc:
    case PTX_OP_madc: return aluref_carry(r);
    case PTX_OP_mov:
    case PTX_OP_selp:
    case PTX_OP_slct: return aluref_bits(r);
    default: break;
    }
    if (is_real(i->types[0])) return aluref_arithmetic(r);
    if (i->mods & PTX_MOD_CC) return aluref_carry(r);
    return aluref_integer(r) || aluref_bits(r) || aluref_video(r);
}
