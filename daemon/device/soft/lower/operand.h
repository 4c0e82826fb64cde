/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns PTX operands into slots.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_OPERAND_H
#define DAEMON_DEVICE_SOFT_LOWER_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/lower/lowering.h"

/* Bytes of a lane of a register of type `t`: 0 for predicates, else at least 2. */
uint32_t operand_lane_bytes(uint32_t type);
/* Returns the slot of a source that is `bytes` wide (LOWERING_PRED: a predicate). `wider`:
 * registers may be wider. An operand that is neither register nor constant is first moved to a
 * temporary. The slot is undefined after an error (l->err). */
int32_t operand_source(struct lowering *l, const struct ptx_operand *o, uint32_t bytes, bool wider);
/* Returns the slot of a destination. The sink `_` becomes a temporary that no instruction reads. */
int32_t operand_dest(struct lowering *l, const struct ptx_operand *o);
/* Fills c's destinations and d_bytes from `d` or the pair `d|p`. */
void operand_dest_or_pair(struct lowering *l, struct code_inst *c, const struct ptx_operand *o);
/* Returns the width of a register operand in bytes; 0 for a predicate, and for any operand that is
 * no register. */
uint32_t operand_reg_bytes(const struct lowering *l, const struct ptx_operand *o);
/* Emits the move of a special register, or of the address of a local variable or parameter, into
 * `dest`. Returns false if `o` is none of these. `like` has the guard, or is NULL. */
bool operand_emit_special(struct lowering *l, const struct ptx_operand *o, int32_t dest,
                          uint32_t bytes, const struct code_inst *like);
/* Fills c's space, base register (slot a), a_bytes, offset and flags from [address]. */
void operand_address(struct lowering *l, const struct ptx_operand *o, struct code_inst *c);
/* Returns the slot of an address as one 8-byte value, symbols and offset included. */
int32_t operand_address_value(struct lowering *l, const struct ptx_operand *o);
/* Returns the space of a variable as seen from the function: PTX_LOCAL for its own .param
 * variables. */
enum ptx_space operand_var_space(const struct lowering *l, const struct ptx_var *v);

#endif
