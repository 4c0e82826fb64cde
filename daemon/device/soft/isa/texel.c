/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats. Normalised integers are their value over the greatest one, in double precision, and
 * rounded once when they become a float.
 */
#include "daemon/device/soft/isa/texel.h"

#include <math.h>
#include <pthread.h>

#include "daemon/device/soft/exec/each_lane.h"
#include "daemon/device/soft/isa/half.h"

/* ---- channels -------------------------------------------------------------------------------- */

/* Kernels' memory: other threads may be writing there, which is the kernels' affair. */
#define READ(type) \
    EACH_LANE(l) out[l] = (uint32_t) * (const volatile type *)(uintptr_t)(t->at[l] + k * bytes)

__attribute__((no_sanitize("thread"))) static void read_channel(const struct texel *t, uint32_t k,
                                                                uint32_t out[WARP_LANES]) {
    const uint32_t bytes = t->texture->element_bytes / t->texture->as.channels;
    bool sign = t->texture->kind == TEXEL_SINT || t->texture->kind == TEXEL_SNORM;
    switch (bytes | (uint32_t)sign << 4) {
    case 1: READ(uint8_t); break;
    case 2: READ(uint16_t); break;
    case 1 | 16: READ(int8_t); break;
    case 2 | 16: READ(int16_t); break;
    default: READ(uint32_t); break;
    }
}

static double srgb[256];

/* IEC 61966-2-1. */
static void fill_srgb(void) {
    for (int k = 0; k < 256; k++) {
        double c = k / 255.0;
        srgb[k] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
}

static void find_linear(const uint32_t bits[WARP_LANES], double out[WARP_LANES]) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_srgb);
    EACH_LANE(l) out[l] = srgb[bits[l] & 255];
}

/* Of the greatest value. */
static double whole_of(const struct texture *t) {
    bool byte = t->element_bytes == t->as.channels;
    if (t->kind == TEXEL_SNORM) return byte ? 127 : 32767;
    return byte ? 255 : 65535;
}

static void find_numbers(const struct texture *t, uint32_t k, const uint32_t bits[WARP_LANES],
                         double out[WARP_LANES]) {
    const double whole = whole_of(t);
    switch (t->kind) {
    case TEXEL_SRGB:
        if (k < 3) {
            find_linear(bits, out);
            break;
        }
        /* fall through */
    case TEXEL_UNORM: EACH_LANE(l) out[l] = (int32_t)bits[l] / whole; break;
    case TEXEL_SNORM:
        EACH_LANE(l) { /* the least value stands for the same as the one above it */
            const double v = (int32_t)bits[l] / whole;
            out[l] = v < -1 ? -1 : v;
        }
        break;
    case TEXEL_HALF: EACH_LANE(l) out[l] = (double)half_from_f16((uint16_t)bits[l]); break;
    default: EACH_LANE(l) out[l] = (double)half_float_of_bits(bits[l]);
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

void ISA_FN(texel_words)(const struct texel *t, uint32_t channel, uint32_t out[WARP_LANES]) {
    const struct texture *x = t->texture;
    read_channel(t, channel, out);
    if (texture_is_number(x) && x->kind != TEXEL_FLOAT) {
        double numbers[WARP_LANES];
        find_numbers(x, channel, out, numbers);
        EACH_LANE(l) out[l] = half_bits_of_float((float)numbers[l]);
    }
    for (uint32_t left = t->border; left; left &= left - 1)
        out[__builtin_ctz(left)] = half_bits_of_float(x->as.border[channel]);
}

void ISA_FN(texel_numbers)(const struct texel *t, uint32_t channel, double out[WARP_LANES]) {
    uint32_t bits[WARP_LANES];
    read_channel(t, channel, bits);
    find_numbers(t->texture, channel, bits, out);
    for (uint32_t left = t->border; left; left &= left - 1)
        out[__builtin_ctz(left)] = (double)t->texture->as.border[channel];
}

uint32_t ISA_FN(texel_missing)(const struct texture *t, uint32_t channel) {
    if (channel < 3) return 0;
    return texture_is_number(t) ? half_bits_of_float(1) : 1;
}
