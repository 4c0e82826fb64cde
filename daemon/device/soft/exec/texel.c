/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats. Normalised integers are their value over the greatest one, in double precision, and
 * rounded once when they become a float.
 */
#include "daemon/device/soft/exec/texel.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "daemon/device/soft/isa/half.h"

/* ---- channels -------------------------------------------------------------------------------- */

/* Kernels' memory: other threads may be writing there, which is the kernels' affair. */
__attribute__((no_sanitize("thread"))) static uint32_t channel(const struct texture *t, uint64_t at,
                                                               uint32_t k) {
    const uint32_t bytes = t->element_bytes / t->as.channels;
    const volatile void *p = (const volatile void *)(uintptr_t)(at + k * bytes);
    bool sign = t->kind == TEXEL_SINT || t->kind == TEXEL_SNORM;
    switch (bytes) {
    case 1: return sign ? (uint32_t) * (const volatile int8_t *)p : *(const volatile uint8_t *)p;
    case 2: return sign ? (uint32_t) * (const volatile int16_t *)p : *(const volatile uint16_t *)p;
    default: return *(const volatile uint32_t *)p;
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

static double linear_of(uint32_t value) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_srgb);
    return srgb[value & 255];
}

static double number(const struct texture *t, uint32_t bits, uint32_t k) {
    bool byte = t->element_bytes == t->as.channels;
    switch (t->kind) {
    case TEXEL_SRGB:
        if (k < 3) return linear_of(bits);
        /* fall through */
    case TEXEL_UNORM: return bits / (byte ? 255.0 : 65535.0);
    case TEXEL_SNORM: {
        double v = (int32_t)bits / (byte ? 127.0 : 32767.0);
        return v < -1 ? -1 : v; /* the least value stands for the same as the one above it */
    }
    case TEXEL_HALF: return (double)half_from_f16((uint16_t)bits);
    default: return (double)half_float_of_bits(bits);
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

void texel_words(const struct texture *t, uint64_t at, uint32_t out[4]) {
    const bool bits = t->kind == TEXEL_FLOAT || !texture_is_number(t);
    for (uint32_t k = 0; k < t->as.channels; k++) {
        uint32_t c = channel(t, at, k);
        out[k] = bits ? c : half_bits_of_float((float)number(t, c, k));
    }
    for (uint32_t k = t->as.channels; k < 3; k++)
        out[k] = 0;
    if (t->as.channels < 4) out[3] = texture_is_number(t) ? half_bits_of_float(1) : 1;
}

void texel_numbers(const struct texture *t, uint64_t at, double out[4]) {
    for (uint32_t k = 0; k < t->as.channels; k++)
        out[k] = number(t, channel(t, at, k), k);
    for (uint32_t k = t->as.channels; k < 3; k++)
        out[k] = 0;
    if (t->as.channels < 4) out[3] = 1;
}

/* ---- around it ------------------------------------------------------------------------------- */

void texel_border_words(const struct texture *t, uint32_t out[4]) {
    memcpy(out, t->as.border, sizeof(t->as.border));
    for (uint32_t k = t->as.channels; k < 3; k++)
        out[k] = 0;
    if (t->as.channels < 4) out[3] = texture_is_number(t) ? half_bits_of_float(1) : 1;
}

void texel_border_numbers(const struct texture *t, double out[4]) {
    uint32_t words[4];
    texel_border_words(t, words);
    for (uint32_t k = 0; k < 4; k++)
        out[k] = (double)half_float_of_bits(words[k]);
}
