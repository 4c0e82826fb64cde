/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt between common types, when the registers are as wide as the types and no clamping is asked
 * for. The results equal those of the general way in convert.c.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/convert.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

/* Integer to integer. `as` is the type as which the register's bits are read. 8-bit types live in
 * 16-bit registers, so the destination is written at the width of its register. */
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

/* Narrow integers in 32-bit registers. */
FAST_TO_ALL(wide_u8, uint8_t, uint32_t)
FAST_TO_ALL(wide_s8, int8_t, uint32_t)
FAST_TO_ALL(wide_u16, uint16_t, uint32_t)
FAST_TO_ALL(wide_s16, int16_t, uint32_t)

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

static code_handler *const fast_wide[FAST_TYPES][FAST_TYPES] = {
    [PTX_U8] = FAST_ROW(wide_u8),
    [PTX_S8] = FAST_ROW(wide_s8),
    [PTX_U16] = FAST_ROW(wide_u16),
    [PTX_S16] = FAST_ROW(wide_s16),
};

/* Conversions to real, rounded to nearest. */
ISA_OP1(ISA_LANES, fast_f32_s32, float, int32_t, x)
ISA_OP1(ISA_LANES, fast_f32_u32, float, uint32_t, x)
ISA_OP1(ISA_LANES, fast_f32_s64, float, int64_t, x)
ISA_OP1(ISA_LANES, fast_f32_u64, float, uint64_t, x)
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

/* Real to integer, towards zero: clamped in double, where 32 bits are exact. NaN as in PTX. */
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

/* Clamps to 64 bits. NaN becomes 1 << 63. */
static inline int64_t saturate_s64(double x) {
    const double low = x > -0x1p63 ? x : -0x1p63;
    const int64_t within = (int64_t)(low < 0x1p63 ? low : 0);
    return low < 0x1p63 ? within : INT64_MAX;
}
ISA_OP1(ISA_LANES, fast_s64_f32, int64_t, float, saturate_s64((double)x))
ISA_OP1(ISA_LANES, fast_s64_f64, int64_t, double, saturate_s64(x))

/* Rounds a real to an integral number of the same type. Adding a number that leaves no place for a
 * fraction rounds to nearest; the other modes differ from this by at most one. Larger numbers have
 * no fraction. */
#define FAST_WHOLE(bits, type, room, fabs, copysign)                      \
    static inline type nearest##bits(type x) {                            \
        const type whole = copysign(room, x), near = (x + whole) - whole; \
        return fabs(x) < (room) ? copysign(near, x) : x;                  \
    }                                                                     \
    static inline type below##bits(type x) {                              \
        const type near = nearest##bits(x);                               \
        return copysign(near > x ? near - 1 : near, x);                   \
    }                                                                     \
    static inline type above##bits(type x) {                              \
        return -below##bits(-x);                                          \
    }                                                                     \
    static inline type inward##bits(type x) {                             \
        return copysign(below##bits(fabs(x)), x);                         \
    }
FAST_WHOLE(32, float, 0x1p23f, __builtin_fabsf, __builtin_copysignf)
FAST_WHOLE(64, double, 0x1p52, __builtin_fabs, __builtin_copysign)

#define FAST_ROUNDED(mode, fn)                                                              \
    ISA_OP1(ISA_LANES, fast_##mode##_f32, float, float, real_nan32(fn##32(x)))              \
    ISA_OP1(ISA_LANES, fast_##mode##_f32z, float, float, real_nan32(fn##32(real_flush(x)))) \
    ISA_OP1(ISA_LANES, fast_##mode##_f64, double, double, real_nan64(fn##64(x)))            \
    ISA_OP1(ISA_LANES, fast_##mode##_s32, int32_t, float,                                   \
            x == x ? saturate_s32((double)fn##32(x)) : 0)                                   \
    ISA_OP1(ISA_LANES, fast_##mode##_s32z, int32_t, float,                                  \
            x == x ? saturate_s32((double)fn##32(real_flush(x))) : 0)                       \
    ISA_OP1(ISA_LANES, fast_##mode##_s32_f64, int32_t, double, saturate_s32(fn##64(x)))
FAST_ROUNDED(rni, nearest)
FAST_ROUNDED(rmi, below)
FAST_ROUNDED(rpi, above)
FAST_ROUNDED(rzi, inward)

ISA_OP1(ISA_LANES, fast_sat_f32, float, float, real_sat(x))
ISA_OP1(ISA_LANES, fast_sat_f32z, float, float, real_sat(real_flush(x)))

#define FAST_PAIR(to, from) ((to) << 8 | (from))

static code_handler *pick_to_real(const struct code_inst *i) {
    const bool ftz = i->mods & PTX_MOD_FTZ;
    if (i->round > PTX_RN) return NULL;
    switch (FAST_PAIR(i->type, i->type2)) {
    case FAST_PAIR(PTX_F32, PTX_S32): return fast_f32_s32;
    case FAST_PAIR(PTX_F32, PTX_U32): return fast_f32_u32;
    case FAST_PAIR(PTX_F32, PTX_S64): return fast_f32_s64;
    case FAST_PAIR(PTX_F32, PTX_U64): return fast_f32_u64;
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

/* Picks a handler that rounds to an integer. */
static code_handler *pick_rounded(const struct code_inst *i) {
    const bool ftz = i->mods & PTX_MOD_FTZ;
#define FAST_MODES(form)                                                                       \
    {                                                                                          \
        [PTX_RNI] = fast_rni_##form, [PTX_RZI] = fast_rzi_##form, [PTX_RMI] = fast_rmi_##form, \
        [PTX_RPI] = fast_rpi_##form,                                                           \
    }
    static code_handler *const f32[] = FAST_MODES(f32), *const f32z[] = FAST_MODES(f32z),
                               *const f64[] = FAST_MODES(f64), *const s32[] = FAST_MODES(s32),
                               *const s32z[] = FAST_MODES(s32z),
                               *const s32_f64[] = FAST_MODES(s32_f64);
    if (i->round < PTX_RNI || i->round > PTX_RPI) return NULL;
    switch (FAST_PAIR(i->type, i->type2)) {
    case FAST_PAIR(PTX_F32, PTX_F32): return (ftz ? f32z : f32)[i->round];
    case FAST_PAIR(PTX_F64, PTX_F64): return f64[i->round];
    case FAST_PAIR(PTX_S32, PTX_F32): return (ftz ? s32z : s32)[i->round];
    case FAST_PAIR(PTX_S32, PTX_F64): return s32_f64[i->round];
    default: return NULL;
    }
}

/* Truncation makes .ftz pointless here. */
static code_handler *pick_to_integer(const struct code_inst *i) {
    if (i->round != PTX_RZI) return pick_rounded(i);
    switch (FAST_PAIR(i->type, i->type2)) {
    case FAST_PAIR(PTX_S32, PTX_F32): return fast_s32_f32;
    case FAST_PAIR(PTX_U32, PTX_F32): return fast_u32_f32;
    case FAST_PAIR(PTX_S32, PTX_F64): return fast_s32_f64;
    case FAST_PAIR(PTX_U32, PTX_F64): return fast_u32_f64;
    case FAST_PAIR(PTX_S64, PTX_F32): return fast_s64_f32;
    case FAST_PAIR(PTX_S64, PTX_F64): return fast_s64_f64;
    default: return NULL;
    }
}

static code_handler *pick_saturated(const struct code_inst *i) {
    const bool plain = i->type == PTX_F32 && i->type2 == PTX_F32 && i->round <= PTX_RN;
    const bool fits = i->d_bytes == 4 && i->a_bytes == 4;
    if (!plain || !fits || i->mods & (PTX_MOD_RELU | PTX_MOD_SATFINITE)) return NULL;
    return i->mods & PTX_MOD_FTZ ? fast_sat_f32z : fast_sat_f32;
}

static bool fits_register(uint8_t register_bytes, uint8_t type) {
    const uint32_t bytes = ptx_type_bytes(type) < 2 ? 2 : ptx_type_bytes(type);
    return register_bytes <= bytes;
}

ISA_FAMILY(convert_fast) {
    const bool from_real = ptx_type_class(i->type2) == 'f',
               to_real = ptx_type_class(i->type) == 'f';
    if (i->mods & PTX_MOD_SAT) return pick_saturated(i);
    if (i->mods & (PTX_MOD_RELU | PTX_MOD_SATFINITE) || !fits_register(i->d_bytes, i->type))
        return NULL;
    if (!from_real && !to_real && i->a_bytes == 4 && ptx_type_bytes(i->type2) < 4)
        return fast_wide[i->type2][i->type];
    if (!fits_register(i->a_bytes, i->type2)) return NULL;
    if (to_real) return from_real && i->round > PTX_RN ? pick_rounded(i) : pick_to_real(i);
    return from_real ? pick_to_integer(i) : fast_integer[i->type2][i->type];
}
