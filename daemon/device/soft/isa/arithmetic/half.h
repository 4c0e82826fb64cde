/* SPDX-License-Identifier: Apache-2.0
 *
 * f16 and bf16 computed with integers, so that every build and compiler gives the same bits. Each
 * value of either type is a float, and each exact result that matters fits a double, from which it
 * is rounded once. Branchless, for the vectoriser.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_HALF_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_HALF_H

#include <stdint.h>
#include <string.h>

#define HALF_NAN 0x7fff /* the canonical NaN of both formats */

static inline float half_float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}
static inline uint32_t half_bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}
static inline uint64_t half_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Returns a if c, else b. A branch would keep a loop from being vectorised where b comes from a
 * float. */
static inline uint32_t half_choose(uint32_t c, uint32_t a, uint32_t b) {
    const uint32_t mask = 0u - (uint32_t)(c != 0);
    return (a & mask) | (b & ~mask);
}

/* The biases of the exponents differ by 112. Subnormals are computed as scaled integers, so that no
 * float subnormal occurs, which is slow on many processors. */
static inline float half_from_f16(uint16_t h) {
    const uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t small = half_bits_of_float((float)(int32_t)(h & 0x3ff) * 0x1p-24f);
    const uint32_t bias = magnitude >= 0x7c00u << 13 ? 224u << 23 : 112u << 23;
    return half_float_of_bits(sign | half_choose(h & 0x7c00, magnitude + bias, small));
}
static inline float half_from_bf16(uint16_t h) {
    return half_float_of_bits((uint32_t)h << 16);
}

/* Rounds to nearest even. A normal result drops the low bits of the double's pattern. A subnormal
 * one is rounded by adding a power of two whose last place is the format's least value. */
static inline uint16_t half_round(double x, unsigned mantissa, unsigned bias, double magic) {
    const uint64_t bits = half_bits_of_double(x), magnitude = bits & INT64_MAX;
    const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    const unsigned drop = 52 - mantissa;
    const uint64_t infinity = (uint64_t)(2 * bias + 1) << mantissa;
    uint64_t normal = magnitude + ((1ull << (drop - 1)) - 1) + (magnitude >> drop & 1);
    normal = (normal >> drop) - ((uint64_t)(1023 - bias) << mantissa);
    const uint64_t small =
        half_bits_of_double(__builtin_fabs(x) + magic) - half_bits_of_double(magic);
    uint64_t v = magnitude < (uint64_t)(1024 - bias) << 52 ? small : normal;
    v = magnitude >= (uint64_t)(1023 + bias + 1) << 52 || v > infinity ? infinity : v;
    return (uint16_t)(x == x ? sign | v : HALF_NAN);
}
static inline uint16_t half_to_f16(double x) {
    return half_round(x, 10, 15, 0x1p28);
}
static inline uint16_t half_to_bf16(double x) {
    return half_round(x, 7, 127, 0x1p-81);
}

/* .ftz of a result before it is rounded to f16: flushes results that, rounded with an unbounded
 * exponent, are less than the least normal number. The tie below that number rounds up to it. */
static inline double half_flush_tiny(double v) {
    return __builtin_fabs(v) < 0x1p-14 - 0x1p-26 ? __builtin_copysign(0.0, v) : v;
}

/* .ftz on f16: subnormals become zeros of the same sign. */
static inline uint16_t half_flush(uint16_t h) {
    return h & 0x7c00 ? h : h & 0x8000;
}

#endif
