/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that move values between registers, and say where addresses lie.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_MOVE_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_MOVE_H

#include <stdbool.h>

#include "daemon/device/soft/lower/lowering.h"

/* False: all of it was emitted. */
bool lower_move(struct lowering *l, struct code_inst *c);
void lower_move_cvta(struct lowering *l, struct code_inst *c);
/* What exec/move.c does as it stands; false: not one of these. */
bool lower_move_plain(struct lowering *l, struct code_inst *c);

#endif
