/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of build/data/alu (see scripts/gen-alu-ptx), its instructions under test in order, and
 * the results that the reference expects.
 */
#ifndef TEST_LIB_ALUKERNEL_H
#define TEST_LIB_ALUKERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"
#include "test/lib/alu/alucases.h"

#define ALUKERNEL_INSTS 512

struct alusubject {
    const struct ptx_inst *inst;
    struct {
        char name;     /* a b c e: the field of the case; 0: the constant */
        uint32_t bits; /* bits of the operand's register; 1: a predicate */
        bool neg;
        uint64_t constant;
    } src[4];
    uint32_t d_bits, d2_bits; /* d2_bits 0: there is no second result */
    int32_t d, d2;            /* registers */
};

struct alukernel {
    struct ptx_module *module;
    struct ptx_func *func;
    struct alusubject subjects[ALUKERNEL_INSTS];
    uint32_t count;
    char *text;
    size_t bytes;
};

struct aluexpect {
    uint64_t d, d2, ulps;
};

/* Reads build/data/alu/<name>.ptx; ends the process with a message on failure. */
void alukernel_load(struct alukernel *k, const char *name);
void alukernel_finish(struct alukernel *k);

/* The width in a register's name, %a32 or %dp (1). */
uint32_t alukernel_reg_bits(const struct alukernel *k, int32_t reg);
uint64_t alukernel_field(const struct alucase *c, char name);

/* Computes the results of all instructions under test for one thread. */
void alukernel_expect(const struct alukernel *k, const struct alucase *c, bool carry,
                      struct aluexpect *out);
/* True if the result differs from the expected one by at most e->ulps. */
bool alukernel_near(const struct alusubject *s, uint64_t got, const struct aluexpect *e);
void alukernel_print(const struct alusubject *s, const struct alucase *c, uint64_t got,
                     uint64_t want, const char *what);

#endif
