/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/ptx/matrixref.h"

#include <math.h>
#include <string.h>

/* ---- elements: bits to values and back ------------------------------------------------------- */

const char *const matrixref_names[] = {"f16",  "bf16", "tf32", "f32",  "f64", "e4m3",
                                       "e5m2", "s8",   "u8",   "s4",   "u4",  "b1",
                                       "s32",  "e3m2", "e2m3", "e2m1", "e2m1"};

const uint32_t matrixref_widths[] = {16, 16, 32, 32, 64, 8, 8, 8, 8, 4, 4, 1, 32, 8, 8, 8, 4};

static double small_float(uint64_t v, int exponent_bits, int mantissa_bits, bool infinities) {
    int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    int e = (int)(v >> mantissa_bits) & top, m = (int)(v & ((1u << mantissa_bits) - 1));
    double sign = v >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
    if (infinities && e == top) return m ? (double)NAN : sign * (double)INFINITY;
    if (!infinities && e == top && m == (1 << mantissa_bits) - 1) return (double)NAN;
    return e ? sign * ldexp(m + (1 << mantissa_bits), e - bias - mantissa_bits)
             : sign * ldexp(m, 1 - bias - mantissa_bits);
}

/* Every bit pattern is a number: the format has no infinity and no NaN. */
static double tiny_float(uint64_t v, int exponent_bits, int mantissa_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1,
        e = (int)(v >> mantissa_bits) & ((1 << exponent_bits) - 1);
    int m = (int)v & ((1 << mantissa_bits) - 1);
    double size = ldexp(e ? m + (1 << mantissa_bits) : m, (e ? e : 1) - bias - mantissa_bits);
    return v >> (exponent_bits + mantissa_bits) & 1 ? -size : size;
}

double matrixref_value(enum matrixref_kind kind, uint64_t v) {
    double d;
    switch (kind) {
    case F16: return small_float(v, 5, 10, true);
    case BF16: return small_float(v, 8, 7, true);
    case TF32: return small_float(v >> 13, 8, 10, true);
    case F32: return small_float(v, 8, 23, true);
    case E4M3: return small_float(v, 4, 3, false);
    case E5M2: return small_float(v, 5, 2, true);
    case E3M2: return tiny_float(v & 63, 3, 2);
    case E2M3: return tiny_float(v & 63, 2, 3);
    case E2M1: return tiny_float(v >> 2 & 15, 2, 1);
    case E2M1_DENSE: return tiny_float(v & 15, 2, 1);
    case S8: return (int8_t)v;
    case S4: return (int)(v & 15) - (v & 8 ? 16 : 0);
    case S32: return (int32_t)v;
    case F64: memcpy(&d, &v, sizeof(d)); return d;
    default: return (double)v;
    }
}

static uint64_t f16_of(float x) {
    int e;
    uint64_t sign = signbit(x) ? 0x8000 : 0;
    if (x != x) return 0x7fff;
    if (isinf(x)) return sign | 0x7c00;
    double m = fabs(frexp((double)x, &e)); /* [0.5, 1) * 2^e */
    int place = e - 11 > -24 ? e - 11 : -24;
    double rounded = nearbyint(ldexp(m, e - place)); /* in units of 2^place */
    if (ldexp(rounded, place) >= 65520) return sign | 0x7c00;
    for (uint64_t v = 0; v < 0x7c00; v += 0x400) /* v has the exponent of an f16 */
        for (double u = ldexp(rounded, place); u < small_float(v + 0x400, 5, 10, true);)
            return sign | (v + (uint64_t)((u - small_float(v, 5, 10, true)) /
                                          (v ? ldexp(1, (int)(v >> 10) - 25) : 0x1p-24)));
    return sign | 0x7c00;
}

uint64_t matrixref_bits(enum matrixref_kind kind, double d, float f) {
    uint64_t v = 0;
    switch (kind) {
    case F16: return f16_of(f);
    case F32: memcpy(&v, &f, sizeof(f)); return f != f ? 0x7fffffff : v;
    default:
        memcpy(&v, &d, sizeof(d));
        return d != d ? 0xfff8000000000000 : v; /* the NaN that real_nan64 gives */
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Subnormals count with the exponent they are encoded with. fp8 is converted to f16 first,
 * except by wgmma. */
static int exponent_of(enum matrixref_kind kind, bool group, double v) {
    const int least = kind == BF16 || kind == TF32 || kind == F32 ? -126
                      : kind == E4M3 && group                     ? -6
                                                                  : -14;
    return ilogb(v) > least ? ilogb(v) : least;
}

/* Rounds towards zero to `bits` bits after the leading one, or to the last place of a subnormal
 * f32. `odd`: sets the last bit if any lower bit was set. */
static float cut(double v, int bits, bool odd) {
    if (v == 0 || fabs(v) >= 0x1p128) return v == 0 ? 0 : copysignf(INFINITY, (float)v);
    int place = ilogb(v) - bits;
    if (place < -149) place = -149;
    double whole = trunc(ldexp(v, -place));
    if (odd && ldexp(whole, place) != v && fmod(whole, 2) == 0) whole += v < 0 ? -1 : 1;
    return (float)ldexp(whole, place);
}

static float added(const struct matrixref_form *f, double c, const double *x, const double *y,
                   unsigned count) {
    const bool coarse = f->group && matrixref_widths[f->a] == 8;
    const int places = coarse ? 13 : 25;
    int top = -1000;
    double plain = c;
    int64_t sum = 0;
    if (c != 0 && isfinite(c)) top = exponent_of(f->c, f->group, c);
    for (unsigned k = 0; k < count; k++) {
        plain += x[k] * y[k];
        if (x[k] == 0 || y[k] == 0 || !isfinite(x[k] * y[k])) continue;
        const int e = exponent_of(f->a, f->group, x[k]) + exponent_of(f->b, f->group, y[k]);
        top = e > top ? e : top;
    }
    if (!isfinite(plain)) return (float)plain;
    sum = (int64_t)ldexp(c, places - top);
    for (unsigned k = 0; k < count; k++)
        sum += (int64_t)ldexp(x[k] * y[k], places - top);
    return cut(ldexp((double)sum, top - places), coarse ? 13 : 23, f->d == F16 && f->c == F16);
}

float matrixref_sum(const struct matrixref_form *f, double c, const double *x, const double *y,
                    unsigned count) {
    const bool halves = f->d == F16;
    double part_x[64], part_y[64], sum = 0;
    if (matrixref_widths[f->a] != 8 || f->group) return added(f, c, x, y, count);
    for (unsigned half = 0; half < 2; half++) { /* two of each four values */
        for (unsigned k = 0; k < count / 2; k++) {
            part_x[k] = x[k / 2 * 4 + half * 2 + k % 2];
            part_y[k] = y[k / 2 * 4 + half * 2 + k % 2];
        }
        sum = added(f, sum, part_x, part_y, count / 2);
        if (halves) sum = matrixref_value(F16, f16_of((float)sum));
    }
    sum += c; /* exact for two f16; rounded down for two f32 */
    return (float)sum;
}

uint64_t matrixref_dice(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 32 ^ state << 32;
}

uint64_t matrixref_random(enum matrixref_kind kind, bool tame) {
    uint64_t v = matrixref_dice() &
                 (matrixref_widths[kind] == 64 ? UINT64_MAX : (1ull << matrixref_widths[kind]) - 1);
    if (!tame) return v;
    switch (kind) {
    case F16: return (v & 0x83ff) | (12 + matrixref_dice() % 6) << 10;
    case BF16: return (v & 0x807f) | (120 + matrixref_dice() % 10) << 7;
    case TF32:
    case F32: return (v & 0x807fffff) | (120 + matrixref_dice() % 10) << 23;
    case F64: return (v & 0x800fffffffffffff) | (1015 + matrixref_dice() % 10) << 52;
    default: return v;
    }
}
