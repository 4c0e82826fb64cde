/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts through the exponent; every half is exact as a double.
 */
#include "daemon/serve/infer/half.h"

#include <math.h>

#define BEYOND 65520.0 /* halfway between the largest half and the next step */

uint16_t half_pack(double v) {
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v);
    int e;

    if (isnan(v)) return sign | 0x7e00;
    if (a >= BEYOND) return sign | 0x7c00;
    /* subnormal; a result of 1024 is the smallest normal number. */
    if (a < 0x1p-14) return sign | (uint16_t)rint(a * 0x1p24);
    double m = frexp(a, &e); /* 0.5 <= m < 1 */
    /* If the mantissa is rounded up to 2048, the carry increments the exponent. */
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
