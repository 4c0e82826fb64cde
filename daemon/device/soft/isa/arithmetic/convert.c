/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt. The common pairs of types have loops of their own (convert_fast.c). This general handler
 * does every other pair in three steps over all lanes: it widens the source to int64, uint64 or
 * double (exact), converts, and stores the lanes of the mask. Built with -frounding-math for the
 * directed roundings.
 *
 * Registers may be wider than the types: the low bits of a source count, and a result is extended
 * by its sign or by zeros. From real to integer PTX always clamps. NaN gives 0, or 1 << (width - 1)
 * if the source is f64 or the destination has 64 bits.
 */
#include <fenv.h>
#include <math.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/convert.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

union convert_lanes {
    int64_t s[WARP_LANES];
    uint64_t u[WARP_LANES];
    double f[WARP_LANES];
};

static bool is_real(uint8_t type) {
    return ptx_type_class(type) == 'f';
}

static int mode_of(uint8_t round) {
    switch (round) {
    case PTX_RZ:
    case PTX_RZI: return FE_TOWARDZERO;
    case PTX_RM:
    case PTX_RMI: return FE_DOWNWARD;
    case PTX_RP:
    case PTX_RPI: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

#define CONVERT_LOAD(field, type, expr)                \
    for (unsigned l = 0; l < WARP_LANES; l++) {        \
        type x;                                        \
        memcpy(&x, a + (size_t)l * stride, sizeof(x)); \
        v->field[l] = expr;                            \
    }                                                  \
    break

static void load_lanes(const struct warp *w, int32_t slot, uint8_t type, uint32_t stride, bool ftz,
                       union convert_lanes *v) {
    const unsigned char *a = SLOT(const unsigned char, w, slot);
    switch (type) {
    case PTX_S8: CONVERT_LOAD(s, int8_t, x);
    case PTX_S16: CONVERT_LOAD(s, int16_t, x);
    case PTX_S32: CONVERT_LOAD(s, int32_t, x);
    case PTX_S64: CONVERT_LOAD(s, int64_t, x);
    case PTX_U8: CONVERT_LOAD(u, uint8_t, x);
    case PTX_U16: CONVERT_LOAD(u, uint16_t, x);
    case PTX_U32: CONVERT_LOAD(u, uint32_t, x);
    case PTX_U64: CONVERT_LOAD(u, uint64_t, x);
    case PTX_F16: CONVERT_LOAD(f, uint16_t, (double)half_from_f16(x));
    case PTX_BF16: CONVERT_LOAD(f, uint16_t, (double)half_from_bf16(x));
    case PTX_F32: CONVERT_LOAD(f, float, (double)(ftz ? real_flush(x) : x));
    case PTX_F64: CONVERT_LOAD(f, double, x);
    default: break;
    }
}

static void between_integers(const struct code_inst *i, union convert_lanes *v) {
    const uint32_t bits = 8 * ptx_type_bytes(i->type);
    const bool from_signed = ptx_type_class(i->type2) == 's';
    const bool to_signed = ptx_type_class(i->type) == 's', sat = i->mods & PTX_MOD_SAT;
    const uint64_t top = (to_signed ? INT64_MAX : UINT64_MAX) >> (64 - bits);
    const int64_t bottom = to_signed ? -(int64_t)top - 1 : 0;
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const bool below = from_signed && v->s[l] < 0;
        if (sat && below && v->s[l] < bottom)
            v->s[l] = bottom;
        else if (sat && !below && v->u[l] > top)
            v->u[l] = top;
        v->u[l] <<= 64 - bits; /* truncate to the type, then extend to the register */
        if (to_signed)
            v->s[l] >>= 64 - bits;
        else
            v->u[l] >>= 64 - bits;
    }
}

/* Converts an integer to double. Bits that do not fit are recorded in the last place (sticky), so
 * that a later rounding to fewer bits is correct. */
static double sticky_double(uint64_t magnitude, bool negative) {
    if (magnitude >> 53) magnitude = (magnitude & ~2047ull) | (magnitude & 2047 ? 2048 : 0);
    return negative ? -(double)magnitude : (double)magnitude;
}

static void from_integer(const struct code_inst *i, union convert_lanes *v) {
    const bool is_signed = ptx_type_class(i->type2) == 's';
    fesetround(mode_of(i->round)); /* matters for f64 only */
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const bool negative = is_signed && v->s[l] < 0;
        if (i->type == PTX_F64)
            v->f[l] = is_signed ? (double)v->s[l] : (double)v->u[l];
        else
            v->f[l] = sticky_double(negative ? 0 - v->u[l] : v->u[l], negative);
    }
    fesetround(FE_TONEAREST);
}

static void to_integer(const struct code_inst *i, union convert_lanes *v) {
    const uint32_t bits = 8 * ptx_type_bytes(i->type);
    const bool to_signed = ptx_type_class(i->type) == 's';
    const uint64_t nan = i->type2 != PTX_F64 && bits < 64 ? 0 : 1ull << (bits - 1);
    const double least = to_signed ? -ldexp(1, (int)bits - 1) : 0;
    const double beyond = ldexp(1, (int)bits - to_signed); /* the first value that does not fit */
    const uint64_t top = (to_signed ? INT64_MAX : UINT64_MAX) >> (64 - bits);
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const double x = v->f[l];
        uint64_t u;
        if (x != x)
            u = nan;
        else if (x >= beyond)
            u = top;
        else if (x <= least)
            u = (uint64_t)(int64_t)least;
        else
            u = to_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
        v->u[l] = to_signed ? (uint64_t)((int64_t)(u << (64 - bits)) >> (64 - bits)) : u;
    }
}

/* Rounds to `bits` of mantissa in the thread's rounding mode, by adding and subtracting a number
 * whose last place is the wanted one. Beyond `max` the mode selects `max` or infinity. */
static double round_to(double x, int bits, int least_exponent, double max, int mode) {
    int e;
    if (x != x || __builtin_isinf(x) || x == 0) return x;
    frexp(x, &e);
    const int place = e - bits > least_exponent ? e - bits : least_exponent;
    const double magic = copysign(ldexp(1, place + 52), x);
    const double v = e > 200 ? x : copysign((x + magic) - magic, x);
    if (__builtin_fabs(v) <= max) return v;
    const bool inward = mode == FE_TOWARDZERO || mode == (x < 0 ? FE_UPWARD : FE_DOWNWARD);
    return copysign(inward ? max : (double)INFINITY, x);
}

/* Returns the bit pattern of x in a real type, rounded in the thread's mode, which is `mode`. */
static uint64_t pattern_of(double x, uint8_t type, int mode, bool ftz) {
    switch (type) {
    case PTX_F64: return half_bits_of_double(real_nan64(x));
    case PTX_F32: {
        const float v = real_nan32((float)x);
        return half_bits_of_float(ftz ? real_flush(v) : v);
    }
    case PTX_F16: return half_to_f16(round_to(x, 11, -24, 65504, mode));
    default: return half_to_bf16(round_to(x, 8, -133, 0x1.fep127, mode));
    }
}

/* Rounds to tf32, which is f32 with 10 bits of mantissa. rna rounds ties away from zero. */
static uint32_t round_tf32(float x, uint8_t round) {
    uint32_t bits = half_bits_of_float(x);
    if (x != x) return 0x7fffffff;
    if (__builtin_isinf(x)) return bits;
    if (round == PTX_RNA)
        bits += 0x1000;
    else if (round == PTX_RN)
        bits += 0xfff + (bits >> 13 & 1);
    return bits & ~0x1fffu;
}

static inline double clamp_relu(double x) {
    return x > 0 || x != x ? x : 0;
}

/* .satfinite: clamps to the greatest value of the type. */
static double clamp_finite(double v, uint8_t type) {
    const double max = type == PTX_F16 ? 65504 : 0x1.fep127; /* otherwise bf16 */
    return v > max ? max : v < -max ? -max : v;
}

static void to_real(const struct code_inst *i, union convert_lanes *v) {
    const int mode = mode_of(i->round);
    const bool sat = i->mods & PTX_MOD_SAT, relu = i->mods & PTX_MOD_RELU;
    const bool ftz = i->mods & PTX_MOD_FTZ;
    const bool integral = i->round >= PTX_RNI && i->round <= PTX_RPI;
    fesetround(mode);
    for (unsigned l = 0; l < WARP_LANES; l++) {
        double x = v->f[l];
        if (integral) x = nearbyint(x);
        if (sat) x = real_sat64(x);
        if (relu) x = clamp_relu(x);
        if (i->mods & PTX_MOD_SATFINITE) x = clamp_finite(x, i->type);
        v->u[l] = pattern_of(x, i->type, mode, ftz);
    }
    fesetround(FE_TONEAREST);
}

static void store_lanes(struct warp *w, int32_t slot, uint32_t stride, uint32_t mask,
                        const union convert_lanes *v) {
    unsigned char *d = SLOT(unsigned char, w, slot);
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        memcpy(d + (size_t)l * stride, &v->u[l], stride); /* little-endian */
    }
}

static uint32_t stride_of(uint8_t bytes, uint8_t type) {
    const uint32_t least = ptx_type_bytes(type) < 2 ? 2 : ptx_type_bytes(type);
    return bytes > least ? bytes : least;
}

ISA_HANDLER(any) {
    union convert_lanes v;
    /* Hardware rounds subnormals to f16 even with .ftz; rounded up or down, the result is not zero.
     */
    const bool ftz = i->mods & PTX_MOD_FTZ && i->type != PTX_F16;
    load_lanes(w, i->a, i->type2, stride_of(i->a_bytes, i->type2), ftz, &v);
    if (is_real(i->type)) {
        if (!is_real(i->type2)) from_integer(i, &v);
        to_real(i, &v);
    } else if (is_real(i->type2)) {
        fesetround(mode_of(i->round == PTX_ROUND_NONE ? PTX_RZI : i->round));
        for (unsigned l = 0; l < WARP_LANES; l++)
            v.f[l] = nearbyint(v.f[l]);
        fesetround(FE_TONEAREST);
        to_integer(i, &v);
    } else
        between_integers(i, &v);
    store_lanes(w, i->d, stride_of(i->d_bytes, i->type), mask, &v);
}

/* cvt.f16x2.f32 d, a, b: a becomes the upper, b the lower half. */
ISA_HANDLER(pair) {
    const uint8_t half = i->type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    const int mode = mode_of(i->round);
    const bool relu = i->mods & PTX_MOD_RELU;
    const float *a = SLOT(const float, w, i->a), *b = SLOT(const float, w, i->b);
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const bool finite = i->mods & PTX_MOD_SATFINITE;
    fesetround(mode);
    ISA_EACH(
        mask, uint32_t, d, double x = relu ? clamp_relu(a[l]) : a[l];
        double y = relu ? clamp_relu(b[l]) : b[l];
        if (finite) x = clamp_finite(x, half), y = clamp_finite(y, half);
        v = (uint32_t)(pattern_of(x, half, mode, false) << 16 | pattern_of(y, half, mode, false)););
    fesetround(FE_TONEAREST);
}

/* The usual case: rounding to nearest without modifiers. */
ISA_OP2(ISA_LANES, pair_f16, uint32_t, float, float,
        (uint32_t)half_to_f16((double)x) << 16 | half_to_f16((double)y))
ISA_OP2(ISA_LANES, pair_bf16, uint32_t, float, float,
        (uint32_t)half_to_bf16((double)x) << 16 | half_to_bf16((double)y))

static code_handler *pick_pair(const struct code_inst *i) {
    if (i->type2 != PTX_F32 || i->b == CODE_NO_SLOT) return NULL;
    if (i->round != PTX_RN || i->mods & (PTX_MOD_RELU | PTX_MOD_SATFINITE)) return pair;
    return i->type == PTX_F16X2 ? pair_f16 : pair_bf16;
}

ISA_HANDLER(tf32_f32) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const float *a = SLOT(const float, w, i->a);
    const bool relu = i->mods & PTX_MOD_RELU;
    const bool finite = i->mods & PTX_MOD_SATFINITE;
    ISA_LANES(mask, uint32_t, d, const float x = relu ? (float)clamp_relu(a[l]) : a[l];
              v = round_tf32(x, i->round);
              /* Infinity becomes the greatest value. */
              if (finite && (v & 0x7fffffff) == 0x7f800000) v -= 0x2000;);
}

/* cvt.pack.sat: clamps a and b and puts them side by side. 8-bit results also shift c up by two
 * elements. */
ISA_HANDLER(pack) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const int32_t *a = SLOT(const int32_t, w, i->a), *b = SLOT(const int32_t, w, i->b);
    const uint32_t *c = i->c == CODE_NO_SLOT ? NULL : SLOT(const uint32_t, w, i->c);
    const uint32_t bits = 8 * ptx_type_bytes(i->type);
    const bool is_signed = ptx_type_class(i->type) == 's';
    const int32_t top = (1 << (bits - is_signed)) - 1, bottom = is_signed ? -top - 1 : 0;
    const uint32_t ones = (1u << bits) - 1;
    ISA_EACH(mask, uint32_t, d,
             const int32_t x = a[l] > top      ? top
                               : a[l] < bottom ? bottom
                                               : a[l];
             const int32_t y = b[l] > top      ? top
                               : b[l] < bottom ? bottom
                                               : b[l];
             v = ((uint32_t)x & ones) << bits | ((uint32_t)y & ones);
             if (c && bits == 8) v |= c[l] << 16;);
}

static bool is_known(uint8_t type) {
    switch (type) {
    case PTX_S8:
    case PTX_S16:
    case PTX_S32:
    case PTX_S64:
    case PTX_U8:
    case PTX_U16:
    case PTX_U32:
    case PTX_U64:
    case PTX_F16:
    case PTX_BF16:
    case PTX_F32:
    case PTX_F64: return true;
    default: return false;
    }
}

static bool is_small(uint8_t type) {
    return type >= PTX_E4M3X2 && type <= PTX_UE8M0X2;
}

ISA_FAMILY(convert_select) {
    if (i->sub == PTX_SUB_PACK) {
        const bool byte = i->type == PTX_U8 || i->type == PTX_S8;
        const bool known = byte || i->type == PTX_U16 || i->type == PTX_S16;
        return known && i->b != CODE_NO_SLOT && byte == (i->c != CODE_NO_SLOT) ? pack : NULL;
    }
    if (i->round == PTX_RS) return ISA_FN(stochastic_select)(i);
    if (is_small(i->type) || is_small(i->type2)) return ISA_FN(small_select)(i);
    if (i->type == PTX_F16X2 || i->type == PTX_BF16X2) return pick_pair(i);
    if (i->type == PTX_TF32) return i->type2 == PTX_F32 ? tf32_f32 : NULL;
    if (i->b != CODE_NO_SLOT || !is_known(i->type) || !is_known(i->type2)) return NULL;
    code_handler *fast = ISA_FN(convert_fast)(i);
    return fast ? fast : any;
}
