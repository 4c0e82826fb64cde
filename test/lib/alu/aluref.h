/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of one PTX instruction in one thread, written from the text of the PTX ISA for tests
 * to compare the handlers with. It shares no code and no method with them: integers are 128 bits
 * wide, bits are moved one at a time, and real numbers are __float128 with the error kept, rounded
 * to any format in any direction by aluref_round.
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
        src[4]; /* registers' bits; predicates 0 or 1, already negated where the text says so */
    uint32_t d_bytes; /* width of the destination's register */
    bool carry;       /* CC.CF, in and out */
    bool signs;       /* inside: the signs of a and b differ */
    uint64_t d, d2;   /* results in the register's width */
    uint64_t ulps;    /* how many units in the last place an approximate result may be off */
};

/* False: an instruction that the reference does not know, which fails the test. */
bool aluref_run(struct aluref *r);

bool aluref_integer(struct aluref *r);
bool aluref_carry(struct aluref *r);
bool aluref_bits(struct aluref *r);
bool aluref_video(struct aluref *r);
bool aluref_arithmetic(struct aluref *r); /* f32 f64 f16 bf16 and pairs */
bool aluref_compare(struct aluref *r);
bool aluref_convert(struct aluref *r);

/* ---- numbers ---- */
aluref_int aluref_value(uint64_t bits, enum ptx_type t); /* of integers */
uint64_t aluref_ones(uint32_t bits);
aluref_real aluref_decode(uint64_t bits, enum ptx_type t); /* of a real type */
aluref_real aluref_flush(aluref_real v, enum ptx_type t);  /* subnormals of that type to zero */
uint64_t aluref_nan(enum ptx_type t);
/* The pattern in `t` of v + error, where error is less than half a last place of v. Zeros keep v's
 * sign. */
uint64_t aluref_round(aluref_real v, aluref_real error, enum ptx_type t, enum ptx_round mode);
/* Sum and its error. */
aluref_real aluref_sum(aluref_real a, aluref_real b, aluref_real *error);
bool aluref_negative(aluref_real v); /* the sign, also of zeros */

#endif
