/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of matrices: bits, values, and random ones, for tests of what multiplies and moves them.
 */
#ifndef TEST_LIB_MATRIXREF_H
#define TEST_LIB_MATRIXREF_H

#include <stdbool.h>
#include <stdint.h>

/* Those of 6 and 4 bits are in bytes, as mma has them, but for the last. */
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

double matrixref_value(enum matrixref_kind kind, uint64_t v); /* v: its bits */
/* Of a sum: `f` in f16 and f32, `d` in f64; NaNs as the software GPU writes them. */
uint64_t matrixref_bits(enum matrixref_kind kind, double d, float f);

/* How c + x[0] * y[0] + ... is added: everything that is added at once is cut off below its largest
 * exponent. `group`: by wgmma. */
struct matrixref_form {
    enum matrixref_kind d, a, b, c;
    bool group;
};
float matrixref_sum(const struct matrixref_form *f, double c, const double *x, const double *y,
                    unsigned count);

uint64_t matrixref_dice(void);
/* Of every kind of bits; `tame`: numbers whose sums are near one another. */
uint64_t matrixref_random(enum matrixref_kind kind, bool tame);

#endif
