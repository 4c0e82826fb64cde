/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that only compute: isa_select has their handlers.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_ALU_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_ALU_H

#include "daemon/device/soft/lower/lowering.h"

void lower_alu(struct lowering *l, struct code_inst *c);
/* lop3 with d|p, whose p is what setp.ne says of the result, 0 and the last operand. */
void lower_alu_lop3(struct lowering *l, struct code_inst *c);
/* cvt.rs of four: d, {a, b, e, f}, random bits; the list is in extra's uses. */
void lower_alu_fours(struct lowering *l, struct code_inst *c);

#endif
