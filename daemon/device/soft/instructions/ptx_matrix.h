/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that move and multiply matrices held by a warp together: mma, wmma, ldmatrix,
 * stmatrix, movmatrix. Finds the existing shapes and types, and the number of registers of each
 * lane that hold a part. Source: "Parallel Thread Execution ISA", "Warp Level Matrix Instructions".
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_MATRIX_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_rules.h"

/* X(NAME, "spelling", bits of an element) */
/* clang-format off */
#define PTX_ELEMENTS(X)                                                                            \
    X(F16, "f16", 16) X(BF16, "bf16", 16) X(TF32, "tf32", 32) X(F32, "f32", 32) X(F64, "f64", 64)   \
    X(E4M3, "e4m3", 8) X(E5M2, "e5m2", 8) X(S8, "s8", 8) X(U8, "u8", 8) X(S4, "s4", 4)              \
    X(U4, "u4", 4) X(B1, "b1", 1) X(S32, "s32", 32) X(B16, "b16", 16)                               \
    X(E3M2, "e3m2", 8) X(E2M3, "e2m3", 8) X(E2M1, "e2m1", 8) /* each in a byte */                  \
    X(E2M1_DENSE, "", 4) /* e2m1 where both factors have 4 bits, without gaps */                \
    X(B8, "b8", 8) X(B6, "b6x16_p32", 8) X(B4, "b4x16_p64", 8) /* b6, b4: each in a byte of a register */
/* clang-format on */

enum ptx_element {
#define X(name, text, bits) PTX_ELEMENT_##name,
    PTX_ELEMENTS(X)
#undef X
        PTX_ELEMENT_COUNT
};

uint32_t ptx_element_bits(enum ptx_element e);

enum ptx_matrix_verb {
    PTX_MATRIX_MULTIPLY, /* d = a * b + c */
    PTX_MATRIX_LOAD,     /* wmma.load, wmma.store: a fragment from or to memory */
    PTX_MATRIX_STORE,
    PTX_MATRIX_LOAD_ROWS, /* ldmatrix, stmatrix: lanes point to rows of 16 bytes */
    PTX_MATRIX_STORE_ROWS,
    PTX_MATRIX_TRANSPOSE, /* movmatrix */
};

/* A lane's part of a matrix. */
struct ptx_fragment {
    uint8_t element; /* enum ptx_element */
    uint8_t regs;    /* 32-bit registers; 64-bit for f64 */
};

struct ptx_matrix {
    uint8_t verb;
    char part;                      /* wmma.load, wmma.store: 'a' 'b' 'c' 'd' */
    uint16_t m, n, k;               /* a is m x k, b is k x n, c and d are m x n */
    struct ptx_fragment a, b, c, d; /* a matrix that is only moved is d */
    bool a_col, b_col; /* stored by columns; a_col also for a matrix that is only moved */
    bool satfinite, conjunction, trans; /* conjunction: b1, and instead of xor */
    uint8_t round;                      /* enum ptx_round */
    /* Lanes of a group of four that have the metadata of a, which has half of its values: 1, 2 or
     * 4; 0: a has all its values. */
    uint8_t sparse;
    uint8_t scales; /* scales of a row of a and of a column of b: 1, 2 or 4; 0: there are none */
    bool fractions; /* the scales are ue4m3, not ue8m0 */
};

/* True for the operations that this file knows. */
bool ptx_matrix_is(enum ptx_op op);
/* Matches `text` against the forms of `op`. Returns false with `why` filled if none fits. */
bool ptx_matrix_find(enum ptx_op op, const char *text, struct ptx_matrix *out, char *why,
                     size_t why_bytes);
/* As ptx_matrix_find, and fills `sig` with the permitted operands, like ptx_rules_match. */
bool ptx_matrix_match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                      size_t why_bytes);

#endif
