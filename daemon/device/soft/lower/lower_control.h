/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches, calls and the stack, and lanes that meet.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_CONTROL_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_CONTROL_H

#include "daemon/device/soft/lower/lowering.h"

void lower_control_branch(struct lowering *l, struct code_inst *c);
/* brx: the targets are in extra's table. */
void lower_control_table(struct lowering *l, struct code_inst *c);
/* (rets), func|reg, (args), prototype: what is absent has no kind. */
void lower_control_call(struct lowering *l, struct code_inst *c);
/* bar: id a, count b, predicate c, result d (LOWERING_PRED: d_bytes 0). */
void lower_control_barrier(struct lowering *l, struct code_inst *c);
/* The lanes of a warp: the member mask is in e, CODE_NO_SLOT for the forms without .sync. */
void lower_control_rendezvous(struct lowering *l, struct code_inst *c);
/* alloca d, size, align; stacksave d; stackrestore a. */
void lower_control_stack(struct lowering *l, struct code_inst *c);

#endif
