/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers branches, calls, operations on the stack, and operations of lanes that meet.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_CONTROL_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_CONTROL_H

#include "daemon/device/soft/lower/lowering.h"

void lower_control_branch(struct lowering *l, struct code_inst *c);
/* brx: the targets go into extra's table. */
void lower_control_table(struct lowering *l, struct code_inst *c);
/* Lowers (rets), func|reg, (args), prototype. An absent operand is of kind PTX_OPND_NONE. */
void lower_control_call(struct lowering *l, struct code_inst *c);
/* Lowers bar: id in a, count in b, predicate in c, result in d (d_bytes 0: a predicate).
 * barrier.cluster has only target (CODE_CLUSTER_BARRIER) and vec (bar.c). */
void lower_control_barrier(struct lowering *l, struct code_inst *c);
/* Lowers operations by which lanes of a warp meet: e has the member mask, or CODE_NO_SLOT for the
 * forms without .sync. */
void lower_control_rendezvous(struct lowering *l, struct code_inst *c);
/* Lowers alloca d, size, align; stacksave d; stackrestore a. */
void lower_control_stack(struct lowering *l, struct code_inst *c);

#endif
