/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of products, bit for bit as a matrix unit of sm_90 computes them: all products and c at
 * once. Each term is exact, and is truncated (towards zero) `places` places below the largest
 * exponent among the terms. The exponent of a product is the sum of its factors' exponents. The
 * truncated terms are added exactly, and the sum is truncated to the result's places. Source:
 * measured on an H200, docs/results/2026-11-ptx-on-h200.md.
 *
 * Eight columns are computed at a time. Stateless, for any thread.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_MATRIX_FUSED_H
#define DAEMON_DEVICE_SOFT_ISA_MATRIX_FUSED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "daemon/device/soft/isa/arithmetic/half.h"

#define FUSED_COLUMNS 8
#define FUSED_MOST 32 /* products of a sum */
#define FUSED_PLACES 25
/* Places for fp8 in wgmma, and bits of its results' mantissa. */
#define FUSED_PLACES_FP8 13

/* Exponents that no number and no sum of two exponents has: for infinities and NaNs, and for
 * zeros. */
#define FUSED_SPECIAL 30000
#define FUSED_ZERO (-10000)

struct fused {
    int32_t places;                    /* places below the largest exponent */
    int32_t least_x, least_y, least_c; /* exponents of subnormals */
    unsigned cut;                      /* bits of a double's mantissa that a result lacks */
    /* round to odd: the last bit kept is set if any bit cut off was, so that a second rounding is
     * right */
    bool odd;
};

static inline int32_t fused_exponent(float x, int32_t least) {
    const uint32_t bits = half_bits_of_float(x) & 0x7fffffff;
    int32_t e = (int32_t)(bits >> 23) - 127;
    e = e > least ? e : least;
    e = bits >= 0x7f800000 ? FUSED_SPECIAL : e;
    return bits ? e : FUSED_ZERO;
}

static inline double fused_power(int32_t e) {
    const uint64_t bits = (uint64_t)(int64_t)(e + 1023) << 52;
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* Rounds the exact sum to a float. Subnormals have fewer places. */
static inline float fused_result(double v, const struct fused *f) {
    const uint64_t lost = ((uint64_t)1 << f->cut) - 1;
    if (__builtin_fabs(v) < 0x1p-126) return (float)((double)(int32_t)(v * 0x1p149) * 0x1p-149);
    uint64_t bits = half_bits_of_double(v);
    bits = (bits & ~lost) | (uint64_t)(f->odd && bits & lost) << f->cut;
    memcpy(&v, &bits, sizeof(v));
    return (float)v; /* exact, or infinity */
}

/* Computes the sums of columns that contain infinities or NaNs. Other columns are left alone. */
static inline void fused_special(float *v, const float *x, const float *const *y, unsigned count,
                                 const int32_t *top) {
    for (unsigned n = 0; n < FUSED_COLUMNS; n++) {
        if (top[n] < -FUSED_ZERO) continue;
        double sum = (double)v[n];
        for (unsigned k = 0; k < count; k++)
            sum += (double)x[k] * (double)y[k][n];
        v[n] = (float)sum;
    }
}

/* Computes the sums for any values. */
static inline void fused_sums_any(const struct fused *f, float *v, const float *x,
                                  const float *const *y, unsigned count) {
    int32_t top[FUSED_COLUMNS], largest = FUSED_ZERO;
    double sum[FUSED_COLUMNS], scale[FUSED_COLUMNS], keep[FUSED_COLUMNS];
    for (unsigned n = 0; n < FUSED_COLUMNS; n++)
        top[n] = fused_exponent(v[n], f->least_c);
    for (unsigned k = 0; k < count; k++) {
        const int32_t e = fused_exponent(x[k], f->least_x);
        for (unsigned n = 0; n < FUSED_COLUMNS; n++) {
            const int32_t both = e + fused_exponent(y[k][n], f->least_y);
            top[n] = both > top[n] ? both : top[n];
        }
    }
    for (unsigned n = 0; n < FUSED_COLUMNS; n++) {
        const bool number = top[n] > -600 && top[n] < 600;
        largest = top[n] > largest ? top[n] : largest;
        scale[n] = fused_power(number ? f->places - top[n] : 0);
        keep[n] = top[n] < 600 ? 1 : 0;
        sum[n] = (double)(int32_t)(keep[n] != 0 ? (double)v[n] * scale[n] : 0);
    }
    for (unsigned k = 0; k < count; k++) {
        const double factor = (double)x[k];
        for (unsigned n = 0; n < FUSED_COLUMNS; n++) {
            const double product = factor * (double)y[k][n] * scale[n];
            sum[n] += (double)(int32_t)(keep[n] != 0 ? product : 0);
        }
    }
    if (largest > 600) fused_special(v, x, y, count, top);
    for (unsigned n = 0; n < FUSED_COLUMNS; n++)
        if (keep[n] != 0) v[n] = fused_result(sum[n] / scale[n], f);
}

/* ---- ordinary numbers ---------------------------------------------------------------------------
 *
 * Computes all columns at once in floats and integers. Where the largest exponents lie near 0, a
 * product is either exact as a float or too small to count; and 32 bits have space for this many
 * terms. */

#define FUSED_NEAR 60

typedef float fused_floats __attribute__((vector_size(4 * FUSED_COLUMNS)));
typedef int32_t fused_ints __attribute__((vector_size(4 * FUSED_COLUMNS)));

/* The functions below take and return vectors by address, since without AVX vectors cannot be
 * results or parameters. */
#define FUSED_CHOOSE(of, a, b) (((a) & (of)) | ((b) & ~(of)))

static inline void fused_exponents(fused_ints *out, const float *x, int32_t least) {
    const fused_ints none = {0};
    fused_ints bits;
    memcpy(&bits, x, sizeof(bits));
    bits &= 0x7fffffff;
    fused_ints e = (bits >> 23) - 127;
    e = FUSED_CHOOSE(e > least, e, none + least);
    e = FUSED_CHOOSE(bits >= 0x7f800000, none + FUSED_SPECIAL, e);
    *out = FUSED_CHOOSE(bits == 0, none + FUSED_ZERO, e);
}

/* Rows of columns, and their exponents. */
struct fused_rows {
    const float *y[FUSED_MOST];
    fused_ints e[FUSED_MOST];
};

static inline void fused_take(const struct fused *f, struct fused_rows *r, unsigned k,
                              const float *y) {
    r->y[k] = y;
    fused_exponents(&r->e[k], y, f->least_y);
}

/* Computes the largest exponent of each column. For a column of zeros the result is one that scales
 * by 1. Returns true if all lie near 0 (FUSED_NEAR), as fused_sums needs them. */
static inline bool fused_near(const struct fused *f, const float *v, const float *x,
                              const fused_ints *e, unsigned count, fused_ints *out) {
    const fused_ints none = {0};
    fused_ints top;
    fused_exponents(&top, v, f->least_c);
    for (unsigned k = 0; k < count; k++) {
        const fused_ints both = e[k] + fused_exponent(x[k], f->least_x);
        top = FUSED_CHOOSE(both > top, both, top);
    }
    const fused_ints zero = top < FUSED_ZERO / 2;
    const fused_ints far = (top > FUSED_NEAR) | ((top < -FUSED_NEAR) & ~zero);
    int32_t any = 0;
    *out = FUSED_CHOOSE(zero, none + f->places, top);
    for (unsigned n = 0; n < FUSED_COLUMNS; n++)
        any |= far[n];
    return !any;
}

/* v[n] += x[k] * y[k][n] for `count` values of k, beginning at `first`. */
static inline __attribute__((always_inline)) void fused_sums(const struct fused *f, float *v,
                                                             const float *x,
                                                             const struct fused_rows *rows,
                                                             unsigned first, unsigned count) {
    const float *const *y = rows->y + first;
    fused_ints top, sum = {0};
    x += first;
    if (!fused_near(f, v, x, rows->e + first, count, &top)) {
        fused_sums_any(f, v, x, y, count);
        return;
    }
    const fused_floats scale = (fused_floats)((f->places - top + 127) << 23);
    fused_floats row;
    memcpy(&row, v, sizeof(row));
    const fused_ints c = __builtin_convertvector(row * scale, fused_ints);
    for (unsigned k = 0; k < count; k++) {
        memcpy(&row, y[k], sizeof(row));
        sum += __builtin_convertvector(row * x[k] * scale, fused_ints);
    }
    for (unsigned n = 0; n < FUSED_COLUMNS; n++)
        v[n] = fused_result(((double)sum[n] + (double)c[n]) * fused_power(top[n] - f->places), f);
}

#endif
