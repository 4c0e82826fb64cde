/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt between the types that programs convert all the time, when the registers are as wide as the
 * types and no clamping is asked for. Same results as convert.c's general way.
 */
#include "daemon/device/soft/isa/convert.h"
#include "daemon/device/soft/isa/half.h"
#include "daemon/device/soft/isa/real.h"

/* Integer to integer: `as` is the type the register's bits are taken for. 8-bit types live in
 * 16-bit registers, so the destination register is written through its own width. */
#define FAST_INTEGER(from, as, source, to, type, dest) \
    ISA_OP1(ISA_LANES, fast_##from##_##to, dest, source, (type)(as)x)
#define FAST_TO_ALL(from, as, source)                      \
    FAST_INTEGER(from, as, source, u8, uint8_t, uint16_t)  \
    FAST_INTEGER(from, as, source, s8, int8_t, int16_t)    \
    FAST_INTEGER(from, as, source, 16, uint16_t, uint16_t) \
    FAST_INTEGER(from, as, source, 32, uint32_t, uint32_t) \
    FAST_INTEGER(from, as, source, 64, uint64_t, uint64_t)
FAST_TO_ALL(u8, uint8_t, uint16_t)
FAST_TO_ALL(s8, int8_t, uint16_t)
FAST_TO_ALL(u16, uint16_t, uint16_t)
FAST_TO_ALL(s16, int16_t, uint16_t)
FAST_TO_ALL(u32, uint32_t, uint32_t)
FAST_TO_ALL(s32, int32_t, uint32_t)
FAST_TO_ALL(u64, uint64_t, uint64_t)
FAST_TO_ALL(s64, int64_t, uint64_t)

enum { FAST_TYPES = PTX_TYPE_COUNT };
#define FAST_ROW(from)                                                                            \
    {                                                                                             \
        [PTX_U8] = fast_##from##_u8, [PTX_S8] = fast_##from##_s8, [PTX_U16] = fast_##from##_16,   \
        [PTX_S16] = fast_##from##_16, [PTX_U32] = fast_##from##_32, [PTX_S32] = fast_##from##_32, \
        [PTX_U64] = fast_##from##_64, [PTX_S64] = fast_##from##_64,                               \
    }
static code_handler *const fast_integer[FAST_TYPES][FAST_TYPES] = {
    [PTX_U8] = FAST_ROW(u8),   [PTX_S8] = FAST_ROW(s8),   [PTX_U16] = FAST_ROW(u16),
    [PTX_S16] = FAST_ROW(s16), [PTX_U32] = FAST_ROW(u32), [PTX_S32] = FAST_ROW(s32),
    [PTX_U64] = FAST_ROW(u64), [PTX_S64] = FAST_ROW(s64),
};

/* Real, to nearest. */
ISA_OP1(ISA_LANES, fast_f32_s32, float, int32_t, x)
ISA_OP1(ISA_LANES, fast_f32_u32, float, uint32_t, x)
ISA_OP1(ISA_LANES, fast_f64_s32, double, int32_t, x)
ISA_OP1(ISA_LANES, fast_f64_u32, double, uint32_t, x)
ISA_OP1(ISA_LANES, fast_f64_s64, double, int64_t, x)
ISA_OP1(ISA_LANES, fast_f64_u64, double, uint64_t, x)
ISA_OP1(ISA_LANES, fast_f64_f32, double, float, real_nan64((double)x))
ISA_OP1(ISA_LANES, fast_f64_f32z, double, float, real_nan64((double)real_flush(x)))
ISA_OP1(ISA_LANES, fast_f32_f64, float, double, real_nan32((float)x))
ISA_OP1(ISA_LANES, fast_f32_f64z, float, double, real_flush(real_nan32((float)x)))
ISA_OP1(ISA_LANES, fast_f32_f16, float, uint16_t, real_nan32(half_from_f16(x)))
ISA_OP1(ISA_LANES, fast_f32_bf16, float, uint16_t, real_nan32(half_from_bf16(x)))
ISA_OP1(ISA_LANES, fast_f16_f32, uint16_t, float, half_to_f16((double)x))
ISA_OP1(ISA_LANES, fast_bf16_f32, uint16_t, float, half_to_bf16((double)x))

/* Real to integer, towards zero: clamped in double, where 32 bits are exact; NaN as PTX says. */
static inline uint32_t saturate_u32(double x) {
    const double low = x > 0 ? x : 0;
    return (uint32_t)(int64_t)(low < 0xffffffffp0 ? low : 0xffffffffp0);
}
static inline int32_t saturate_s32(double x) {
    const double low = x > -0x1p31 ? x : -0x1p31;
    return (int32_t)(low < 0x7fffffffp0 ? low : 0x7fffffffp0);
}
ISA_OP1(ISA_LANES, fast_s32_f32, int32_t, float, x == x ? saturate_s32((double)x) : 0)
ISA_OP1(ISA_LANES, fast_u32_f32, uint32_t, float, saturate_u32((double)x))
ISA_OP1(ISA_LANES, fast_s32_f64, int32_t, double, saturate_s32(x))
ISA_OP1(ISA_LANES, fast_u32_f64, uint32_t, double, x == x ? saturate_u32(x) : 1u << 31)

#define FAST_PAIR(to, from) ((to) << 8 | (from))

static code_handler *pick_to_real(const struct code_inst *i) {
    const bool ftz = i->mods & PTX_MOD_FTZ;
    if (i->round > PTX_RN) return NULL;
    switch (FAST_PAIR(i->type, i->type2)) {
    case FAST_PAIR(PTX_F32, PTX_S32): return fast_f32_s32;
    case FAST_PAIR(PTX_F32, PTX_U32): return fast_f32_u32;
    case FAST_PAIR(PTX_F64, PTX_S32): return fast_f64_s32;
    case FAST_PAIR(PTX_F64, PTX_U32): return fast_f64_u32;
    case FAST_PAIR(PTX_F64, PTX_S64): return fast_f64_s64;
    case FAST_PAIR(PTX_F64, PTX_U64): return fast_f64_u64;
    case FAST_PAIR(PTX_F64, PTX_F32): return ftz ? fast_f64_f32z : fast_f64_f32;
    case FAST_PAIR(PTX_F32, PTX_F64): return ftz ? fast_f32_f64z : fast_f32_f64;
    case FAST_PAIR(PTX_F32, PTX_F16): return ftz ? NULL : fast_f32_f16;
    case FAST_PAIR(PTX_F32, PTX_BF16): return ftz ? NULL : fast_f32_bf16;
    case FAST_PAIR(PTX_F16, PTX_F32): return ftz ? NULL : fast_f16_f32;
    case FAST_PAIR(PTX_BF16, PTX_F32): return ftz ? NULL : fast_bf16_f32;
    default: return NULL;
    }
}

/* Truncation makes .ftz pointless here. */
static code_handler *pick_to_integer(const struct code_inst *i) {
    if (i->round != PTX_RZI) return NULL;
    switch (FAST_PAIR(i->type, i->type2)) {
    case FAST_PAIR(PTX_S32, PTX_F32): return fast_s32_f32;
    case FAST_PAIR(PTX_U32, PTX_F32): return fast_u32_f32;
    case FAST_PAIR(PTX_S32, PTX_F64): return fast_s32_f64;
    case FAST_PAIR(PTX_U32, PTX_F64): return fast_u32_f64;
    default: return NULL;
    }
}

static bool fits_register(uint8_t register_bytes, uint8_t type) {
    const uint32_t bytes = ptx_type_bytes(type) < 2 ? 2 : ptx_type_bytes(type);
    return register_bytes <= bytes;
}

ISA_FAMILY(convert_fast) {
    const bool from_real = ptx_type_class(i->type2) == 'f',
               to_real = ptx_type_class(i->type) == 'f';
    if (i->mods & (PTX_MOD_SAT | PTX_MOD_RELU | PTX_MOD_SATFINITE)) return NULL;
    if (!fits_register(i->d_bytes, i->type) || !fits_register(i->a_bytes, i->type2)) return NULL;
    if (to_real) return pick_to_real(i);
    return from_real ? pick_to_integer(i) : fast_integer[i->type2][i->type];
}
