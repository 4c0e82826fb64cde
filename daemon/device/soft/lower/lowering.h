/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a function that is being turned into code. Until registers are allocated a slot >= 0 is
 * a register's number. The first error is kept and ends the work.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWERING_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWERING_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/code/consts.h"
#include "daemon/device/soft/code/func.h"

#define LOWERING_PRED 0 /* the width of a predicate */

struct lowering {
    struct arena *arena; /* holds the finished code */
    struct ptx_func *func;
    const struct ptx_inst *inst; /* the instruction that is being lowered */
    struct code_inst *insts;
    uint32_t count, room;
    uint8_t *reg_bytes; /* widths of registers and temporaries; LOWERING_PRED for predicates */
    uint32_t reg_count, reg_room;
    uint32_t local_bytes, local_align;
    uint32_t accesses; /* memory operations so far; selects each one's window (CODE_WINDOW) */
    bool stack;        /* the function uses alloca */
    struct consts consts;
    int err;
    char *why;
    size_t why_bytes;
};

/* Records the first error, and its text in `why` with the instruction and function. Later errors
 * are ignored. */
void lowering_fail(struct lowering *l, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails because the software GPU does not have the instruction. */
void lowering_refuse(struct lowering *l);
/* Appends a copy of `c`. */
void lowering_emit(struct lowering *l, const struct code_inst *c);
/* Returns the number of a new temporary register of this width (LOWERING_PRED: a predicate;
 * CODE_SINK). */
int32_t lowering_temp(struct lowering *l, uint32_t bytes);
/* Allocates c->extra, with space for this many registers. Returns NULL after a failure. */
struct code_extra *lowering_extra(struct lowering *l, struct code_inst *c, uint32_t defs,
                                  uint32_t uses);

#endif
