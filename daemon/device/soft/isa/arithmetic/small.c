/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt to and from two values of 8 bits or fewer (small.h). The first operand becomes the upper
 * value. fp8 and fp6 take a byte each, fp4 four bits each; conversions to them always round to
 * nearest even and saturate (.satfinite). A scale of ue8m0 is the exponent of the number without
 * its sign, rounded as the instruction says; numbers below 2^-127 become 2^-127.
 */
#include "daemon/device/soft/isa/arithmetic/small.h"

#include "daemon/device/soft/isa/arithmetic/isa.h"

static const struct small_format *format_of(uint8_t type) {
    switch (type) {
    case PTX_E4M3X2: return &small_e4m3;
    case PTX_E5M2X2: return &small_e5m2;
    case PTX_E2M3X2: return &small_e2m3;
    case PTX_E3M2X2: return &small_e3m2;
    case PTX_E2M1X2: return &small_e2m1;
    default: return NULL;
    }
}

/* Bits that one of the two values takes. */
static uint32_t step_of(const struct small_format *f) {
    return f->bits == 4 ? 4 : 8;
}

static inline float relu_of(float x) {
    return x > 0 || x != x ? x : 0;
}

/* Stores the result. A register of the packed type has 16-bit lanes, or lanes wider than the
 * type. */
static void put(const struct warp *w, const struct code_inst *i, uint32_t mask, const uint32_t *v) {
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        if (i->d_bytes == 2)
            SLOT(uint16_t, w, i->d)[l] = (uint16_t)v[l];
        else if (i->d_bytes == 4)
            SLOT(uint32_t, w, i->d)[l] = v[l];
        else
            SLOT(uint64_t, w, i->d)[l] = v[l];
    }
}

static void get(const struct warp *w, const struct code_inst *i, uint32_t *v) {
    for (unsigned l = 0; l < WARP_LANES; l++)
        v[l] = i->a_bytes == 2   ? SLOT(const uint16_t, w, i->a)[l]
               : i->a_bytes == 4 ? SLOT(const uint32_t, w, i->a)[l]
                                 : (uint32_t)SLOT(const uint64_t, w, i->a)[l];
}

/* ---- fp8, fp6, fp4 ----------------------------------------------------------------------------
 */

static uint32_t pair_of(const struct code_inst *i, float high, float low) {
    const struct small_format *f = format_of(i->type);
    if (i->mods & PTX_MOD_RELU) high = relu_of(high), low = relu_of(low);
    return small_pattern(f, high) << step_of(f) | small_pattern(f, low);
}

ISA_HANDLER(from_floats) {
    const float *a = SLOT(const float, w, i->a), *b = SLOT(const float, w, i->b);
    uint32_t v[WARP_LANES];
    for (unsigned l = 0; l < WARP_LANES; l++)
        v[l] = pair_of(i, a[l], b[l]);
    put(w, i, mask, v);
}

ISA_HANDLER(from_halves) {
    const uint32_t *a = SLOT(const uint32_t, w, i->a);
    uint32_t v[WARP_LANES];
    for (unsigned l = 0; l < WARP_LANES; l++)
        v[l] = pair_of(i, half_from_f16((uint16_t)(a[l] >> 16)), half_from_f16((uint16_t)a[l]));
    put(w, i, mask, v);
}

ISA_HANDLER(to_halves) {
    const struct small_format *f = format_of(i->type2);
    const bool relu = i->mods & PTX_MOD_RELU;
    uint32_t v[WARP_LANES];
    get(w, i, v);
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const float high = small_value(f, v[l] >> step_of(f)), low = small_value(f, v[l]);
        v[l] = (uint32_t)half_to_f16(relu ? relu_of(high) : high) << 16 |
               half_to_f16(relu ? relu_of(low) : low);
    }
    put(w, i, mask, v);
}

/* ---- ue8m0 ------------------------------------------------------------------------------------
 */

#define SCALE_NAN 255u

static uint32_t scale_of(const struct code_inst *i, uint32_t bits) {
    const uint32_t magnitude = bits & INT32_MAX, rest = magnitude & 0x7fffff;
    uint32_t v = magnitude >> 23;
    if (magnitude > 0x7f800000) return SCALE_NAN;
    if (i->round == PTX_RP && v < SCALE_NAN) v += rest && magnitude > 0x400000;
    return i->mods & PTX_MOD_SATFINITE && v == SCALE_NAN ? SCALE_NAN - 1 : v;
}

ISA_HANDLER(scales_of_floats) {
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    uint32_t v[WARP_LANES];
    for (unsigned l = 0; l < WARP_LANES; l++)
        v[l] = scale_of(i, a[l]) << 8 | scale_of(i, b[l]);
    put(w, i, mask, v);
}

ISA_HANDLER(scales_of_brains) {
    const uint32_t *a = SLOT(const uint32_t, w, i->a);
    uint32_t v[WARP_LANES];
    for (unsigned l = 0; l < WARP_LANES; l++)
        v[l] = scale_of(i, a[l] & 0xffff0000) << 8 | scale_of(i, a[l] << 16);
    put(w, i, mask, v);
}

static uint32_t brain_of_scale(uint32_t v) {
    return v == SCALE_NAN ? HALF_NAN : v ? v << 7 : 0x40;
}

ISA_HANDLER(brains_of_scales) {
    uint32_t v[WARP_LANES];
    get(w, i, v);
    for (unsigned l = 0; l < WARP_LANES; l++)
        v[l] = brain_of_scale(v[l] >> 8 & 255) << 16 | brain_of_scale(v[l] & 255);
    put(w, i, mask, v);
}

/* ---- selection --------------------------------------------------------------------------------
 */

static code_handler *pick_scale(const struct code_inst *i) {
    const bool two = i->b != CODE_NO_SLOT;
    if (i->type2 == PTX_UE8M0X2) return i->type == PTX_BF16X2 && !two ? brains_of_scales : NULL;
    if (i->type2 == PTX_F32) return two ? scales_of_floats : NULL;
    return i->type2 == PTX_BF16X2 && !two ? scales_of_brains : NULL;
}

ISA_FAMILY(small_select) {
    const bool two = i->b != CODE_NO_SLOT;
    if (i->type == PTX_UE8M0X2 || i->type2 == PTX_UE8M0X2) return pick_scale(i);
    if (format_of(i->type2)) return i->type == PTX_F16X2 && !two ? to_halves : NULL;
    if (!format_of(i->type)) return NULL;
    if (i->type2 == PTX_F32) return two ? from_floats : NULL;
    return i->type2 == PTX_F16X2 && !two ? from_halves : NULL;
}
