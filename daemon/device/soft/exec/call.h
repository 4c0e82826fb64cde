/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls and returns of functions in kernels. Arguments and results travel through local memory or
 * registers.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_CALL_H
#define DAEMON_DEVICE_SOFT_EXEC_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Enters the functions that the `mask` lanes call; each function becomes a split. Returns false
 * after a fault. */
bool call_enter(struct warp_ctx *x, const struct code_inst *i, uint32_t mask);
/* Returns the `mask` lanes from the current frame; they become a split of the caller. */
void call_return(struct warp_ctx *x, struct frame *f, uint32_t mask);

#endif
