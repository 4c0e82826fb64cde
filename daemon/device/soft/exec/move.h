/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of moves, and the clock, which needs more than the warp.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_MOVE_H
#define DAEMON_DEVICE_SOFT_EXEC_MOVE_H

#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Reads a clock. `done` counts the warp-instructions that ran since the client's count was last
 * updated. */
void move_clock(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint64_t done);

/* Returns the handler of a move, or NULL if the instruction is no move. */
code_handler *move_select(const struct code_inst *i);
/* Returns the handler that reads the special register code_inst.target into registers of `bytes`
 * bytes (0: a predicate). */
code_handler *move_sreg(uint32_t bytes);
/* True if the register is a clock. The interpreter reads clocks by move_clock; their `mov` has no
 * handler. */
bool move_is_clock(enum ptx_sreg r);
/* Handler: the address of a kernel's parameter, or the stack offset of a local variable, at
 * code_inst.offset. */
void move_address(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
