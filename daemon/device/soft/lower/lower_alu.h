/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers instructions that only compute: isa_select has their handlers.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_ALU_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_ALU_H

#include "daemon/device/soft/lower/lowering.h"

void lower_alu(struct lowering *l, struct code_inst *c);
/* Lowers lop3 with d|p; p is d != 0, combined with the last operand as setp.ne does. */
void lower_alu_lop3(struct lowering *l, struct code_inst *c);
/* Lowers cvt.rs to four values: d, {a, b, e, f}, random bits. The list goes into extra's uses. */
void lower_alu_fours(struct lowering *l, struct code_inst *c);

#endif
