/* SPDX-License-Identifier: Apache-2.0
 *
 * Powers of 2 and logarithms to base 2 of floats, without branches, for the vectoriser. Computed in
 * double precision to about 12 digits by basic IEEE 754 operations only, and rounded once to a
 * float, so that every build gives the same bits. Exact where the result is a float.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_POWER_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_POWER_H

#include <stdint.h>
#include <string.h>

#include "daemon/device/soft/isa/arithmetic/half.h"

#define POWER_WHOLE 0x1.8p52 /* adding this rounds a small double to an integer */

static inline double power_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* 2^x. The integral part goes into the exponent; the rest, at most a half, goes through the series
 * of e^(r ln 2). NaN stays NaN. */
static inline float power_ex2(float of) {
    uint32_t within = half_bits_of_float(of);
    within = half_choose(of < -160, half_bits_of_float(-160), within); /* gives 0 */
    within = half_choose(of > 130, half_bits_of_float(130), within);   /* gives infinity */
    const double x = (double)half_float_of_bits(within);
    const double near = x + POWER_WHOLE, r = x - (near - POWER_WHOLE);
    const double scale = power_double((half_bits_of_double(near) + 1023) << 52);
    double p = 0x1.e4cf5158b8ecap-28; /* ln(2)^10 / 10! and so on */
    p = p * r + 0x1.b5253d395e7c4p-24;
    p = p * r + 0x1.62c0223a5c824p-20;
    p = p * r + 0x1.ffcbfc588b0c7p-17;
    p = p * r + 0x1.430912f86c787p-13;
    p = p * r + 0x1.5d87fe78a6731p-10;
    p = p * r + 0x1.3b2ab6fba4e77p-7;
    p = p * r + 0x1.c6b08d704a0c0p-5;
    p = p * r + 0x1.ebfbdff82c58fp-3;
    p = p * r + 0x1.62e42fefa39efp-1;
    p = p * r + 1;
    return (float)(p * scale);
}

/* log2 x for x >= 0; the result for negative x is arbitrary. A float is 2^e times m, with m from
 * sqrt(1/2) to sqrt(2). ln m is 2 artanh of (m - 1) / (m + 1), which is at most 0.172. */
static inline float power_lg2(float of) {
    const uint64_t bits = half_bits_of_double((double)of);
    const uint64_t e = (bits - 0x3fe6a09e667f3bcd + (1023ull << 52)) >> 52; /* biased by 1023 */
    const double m = power_double(bits - (e << 52) + (1023ull << 52));
    const double whole = power_double(e | 0x4330000000000000) - (0x1p52 + 1023);
    const double f = (m - 1) / (m + 1), s = f * f;
    double p = 0x1.89f3b1694cffep-3; /* 2 / (15 ln 2) and so on */
    p = p * s + 0x1.c68f568d31760p-3;
    p = p * s + 0x1.0c9a84994022dp-2;
    p = p * s + 0x1.484b13d7c02a9p-2;
    p = p * s + 0x1.a61762a7aded9p-2;
    p = p * s + 0x1.2776c50ef9bfep-1;
    p = p * s + 0x1.ec709dc3a03fdp-1;
    p = p * s + 0x1.71547652b82fep+1;
    const float infinity = __builtin_inff();
    uint32_t v = half_bits_of_float((float)(p * f + whole));
    v = half_choose(of == 0, half_bits_of_float(-infinity), v);
    return half_float_of_bits(half_choose(of < infinity, v, half_bits_of_float(of)));
}

#endif
