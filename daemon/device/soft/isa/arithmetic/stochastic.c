/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt.rs (stochastic rounding): f32 to two halves or to four values of 8 bits or fewer. The
 * magnitude is rounded up if the part cut off plus a fraction of random bits makes one last place.
 * The functions that take the values apart say which value gets which random bits. A subnormal
 * result is cut off at the place of the format's least value.
 */
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

struct target {
    uint8_t bits, mantissa, bias;
    uint8_t random; /* number of random bits */
    uint16_t most;  /* pattern of the greatest value */
    uint16_t above; /* pattern for larger numbers without .satfinite */
    uint16_t nan;
};

static const struct target target_f16 = {16, 10, 15, 13, 0x7bff, 0x7c00, HALF_NAN};
static const struct target target_bf16 = {16, 7, 127, 16, 0x7f7f, 0x7f80, HALF_NAN};
static const struct target target_e4m3 = {8, 3, 7, 16, 0x7e, 0x7e, 0x7f};
static const struct target target_e5m2 = {8, 2, 15, 16, 0x7b, 0x7b, 0x7f};
static const struct target target_e2m3 = {6, 3, 1, 16, 0x1f, 0x1f, 0x1f};
static const struct target target_e3m2 = {6, 2, 3, 16, 0x1f, 0x1f, 0x1f};
static const struct target target_e2m1 = {4, 1, 1, 8, 7, 7, 7};

static double power_of_two(int exponent) {
    const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* Returns the rounded pattern; uses as many low bits of `random` as the format takes. */
static uint32_t rounded(const struct target *t, const struct code_inst *i, float x,
                        uint32_t random) {
    const uint32_t bits = half_bits_of_float(x), magnitude = bits & INT32_MAX;
    const int least = 1 - t->bias, e = (int)(magnitude >> 23) - 127;
    const int exponent = e < least ? least : e;
    const uint32_t sign = bits >> 31 << (t->bits - 1);
    const uint32_t beyond = i->mods & PTX_MOD_SATFINITE ? t->most : t->above;
    if (magnitude > 0x7f800000) return t->nan;
    if (sign && i->mods & PTX_MOD_RELU) return 0;
    if (magnitude == 0x7f800000) return sign | beyond;
    const uint32_t fraction = random & ((1u << t->random) - 1);
    const double places = __builtin_fabs((double)x) * power_of_two(t->mantissa - exponent);
    const uint32_t n = (uint32_t)(places + fraction * power_of_two(-t->random));
    const uint32_t v = ((uint32_t)(exponent - least) << t->mantissa) + n;
    return sign | (v > t->most ? beyond : v);
}

/* d, a, b: a becomes the upper half and is rounded by the upper half of the random bits. */
ISA_HANDLER(two) {
    const struct target *t = i->type == PTX_F16X2 ? &target_f16 : &target_bf16;
    const float *a = SLOT(const float, w, i->a), *b = SLOT(const float, w, i->b);
    const uint32_t *c = SLOT(const uint32_t, w, i->c);
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        const uint32_t v = rounded(t, i, a[l], c[l] >> 16) << 16 | rounded(t, i, b[l], c[l]);
        if (i->d_bytes == 8)
            SLOT(uint64_t, w, i->d)[l] = v;
        else
            SLOT(uint32_t, w, i->d)[l] = v;
    }
}

static const struct target *target_of(uint8_t type) {
    switch (type) {
    case PTX_E4M3X4: return &target_e4m3;
    case PTX_E5M2X4: return &target_e5m2;
    case PTX_E2M3X4: return &target_e2m3;
    case PTX_E3M2X4: return &target_e3m2;
    case PTX_E2M1X4: return &target_e2m1;
    default: return NULL;
    }
}

/* Returns the random bits for element k; the last element is the lowest. Each half of the bits
 * serves two elements. For fp4 the first two elements use the upper byte of each half, the others
 * the lower. */
static uint32_t share_of(const struct target *t, uint32_t random, unsigned k) {
    return t->random == 16 ? random >> (k < 2 ? 16 : 0)
                           : random >> (k % 2 ? 0 : 16) >> (k < 2 ? 8 : 0);
}

/* d, {a, b, e, f}: a becomes the uppermost value. The sources are the uses in `extra`; the random
 * bits are in b. */
ISA_HANDLER(four) {
    const struct target *t = target_of(i->type);
    const struct code_extra *x = i->extra;
    const uint32_t *random = SLOT(const uint32_t, w, i->b), step = t->bits == 4 ? 4 : 8;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left);
        uint32_t v = 0;
        for (unsigned k = 0; k < 4; k++)
            v = v << step |
                rounded(t, i, SLOT(const float, w, x->uses[k].slot)[l], share_of(t, random[l], k));
        if (i->d_bytes == 2)
            SLOT(uint16_t, w, i->d)[l] = (uint16_t)v;
        else if (i->d_bytes == 4)
            SLOT(uint32_t, w, i->d)[l] = v;
        else
            SLOT(uint64_t, w, i->d)[l] = v;
    }
}

ISA_FAMILY(stochastic_select) {
    if (i->type2 != PTX_F32) return NULL;
    if (target_of(i->type)) return i->extra ? four : NULL;
    if (i->type != PTX_F16X2 && i->type != PTX_BF16X2) return NULL;
    return i->b != CODE_NO_SLOT && i->c != CODE_NO_SLOT ? two : NULL;
}
