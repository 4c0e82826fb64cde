/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable form of a PTX function: instructions with their handler and operand slots, for a warp
 * of 32 lanes at once. This is the seam between the decoder (decode/, lower/), the warp loop
 * (exec/interp.c) and the handlers (isa/, async/, memory/, exec/ and others).
 *
 * Registers are structures of arrays. A slot is 32 lanes of 2, 4, 8 or 16 bytes (1-byte types take
 * 2), 64-byte aligned; a predicate is one uint32_t mask. A slot >= 0 is a byte offset into the
 * frame's registers. A slot < 0 is minus a byte offset into the function's constant pool, where
 * immediates are broadcast to 32 lanes (predicate immediates to a mask), so that every operand is a
 * pointer. A destination may share its slot with a source of the same width; otherwise the slots of
 * one instruction do not overlap. Handlers are vectorised on this promise.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_CODE_H
#define DAEMON_DEVICE_SOFT_CODE_CODE_H

#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

#define WARP_LANES 32
#define CODE_NO_SLOT INT32_MIN
/* Width of a destination `_`: no instruction reads it, and lanes of any width are written to it. */
#define CODE_SINK 255

struct warp;
struct code_inst;

/* Runs one instruction for the lanes of `mask` (never 0). Must not write other lanes. Reports
 * faults by warp_fault. Pure ALU handlers touch only w->regs, w->consts and w->carry. */
typedef void code_handler(struct warp *w, const struct code_inst *i, uint32_t mask);

struct code_inst {
    code_handler *run;     /* NULL: control flow or rendezvous; the warp loop runs it */
    int32_t d, a, b, c, e; /* destination and sources in the order of the text */
    int32_t d2;            /* second destination (d|p, setp's q), or CODE_NO_SLOT */
    int32_t pred;          /* slot of the guarding predicate, or CODE_NO_SLOT */
    bool pred_neg;
    bool c_neg;          /* last predicate source is `!p` */
    uint16_t op;         /* enum ptx_op */
    uint8_t type, type2; /* first two types of the PTX instruction; PTX_NONE: absent */
    uint8_t space, round, cmp, sub, sub2, vec;
    uint8_t d_bytes, a_bytes; /* width of the registers of d and a, which may exceed the type */
    uint32_t mods;
    int64_t offset; /* offset of the address operand, symbol included */
    int32_t target; /* bra: index of the instruction to go to; other uses: func.h */
    const struct ptx_inst *src;
    const void *extra; /* decoder's data for vectors, calls, tables; owned by the code */
};

/* The part of a warp that all handlers may touch. launch/warp.h embeds it as the first member of
 * its own struct. */
struct warp {
    unsigned char *regs;         /* registers of the running frame */
    const unsigned char *consts; /* constant pool of the running function */
    uint32_t carry;              /* CC.CF of each lane */
};

#define SLOT(type, w, slot) \
    ((type *)((slot) >= 0 ? (w)->regs + (slot) : (unsigned char *)(w)->consts - (int64_t)(slot)))

static inline uint32_t code_pred(const struct warp *w, int32_t slot) {
    return *SLOT(const uint32_t, w, slot);
}

#endif
