/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers matrix products by four warps into products by each warp.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_WGMMA_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_WGMMA_H

#include "daemon/device/soft/lower/lowering.h"

/* Fills `c` with the last instruction of wgmma, and appends those before it. */
void lower_wgmma(struct lowering *l, struct code_inst *c);

#endif
