/* SPDX-License-Identifier: Apache-2.0
 *
 * Element formats. A normalised integer is divided by its greatest value in double precision; when
 * it becomes a float it is rounded once, by a float division of two integers.
 */
#include "daemon/device/soft/isa/texture/texel.h"

#include <math.h>
#include <pthread.h>

#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/launch/each_lane.h"

/* ---- channels -------------------------------------------------------------------------------- */

/* Reads a kernel's memory. Other threads may write there at the same time; such races are the
 * kernel's own affair. */
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

__attribute__((no_sanitize("thread"))) static void read_words(const struct texel *t,
                                                              uint32_t out[WARP_LANES]) {
    const uint32_t k = 0, bytes = sizeof(uint32_t);
    READ(uint32_t);
}

static double srgb[256];

/* Fills the table of sRGB, IEC 61966-2-1. */
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

/* Greatest value of a normalised integer channel. */
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
        EACH_LANE(l) { /* the least value means the same as the one above it */
            const double v = (int32_t)bits[l] / whole;
            out[l] = v < -1 ? -1 : v;
        }
        break;
    case TEXEL_HALF: EACH_LANE(l) out[l] = (double)half_from_f16((uint16_t)bits[l]); break;
    default: EACH_LANE(l) out[l] = (double)half_float_of_bits(bits[l]);
    }
}

/* ---- the border --------------------------------------------------------------------------------
 *
 * The border colour becomes the bits that an element would hold, as on an H200
 * (docs/results/2026-11-h200.md). */

/* Rounds to the nearest integer; halves go towards zero. */
static int32_t nearest(float v, float whole) {
    const float p = fabsf(v) * whole; /* rounded to a float first */
    const int32_t n = (int32_t)ceilf(p - 0.5f);
    return v < 0 ? -n : n;
}

/* Truncates to f16; numbers beyond the largest become the largest. */
static uint16_t cut_half(float v) {
    if (isnan(v)) return 0x7e00;
    if (isfinite(v) && fabsf(v) > 65504) return half_to_f16(v < 0 ? -65504 : 65504);
    if (fabsf(v) < 0x1p-14f) return half_to_f16(trunc((double)v * 0x1p24) * 0x1p-24);
    return half_to_f16((double)half_float_of_bits(half_bits_of_float(v) & ~0x1fffu));
}

/* Converts the border for integers that are read unchanged: takes the low bits of the float. */
static uint32_t low_bits(const struct texture *t, uint32_t bits) {
    const uint32_t above = 32 - 8 * t->element_bytes / t->as.channels;
    if (t->kind == TEXEL_SINT) return (uint32_t)((int32_t)(bits << above) >> above);
    return bits << above >> above;
}

static uint32_t border_bits(const struct texture *t, uint32_t channel) {
    const float v = t->as.border[channel], least = t->kind == TEXEL_SNORM ? -1 : 0;
    switch (t->kind) {
    case TEXEL_FLOAT: return half_bits_of_float(v);
    case TEXEL_HALF: return cut_half(v);
    case TEXEL_UINT:
    case TEXEL_SINT: return low_bits(t, half_bits_of_float(v));
    default: return (uint32_t)nearest(fminf(fmaxf(isnan(v) ? 0 : v, least), 1), (float)whole_of(t));
    }
}

static void put_border(const struct texel *t, uint32_t channel, uint32_t out[WARP_LANES]) {
    const uint32_t bits = t->border ? border_bits(t->texture, channel) : 0;
    for (uint32_t left = t->border; left; left &= left - 1)
        out[__builtin_ctz(left)] = bits;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Converts `words` from a channel's bits to the floats that a register gets. */
static void make_floats(const struct texture *t, uint32_t k, uint32_t words[WARP_LANES]) {
    const float whole = (float)whole_of(t);
    double numbers[WARP_LANES];
    switch (t->kind == TEXEL_SRGB && k == 3 ? TEXEL_UNORM : t->kind) {
    case TEXEL_UNORM:
        EACH_LANE(l) words[l] = half_bits_of_float((float)(int32_t)words[l] / whole);
        break;
    case TEXEL_SNORM:
        EACH_LANE(l) {
            const float v = (float)(int32_t)words[l] / whole;
            words[l] = half_bits_of_float(v < -1 ? -1 : v);
        }
        break;
    default:
        find_numbers(t, k, words, numbers);
        EACH_LANE(l) words[l] = half_bits_of_float((float)numbers[l]);
    }
}

static void finish_words(const struct texel *t, uint32_t channel, uint32_t out[WARP_LANES]) {
    const struct texture *x = t->texture;
    put_border(t, channel, out);
    if (texture_is_number(x) && x->kind != TEXEL_FLOAT) make_floats(x, channel, out);
}

void ISA_FN(texel_words)(const struct texel *t, uint32_t channel, uint32_t out[WARP_LANES]) {
    read_channel(t, channel, out);
    finish_words(t, channel, out);
}

/* Reads all channels. A texel that fits one word is read once. */
void ISA_FN(texel_all_words)(const struct texel *t, uint32_t out[4][WARP_LANES]) {
    const struct texture *x = t->texture;
    const uint32_t n = x->as.channels, bits = 32 / n;
    const bool sign = x->kind == TEXEL_SINT || x->kind == TEXEL_SNORM;
    if (x->element_bytes != 4 || n == 1) {
        for (uint32_t c = 0; c < n; c++)
            ISA_FN(texel_words)(t, c, out[c]);
        return;
    }
    uint32_t words[WARP_LANES];
    read_words(t, words);
    for (uint32_t c = 0; c < n; c++) {
        const uint32_t above = 32 - bits * (c + 1);
        if (sign)
            EACH_LANE(l) out[c][l] = (uint32_t)((int32_t)(words[l] << above) >> (32 - bits));
        else
            EACH_LANE(l) out[c][l] = words[l] << above >> (32 - bits);
        finish_words(t, c, out[c]);
    }
}

void ISA_FN(texel_numbers)(const struct texel *t, uint32_t channel, double out[WARP_LANES]) {
    uint32_t bits[WARP_LANES];
    read_channel(t, channel, bits);
    put_border(t, channel, bits);
    find_numbers(t->texture, channel, bits, out);
}

uint32_t ISA_FN(texel_missing)(const struct texture *t, uint32_t channel) {
    if (channel < 3) return 0;
    return texture_is_number(t) ? half_bits_of_float(1) : 1;
}
