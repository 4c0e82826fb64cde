/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating point of 8 bits and fewer: fp8 (e4m3, e5m2), fp6 (e2m3, e3m2) and fp4 (e2m1), named by
 * their bits of exponent and mantissa; and ue8m0, powers of two. Each fp8, fp6 and fp4 value is
 * also an f16.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_SMALL_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_SMALL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/isa/arithmetic/half.h"

struct small_format {
    uint8_t bits, mantissa, bias;
    uint8_t most;  /* pattern of the greatest value */
    uint8_t nan;   /* pattern for NaN; the greatest value if there is no NaN */
    bool infinite; /* the pattern after the greatest is infinity, else NaN */
};

static const struct small_format small_e4m3 = {8, 3, 7, 0x7e, 0x7f, false};
static const struct small_format small_e5m2 = {8, 2, 15, 0x7b, 0x7f, true};
static const struct small_format small_e2m3 = {6, 3, 1, 0x1f, 0x1f, false};
static const struct small_format small_e3m2 = {6, 2, 3, 0x1f, 0x1f, false};
static const struct small_format small_e2m1 = {4, 1, 1, 7, 7, false};

/* Returns the value of a pattern; higher bits of `v` are ignored. Branches depend only on the
 * format, for the vectoriser. */
static inline float small_value(const struct small_format *f, uint32_t v) {
    const uint32_t magnitude = v & ((1u << (f->bits - 1)) - 1), sign = v >> (f->bits - 1) & 1;
    const uint32_t rest = magnitude & ((1u << f->mantissa) - 1),
                   exponent = magnitude >> f->mantissa;
    const float least = half_float_of_bits((128u - f->bias - f->mantissa) << 23);
    const uint32_t normal = (exponent + 127u - f->bias) << 23 | rest << (23 - f->mantissa);
    const uint32_t small = half_bits_of_float((float)(int32_t)rest * least);
    const uint32_t special = f->infinite && magnitude == f->most + 1u ? 0x7f800000 : 0x7fffffff;
    const uint32_t finite = half_choose(exponent, normal, small);
    return half_float_of_bits(half_choose(magnitude > f->most, special, finite) | sign << 31);
}

/* Returns the pattern nearest to x, the even one in a tie, and at most the greatest value. */
static inline uint32_t small_pattern(const struct small_format *f, double x) {
    const uint64_t bits = half_bits_of_double(x), magnitude = bits & INT64_MAX;
    const uint32_t sign = (uint32_t)(bits >> 63) << (f->bits - 1), drop = 52u - f->mantissa;
    const uint64_t base = (uint64_t)(1023 - f->bias) << f->mantissa;
    /* A normal result drops the low bits. A subnormal one is rounded by adding a power of two whose
     * last place is the format's least value. */
    const uint64_t magic = (uint64_t)(1023 + 53 - f->bias - f->mantissa) << 52;
    double at;
    memcpy(&at, &magic, sizeof(at));
    const uint64_t half = (1ull << (drop - 1)) - 1 + (magnitude >> drop & 1);
    const uint64_t normal = ((magnitude + half) >> drop) - base;
    const uint64_t small = half_bits_of_double(__builtin_fabs(x) + at) - magic;
    const uint64_t v = magnitude < (uint64_t)(1024 - f->bias) << 52 ? small : normal;
    return x != x ? f->nan : sign | (uint32_t)(v < f->most ? v : f->most);
}

#endif
