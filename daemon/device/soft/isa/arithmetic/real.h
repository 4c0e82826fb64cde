/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of PTX for f32 and f64 that go beyond IEEE 754: one NaN, flushing of subnormals, clamping.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_REAL_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_REAL_H

#include <fenv.h>

#include "daemon/device/soft/code/code.h"

/* The hardware's NaN results: 0x7fffffff and 0xfff8000000000000. */
#define REAL_NAN32 __builtin_nanf("0x3fffff")
#define REAL_NAN64 (-__builtin_nan(""))

static inline float real_nan32(float x) {
    return x == x ? x : REAL_NAN32;
}
static inline double real_nan64(double x) {
    return x == x ? x : REAL_NAN64;
}

/* Converts a rounding to the value that fesetround takes. */
static inline int real_mode(uint8_t round) {
    switch (round) {
    case PTX_RZ: return FE_TOWARDZERO;
    case PTX_RM: return FE_DOWNWARD;
    case PTX_RP: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

/* .ftz: subnormals become zeros of the same sign. */
static inline float real_flush(float x) {
    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}

/* .ftz of a result that may have been rounded. A result that with an unbounded exponent is below
 * the least normal number becomes zero, even if rounding to a subnormal's places reaches that
 * number. `scaled` is the same result for operands REAL_UP times as large. */
#define REAL_UP 0x1p32f
static inline float real_flush_tiny(float v, float scaled) {
    return __builtin_fabsf(scaled) < 0x1p-126f * REAL_UP ? __builtin_copysignf(0.0f, v) : v;
}

/* .sat: clamps to [+0, 1]; NaN becomes +0. */
static inline float real_sat(float x) {
    return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
}
static inline double real_sat64(double x) {
    return x > 0.0 ? x < 1.0 ? x : 1.0 : 0.0;
}

/* Returns the lesser of two numbers. -0 is less than +0; NaN is returned only if both are NaN. */
static inline float real_min32(float x, float y) {
    return ((x < y) | (y != y) | ((x == y) & (__builtin_copysignf(1.0f, x) < 0))) ? x : y;
}
static inline double real_min64(double x, double y) {
    return ((x < y) | (y != y) | ((x == y) & (__builtin_copysign(1.0, x) < 0))) ? x : y;
}

/* min and max with all their modifiers. The caller has flushed `x` and `y`; max is the mirror image
 * of min. */
static inline float real_choose32(float x, float y, bool max, uint32_t mods) {
    const float sign = __builtin_copysignf(1.0f, x) * __builtin_copysignf(1.0f, y);
    if (mods & PTX_MOD_XORSIGN) x = __builtin_fabsf(x), y = __builtin_fabsf(y);
    float v = max ? -real_min32(-x, -y) : real_min32(x, y);
    if (mods & PTX_MOD_NAN) v = ((x != x) | (y != y)) ? REAL_NAN32 : v;
    if (mods & PTX_MOD_XORSIGN) v = __builtin_copysignf(v, sign);
    return real_nan32(v);
}
#endif
