/* SPDX-License-Identifier: Apache-2.0
 *
 * The forms of instructions that are PTX, as a table of types, modifiers and operands. Each
 * distinct opcode of a module is matched against it once; the result says what each operand may be.
 * Source: "Parallel Thread Execution ISA", version 9.0; ptxas where the text leaves a gap.
 *
 * The table also knows forms that the software GPU cannot run; they are rejected when a kernel
 * needs them. So a form that is not in the table is not PTX. Versions and targets are not checked:
 * an instruction that its .target lacks is accepted here.
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_RULES_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

#define PTX_RULES_VERSION 90 /* newest .version that the table covers completely */

/* Kinds of operands that are permitted at a position. */
enum {
    PTX_WANT_ANY = 1u << 0,     /* not checked */
    PTX_WANT_INT = 1u << 1,     /* an integer literal */
    PTX_WANT_FLOAT4 = 1u << 2,  /* 0f... */
    PTX_WANT_FLOAT8 = 1u << 3,  /* 0d..., 1.5 */
    PTX_WANT_SPECIAL = 1u << 4, /* a special register */
    PTX_WANT_NAME = 1u << 5,    /* the address of a variable */
    PTX_WANT_SINK = 1u << 6,    /* _ */
    PTX_WANT_ADDRESS = 1u << 7,
    PTX_WANT_LABEL = 1u << 8,
    PTX_WANT_PAIR = 1u << 9,       /* d|p is permitted */
    PTX_WANT_ONLY_PAIR = 1u << 10, /* with PAIR: d alone is not permitted */
    PTX_WANT_ELEMENTS = 1u << 11,  /* {...} with the length of .v2, .v4 or .v8, or of `count` */
    PTX_WANT_PARTS = 1u << 12,     /* {...} whose bits together are the type's: mov */
    PTX_WANT_RESULT = 1u << 13,    /* a destination: no literal, no `!` */
    PTX_WANT_ANY_SPACE = 1u << 14, /* an address in any space, that of its variable */
    PTX_WANT_SINGLE = 1u << 15,    /* with ELEMENTS and one element: also without {} */
};

struct ptx_want {
    uint32_t regs; /* bit t: a register of enum ptx_type t */
    uint16_t kinds;
    uint8_t bytes; /* size of the type, for PARTS and special registers */
    uint8_t count; /* length of ELEMENTS without .v2, .v4 or .v8; else 0 */
};

struct ptx_sig {
    uint8_t least, most; /* numbers of operands */
    uint8_t optional;    /* operand that is absent when there is one fewer than `most` */
    bool open;           /* operands are not checked */
    struct ptx_want wants[PTX_OPERANDS];
    /* Description of an address that names a texture or surface: */
    uint8_t object; /* enum ptx_opaque; 0: an address of memory */
    uint8_t coords; /* number of coordinates after it; 0: none */
    bool layered;   /* the first coordinate is `layer`, the others are `coord` */
    struct ptx_want coord, layer;
};

/* Matches `text` ("add.sat.s32") against the rules of `op`. Returns true with `sig` filled; `sig`
 * is open if `op` has no rules. Returns false with `why` filled ("'.sat' does not go with these
 * types"). */
bool ptx_rules_match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                     size_t why_bytes);

/* Adds to `want` the operands that fit type `t`: registers of its width, and literals. */
void ptx_rules_want(struct ptx_want *want, enum ptx_type t);
/* As ptx_rules_want, and wider registers too. */
void ptx_rules_want_wider(struct ptx_want *want, enum ptx_type t);

/* True for operations of PTX that enum ptx_op has no name for. */
bool ptx_rules_other_op(const char *text, size_t len);

/* True for special registers of PTX that enum ptx_sreg has no name for. */
bool ptx_rules_other_sreg(const char *text, size_t len);

#endif
