/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of matrices: conversions between bits and values, and random elements, for tests of
 * instructions that multiply and move matrices.
 */
#ifndef TEST_LIB_MATRIXREF_H
#define TEST_LIB_MATRIXREF_H

#include <stdbool.h>
#include <stdint.h>

/* Formats of 6 and 4 bits occupy a byte each, as in mma, except for the last kind. */
enum matrixref_kind {
    F16,
    BF16,
    TF32,
    F32,
    F64,
    E4M3,
    E5M2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
    E3M2,
    E2M3,
    E2M1,
    E2M1_DENSE
};

extern const uint32_t matrixref_widths[]; /* in bits */
extern const char *const matrixref_names[];

double matrixref_value(enum matrixref_kind kind, uint64_t v); /* v: the element's bits */
/* The bits of a sum: `f` for f16 and f32, `d` for f64. NaNs are as the software GPU writes them. */
uint64_t matrixref_bits(enum matrixref_kind kind, double d, float f);

/* How c + x[0] * y[0] + ... is added: terms that are added at once are truncated below the
 * largest exponent among them. `group`: by wgmma. */
struct matrixref_form {
    enum matrixref_kind d, a, b, c;
    bool group;
};
float matrixref_sum(const struct matrixref_form *f, double c, const double *x, const double *y,
                    unsigned count);

uint64_t matrixref_dice(void);
/* Random bits of every kind; `tame`: numbers of similar size, so that sums do not cancel. */
uint64_t matrixref_random(enum matrixref_kind kind, bool tame);

#endif
