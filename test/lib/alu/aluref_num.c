/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference's numbers: converts patterns to exact values and back.
 */
#include <math.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "test/lib/alu/aluref.h"

uint64_t aluref_ones(uint32_t bits) {
    return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

aluref_int aluref_value(uint64_t bits, enum ptx_type t) {
    const uint32_t n = 8 * ptx_type_bytes(t);
    aluref_int v = bits & aluref_ones(n);
    if (ptx_type_class(t) == 's' && v >> (n - 1)) v -= (aluref_int)1 << n;
    return v;
}

struct format {
    int mantissa, bias; /* mantissa: bits after the binary point */
    int drop;           /* low bits of the pattern that are always zero */
    uint64_t nan;
};

static struct format format_of(enum ptx_type t) {
    switch (t) {
    case PTX_F16:
    case PTX_F16X2: return (struct format){10, 15, 0, 0x7fff};
    case PTX_BF16:
    case PTX_BF16X2: return (struct format){7, 127, 0, 0x7fff};
    case PTX_TF32: return (struct format){10, 127, 13, 0x7fffffff};
    case PTX_F32: return (struct format){23, 127, 0, 0x7fffffff};
    default: return (struct format){52, 1023, 0, 0xfff8000000000000};
    }
}

uint64_t aluref_nan(enum ptx_type t) {
    return format_of(t).nan;
}

bool aluref_negative(aluref_real v) {
    return v < 0 || (v == 0 && 1 / v < 0);
}

aluref_real aluref_decode(uint64_t bits, enum ptx_type t) {
    const struct format f = format_of(t);
    const uint64_t exponent_ones = (uint64_t)(2 * f.bias + 1);
    const uint64_t mantissa = bits & aluref_ones((uint32_t)f.mantissa);
    const uint64_t exponent = bits >> f.mantissa & exponent_ones;
    /* callers pass no bits above the sign */
    const bool negative = bits >> f.mantissa > exponent_ones;
    aluref_real v;
    if (exponent == exponent_ones)
        v = mantissa ? (aluref_real)NAN : (aluref_real)INFINITY;
    else if (exponent)
        v = ldexpl((long double)(mantissa | 1ull << f.mantissa),
                   (int)exponent - f.bias - f.mantissa);
    else
        v = ldexpl((long double)mantissa, 1 - f.bias - f.mantissa);
    return negative ? -v : v;
}

aluref_real aluref_flush(aluref_real v, enum ptx_type t) {
    const aluref_real least = ldexpl(1, 1 - format_of(t).bias);
    if (v > -least && v < least) return aluref_negative(v) ? -(aluref_real)0 : (aluref_real)0;
    return v;
}

aluref_real aluref_sum(aluref_real a, aluref_real b, aluref_real *error) {
    const aluref_real s = a + b;
    const aluref_real t = s - a;
    *error = (a - (s - t)) + (b - t);
    if (s - s != 0) *error = 0; /* infinite or NaN */
    return s;
}

/* v = m * 2^e with m of 113 bits; v finite and not zero. */
static aluref_uint mantissa_of(aluref_real v, int *e) {
    aluref_uint bits;
    memcpy(&bits, &v, sizeof(bits));
    *e = (int)(bits >> 112 & 0x7fff) - 16383 - 112;
    return (bits & (((aluref_uint)1 << 112) - 1)) | (aluref_uint)1 << 112;
}

static bool rounds_up(bool negative, bool odd, int against_half, bool inexact,
                      enum ptx_round mode) {
    switch (mode) {
    case PTX_RZ:
    case PTX_RZI: return false;
    case PTX_RM:
    case PTX_RMI: return negative && inexact;
    case PTX_RP:
    case PTX_RPI: return !negative && inexact;
    case PTX_RNA: return against_half >= 0;
    default: return against_half > 0 || (against_half == 0 && odd);
    }
}

uint64_t aluref_round(aluref_real v, aluref_real error, enum ptx_type t, enum ptx_round mode) {
    const struct format f = format_of(t);
    const uint64_t infinity = (uint64_t)(2 * f.bias + 1) << f.mantissa;
    const bool negative = aluref_negative(v);
    const uint64_t sign = (uint64_t)negative << (f.mantissa + (f.bias > 1000 ? 11
                                                               : f.bias > 15 ? 8
                                                                             : 5));
    if (v != v) return f.nan;
    if (v == 0) return sign << f.drop;
    if (v - v != 0) return (sign | infinity) << f.drop;
    int e;
    aluref_uint m = mantissa_of(v, &e) << 4;
    e -= 4;
    /* a sticky bit, far below the last place */
    if (error != 0) m = (error > 0) != negative ? m + 1 : m - 1;
    int top = 127; /* position of the leading bit */
    while (!(m >> top & 1))
        top--;
    int place = e + top - f.mantissa; /* position of the last mantissa bit of the result */
    if (place < 1 - f.bias - f.mantissa) place = 1 - f.bias - f.mantissa;
    const int shift = place - e;
    const aluref_uint kept = shift >= 128 ? 0 : m >> shift;
    const aluref_uint half = (aluref_uint)1 << (shift > 127 ? 127 : shift - 1);
    const aluref_uint rest = shift >= 128 ? (shift > 128 ? 1 : m) : m & (2 * half - 1);
    const int against = shift > 128 ? -1 : rest > half ? 1 : rest == half ? 0 : -1;
    const bool up = rounds_up(negative, kept & 1, against, rest != 0, mode);
    const uint64_t digits = (uint64_t)kept + up;
    /* The exponent field counts from the least position; a carry out of the digits increments
     * the field by itself. */
    const uint64_t field = (uint64_t)(place - (1 - f.bias - f.mantissa));
    uint64_t pattern = (field << f.mantissa) + digits;
    if (pattern >= infinity)
        pattern = rounds_up(negative, true, 1, true, mode) ? infinity : infinity - 1;
    return (sign | pattern) << f.drop;
}
