/* SPDX-License-Identifier: Apache-2.0
 *
 * Sines and cosines of floats near 0, without branches, for the vectoriser. As in power.h, the
 * results are computed in double precision to about 12 digits and rounded once, with the same bits
 * in every build.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_CIRCLE_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_CIRCLE_H

#include <stdint.h>

#include "daemon/device/soft/isa/arithmetic/power.h"

#define CIRCLE_NEAR 0x1p17f /* the functions hold only below this, for either sign */

/* An angle is an integral number of quarter turns plus a rest of at most an eighth. Pi / 2 is
 * subtracted in two parts; the first is so short that its products are exact. */
struct circle_angle {
    uint64_t quarters; /* only the last two bits count */
    double rest;
};

static inline struct circle_angle circle_angle(float of) {
    const double x = (double)of, near = x * 0x1.45f306dc9c883p-1 + POWER_WHOLE,
                 n = near - POWER_WHOLE;
    return (struct circle_angle){half_bits_of_double(near),
                                 (x - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a626331p-34};
}

/* Computes the series for the rest's sine or cosine, as the last bit of the quarters says. The next
 * bit is the sign. */
static inline float circle_value(uint64_t quarters, double rest) {
    const double s = rest * rest;
    double sine = 0x1.6124613a86d09p-33; /* 1 / 13! and so on */
    sine = sine * s - 0x1.ae64567f544e4p-26;
    sine = sine * s + 0x1.71de3a556c734p-19;
    sine = sine * s - 0x1.a01a01a01a01ap-13;
    sine = sine * s + 0x1.1111111111111p-7;
    sine = sine * s - 0x1.5555555555555p-3;
    sine = (sine * s + 1) * rest;
    double cosine = -0x1.93974a8c07c9dp-37; /* -1 / 14! and so on */
    cosine = cosine * s + 0x1.1eed8eff8d898p-29;
    cosine = cosine * s - 0x1.27e4fb7789f5cp-22;
    cosine = cosine * s + 0x1.a01a01a01a01ap-16;
    cosine = cosine * s - 0x1.6c16c16c16c17p-10;
    cosine = cosine * s + 0x1.5555555555555p-5;
    cosine = cosine * s - 0x1.0000000000000p-1;
    cosine = cosine * s + 1;
    const uint64_t odd = 0 - (quarters & 1);
    const uint64_t bits = (half_bits_of_double(cosine) & odd) | (half_bits_of_double(sine) & ~odd);
    return (float)power_double(bits ^ (quarters & 2) << 62);
}

static inline float circle_sin(float of) {
    const struct circle_angle a = circle_angle(of);
    return circle_value(a.quarters, a.rest);
}

static inline float circle_cos(float of) {
    const struct circle_angle a = circle_angle(of);
    return circle_value(a.quarters + 1, a.rest);
}

#endif
