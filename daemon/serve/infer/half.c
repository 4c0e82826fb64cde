/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions by way of the exponent; every half is exact as a double.
 */
#include "daemon/serve/infer/half.h"

#include <math.h>

#define BEYOND 65520.0 /* halfway between the largest and what would come next */

uint16_t half_pack(double v) {
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v);
    int e;

    if (isnan(v)) return sign | 0x7e00;
    if (a >= BEYOND) return sign | 0x7c00;
    if (a < 0x1p-14) return sign | (uint16_t)rint(a * 0x1p24); /* 1024 is the least normal one */
    double m = frexp(a, &e);                                   /* from 0.5 on, below 1 */
    /* Where the mantissa is rounded up to 2048 the exponent goes up by itself. */
    return sign | (uint16_t)(((unsigned)(e + 14) << 10) + (unsigned)(rint(ldexp(m, 11)) - 1024));
}

double half_unpack(uint16_t h) {
    unsigned m = h & 0x3ff;
    int e = h >> 10 & 0x1f;
    double a;

    if (e == 0x1f)
        a = m ? (double)NAN : (double)INFINITY;
    else
        a = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -a : a;
}
