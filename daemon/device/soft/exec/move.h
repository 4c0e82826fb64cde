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

#endif
