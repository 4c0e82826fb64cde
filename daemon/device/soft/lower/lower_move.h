/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers instructions that move values between registers, and those that compute addresses.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_MOVE_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_MOVE_H

#include <stdbool.h>

#include "daemon/device/soft/lower/lowering.h"

/* Lowers mov. Returns false if the move has been emitted already, so that the caller must not emit
 * `c`. */
bool lower_move(struct lowering *l, struct code_inst *c);
void lower_move_cvta(struct lowering *l, struct code_inst *c);
/* Lowers instructions that exec/move.c runs without preparation. Returns false for others. */
bool lower_move_plain(struct lowering *l, struct code_inst *c);

#endif
