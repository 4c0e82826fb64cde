/* SPDX-License-Identifier: Apache-2.0
 *
 * Bitwise logic on registers and on predicates, shifts, plain mov and selp, slct: operations that
 * depend only on the width.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

/* Shift amounts are 32 bits wide and clamp at the width of the type. */
#define LOGIC_WIDTH(bits)                                                                        \
    ISA_OP2(ISA_LANES, bit_and##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x &y)      \
    ISA_OP2(ISA_LANES, bit_or##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x | y)      \
    ISA_OP2(ISA_LANES, bit_xor##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x ^ y)     \
    ISA_OP1(ISA_LANES, bit_not##bits, uint##bits##_t, uint##bits##_t, ~x)                        \
    ISA_OP1(ISA_LANES, bit_cnot##bits, uint##bits##_t, uint##bits##_t, x == 0)                   \
    ISA_OP1(ISA_LANES, mov##bits, uint##bits##_t, uint##bits##_t, x)                             \
    ISA_OP2(ISA_LANES, shl##bits, uint##bits##_t, uint##bits##_t, uint32_t,                      \
            y < bits ? (uint64_t)x << (y & (bits - 1)) : 0)                                      \
    ISA_OP2(ISA_LANES, shr_u##bits, uint##bits##_t, uint##bits##_t, uint32_t,                    \
            y < bits ? x >> (y & (bits - 1)) : 0)                                                \
    ISA_OP2(ISA_LANES, shr_s##bits, int##bits##_t, int##bits##_t, uint32_t,                      \
            x >> (y < bits ? y : bits - 1))                                                      \
    ISA_HANDLER(selp##bits) {                                                                    \
        uint##bits##_t *d = SLOT(uint##bits##_t, w, i->d);                                       \
        const uint##bits##_t *a = SLOT(const uint##bits##_t, w, i->a);                           \
        const uint##bits##_t *b = SLOT(const uint##bits##_t, w, i->b);                           \
        const uint32_t p = code_pred(w, i->c) ^ (i->c_neg ? ISA_FULL : 0);                       \
        ISA_LANES(mask, uint##bits##_t, d, v = p >> l & 1 ? a[l] : b[l];);                       \
    }                                                                                            \
    ISA_OP3(ISA_LANES, slct_s##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, int32_t,    \
            z >= 0 ? x : y)                                                                      \
    ISA_OP3(ISA_LANES, slct_f##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, float,      \
            z >= 0 ? x : y) /* NaN selects b; -0 counts as 0, and so does a flushed subnormal */ \
    ISA_OP3(ISA_LANES, slct_z##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, float,      \
            z > -0x1p-126f ? x : y)
LOGIC_WIDTH(16)
LOGIC_WIDTH(32)
LOGIC_WIDTH(64)

/* Predicates: each is one mask. */
#define LOGIC_PRED(name, expr)                 \
    ISA_HANDLER(name) {                        \
        uint32_t *d = SLOT(uint32_t, w, i->d); \
        const uint32_t x = code_pred(w, i->a); \
        *d = (*d & ~mask) | ((expr)&mask);     \
    }
#define LOGIC_PRED2(name, expr)                                            \
    ISA_HANDLER(name) {                                                    \
        uint32_t *d = SLOT(uint32_t, w, i->d);                             \
        const uint32_t x = code_pred(w, i->a);                             \
        const uint32_t y = code_pred(w, i->b) ^ (i->c_neg ? ISA_FULL : 0); \
        *d = (*d & ~mask) | ((expr)&mask);                                 \
    }
LOGIC_PRED(mov_pred, x ^ (i->c_neg ? ISA_FULL : 0))
LOGIC_PRED(not_pred, ~(x ^ (i->c_neg ? ISA_FULL : 0)))
LOGIC_PRED2(and_pred, x &y)
LOGIC_PRED2(or_pred, x | y)
LOGIC_PRED2(xor_pred, x ^ y)

#define LOGIC_BY_WIDTH(bytes, stem) \
    ((bytes) == 2 ? stem##16 : (bytes) == 4 ? stem##32 : (bytes) == 8 ? stem##64 : NULL)

static code_handler *pick_predicate(const struct code_inst *i) {
    switch (i->op) {
    case PTX_OP_mov: return mov_pred;
    case PTX_OP_not: return not_pred;
    case PTX_OP_and: return and_pred;
    case PTX_OP_or: return or_pred;
    case PTX_OP_xor: return xor_pred;
    default: return NULL;
    }
}

static code_handler *pick_slct(const struct code_inst *i, uint32_t bytes) {
    if (i->type2 == PTX_S32) return LOGIC_BY_WIDTH(bytes, slct_s);
    if (i->type2 != PTX_F32) return NULL;
    return i->mods & PTX_MOD_FTZ ? LOGIC_BY_WIDTH(bytes, slct_z) : LOGIC_BY_WIDTH(bytes, slct_f);
}

ISA_FAMILY(logic_select) {
    const uint32_t bytes = ptx_type_bytes(i->type);
    const bool sign = ptx_type_class(i->type) == 's';
    if (i->type == PTX_PRED) return pick_predicate(i);
    switch (i->op) {
    case PTX_OP_mov: return LOGIC_BY_WIDTH(bytes, mov);
    case PTX_OP_and: return LOGIC_BY_WIDTH(bytes, bit_and);
    case PTX_OP_or: return LOGIC_BY_WIDTH(bytes, bit_or);
    case PTX_OP_xor: return LOGIC_BY_WIDTH(bytes, bit_xor);
    case PTX_OP_not: return LOGIC_BY_WIDTH(bytes, bit_not);
    case PTX_OP_cnot: return LOGIC_BY_WIDTH(bytes, bit_cnot);
    case PTX_OP_shl: return LOGIC_BY_WIDTH(bytes, shl);
    case PTX_OP_shr: return sign ? LOGIC_BY_WIDTH(bytes, shr_s) : LOGIC_BY_WIDTH(bytes, shr_u);
    case PTX_OP_selp: return LOGIC_BY_WIDTH(bytes, selp);
    case PTX_OP_slct: return pick_slct(i, bytes);
    default: return NULL;
    }
}
