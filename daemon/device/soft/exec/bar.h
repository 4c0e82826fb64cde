/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of a block.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_BAR_H
#define DAEMON_DEVICE_SOFT_EXEC_BAR_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* `mask` lanes of the running split arrive; false: they wait (a split was added). */
bool bar_arrive(struct warp_ctx *x, const struct code_inst *i, int32_t pc, uint32_t mask);
/* After lanes have ended: nobody waits for them. */
void bar_lanes_gone(struct block *b);

#endif
