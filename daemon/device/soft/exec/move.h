/* SPDX-License-Identifier: Apache-2.0
 *
 * The one move that needs more than its warp: a clock's value.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_MOVE_H
#define DAEMON_DEVICE_SOFT_EXEC_MOVE_H

#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* `done`: warp-instructions that ran since the client's count was brought up to date. */
void move_clock(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint64_t done);

/* The handler of a move; NULL: it is none. */
code_handler *move_select(const struct code_inst *i);
code_handler *move_sreg(uint32_t bytes);
/* True if the register tells a time. The interpreter reads it (move_clock): its `mov` has no
 * handler. */
bool move_is_clock(enum ptx_sreg r);
void move_address(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
