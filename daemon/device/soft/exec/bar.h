/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of a block.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_BAR_H
#define DAEMON_DEVICE_SOFT_EXEC_BAR_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* The `mask` lanes of the running split arrive. Returns false if some have to wait, after splits
 * have been added for all of them, or after a fault. */
bool bar_arrive(struct warp_ctx *x, const struct code_inst *i, int32_t pc, uint32_t mask);
/* Called after lanes have exited: opens the barriers that waited only for them. */
void bar_lanes_gone(struct block *b);

#endif
