/* SPDX-License-Identifier: Apache-2.0
 *
 * x = k ln 2 + r with |r| <= ln 2 / 2, and a Taylor series for e^r: its 15th term is below 2^-60.
 */
#include "daemon/serve/plan/outlook/expo.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TERMS 14
#define LOG2_E 1.4426950408889634
#define LN2_HIGH 0x1.62e42feep-1 /* the product with k is exact */
#define LN2_LOW 0x1.a39ef35793c76p-33

/* Computes e^r - 1. */
static double series(double r) {
    double sum = 0;
    for (int n = TERMS; n > 0; n--)
        sum = r / n * (1 + sum);
    return sum;
}

static double two_to(int k) {
    uint64_t bits = (uint64_t)(1023 + k) << 52;
    double d;
    memcpy(&d, &bits, sizeof(d));
    return d;
}

double expo(double x) {
    if (x > EXPO_MOST) return INFINITY;
    if (x < -EXPO_MOST) return 0;
    int k = (int)(x * LOG2_E + (x < 0 ? -0.5 : 0.5));
    double r = x - k * LN2_HIGH - k * LN2_LOW;
    return two_to(k) * (1 + series(r));
}

double expo_less_one(double x) {
    return x > -0.3 ? series(x) : expo(x) - 1;
}

double expo_power(double x, unsigned n) {
    double product = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) product *= x;
    return product;
}
