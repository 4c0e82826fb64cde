/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of one PTX instruction in one thread, written from the text of the PTX ISA as a
 * reference for the handlers. It shares no code and no method with them: integers are 128 bits
 * wide, and bits move one at a time. Real numbers are __float128 with the error tracked, rounded to
 * any format in any direction by aluref_round.
 */
#ifndef TEST_LIB_ALUREF_H
#define TEST_LIB_ALUREF_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

typedef __int128 aluref_int;
typedef unsigned __int128 aluref_uint;
typedef __float128 aluref_real;

struct aluref {
    const struct ptx_inst *inst;
    uint64_t
        /* register contents; predicates are 0 or 1, already negated where the instruction says
         * so */
        src[4];
    uint32_t d_bytes; /* width of the destination's register */
    bool carry;       /* CC.CF, in and out */
    bool signs;       /* inside the reference: the signs of a and b differ */
    uint64_t d, d2;   /* results in the register's width */
    uint64_t ulps;    /* largest error of an approximate result in units in the last place */
};

/* Returns false for an instruction that the reference does not know, which fails the test. */
bool aluref_run(struct aluref *r);

bool aluref_integer(struct aluref *r);
bool aluref_carry(struct aluref *r);
bool aluref_bits(struct aluref *r);
bool aluref_video(struct aluref *r);
bool aluref_arithmetic(struct aluref *r); /* f32 f64 f16 bf16 and pairs */
bool aluref_compare(struct aluref *r);
bool aluref_convert(struct aluref *r);

/* ---- numbers ---- */
aluref_int aluref_value(uint64_t bits, enum ptx_type t); /* for integer types */
uint64_t aluref_ones(uint32_t bits);
aluref_real aluref_decode(uint64_t bits, enum ptx_type t); /* for floating-point types */
/* Returns `v`, or zero with v's sign if it is a subnormal of `t`. */
aluref_real aluref_flush(aluref_real v, enum ptx_type t);
uint64_t aluref_nan(enum ptx_type t);
/* The pattern in `t` of v + error. Of `error` only the sign counts; |error| is less than half a
 * unit in v's last place. A zero result keeps v's sign. */
uint64_t aluref_round(aluref_real v, aluref_real error, enum ptx_type t, enum ptx_round mode);
/* The rounded sum, and in *error the rounding error. */
aluref_real aluref_sum(aluref_real a, aluref_real b, aluref_real *error);
bool aluref_negative(aluref_real v); /* true when the sign bit is set, also for zeros */

#endif
