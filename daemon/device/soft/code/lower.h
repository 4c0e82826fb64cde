/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the decoder: one function being turned into code. Until registers are allocated a slot
 * >= 0 is a register's number. The first error sticks and ends the work.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_LOWER_H
#define DAEMON_DEVICE_SOFT_CODE_LOWER_H

#include "daemon/device/soft/code/consts.h"
#include "daemon/device/soft/code/decode.h"

#define LOWER_PRED 0 /* the width of a predicate */

struct lower {
    struct code_kernel *kernel;
    struct ptx_func *func;
    const struct ptx_inst *inst; /* being lowered */
    struct code_inst *insts;
    uint32_t count, room;
    uint8_t *reg_bytes; /* of registers and temporaries; LOWER_PRED for predicates */
    uint32_t reg_count, reg_room;
    uint32_t local_bytes, local_align;
    uint32_t accesses; /* memory operations so far */
    struct consts consts;
    int err;
    char *why;
    size_t why_bytes;
};

/* ---- operand.c ---- */
void operand_fail(struct lower *l, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends a copy. */
void operand_emit(struct lower *l, const struct code_inst *c);
int32_t operand_temp(struct lower *l, uint32_t bytes);
/* Bytes of a lane of a register of type `t`: 0 for predicates, at least 2. */
uint32_t operand_lane_bytes(uint32_t type);
/* A source as a slot, `bytes` wide (LOWER_PRED: a predicate); `wider`: registers may be wider. What
 * is neither register nor constant is first moved to a temporary. */
int32_t operand_source(struct lower *l, const struct ptx_operand *o, uint32_t bytes, bool wider);
/* A destination; the sink gives a temporary nobody reads. */
int32_t operand_dest(struct lower *l, const struct ptx_operand *o);
uint32_t operand_reg_bytes(const struct lower *l, const struct ptx_operand *o);
/* Emits the move of a special register, local variable or parameter's address into `dest`; false
 * when `o` is none of these. `like` has the guard, or is NULL. */
bool operand_emit_special(struct lower *l, const struct ptx_operand *o, int32_t dest,
                          uint32_t bytes, const struct code_inst *like);
/* Fills c's space, base register (slot a), a_bytes, offset and flags from [address]. */
void operand_address(struct lower *l, const struct ptx_operand *o, struct code_inst *c);
/* An address as one 8-byte value, symbols and offset included. */
int32_t operand_address_value(struct lower *l, const struct ptx_operand *o);
/* Where a variable lives, seen from the function: PTX_LOCAL for its own .param variables. */
enum ptx_space operand_var_space(const struct lower *l, const struct ptx_var *v);

/* ---- lower.c ---- */
void lower_inst(struct lower *l, const struct ptx_inst *inst);

/* ---- move.c ---- */
code_handler *move_sreg(uint32_t bytes);
void move_address(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
