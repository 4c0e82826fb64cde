/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices by four warps, taken apart.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_WGMMA_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_WGMMA_H

#include "daemon/device/soft/lower/lowering.h"

/* Fills `c` for the last part of wgmma, and appends those before it. */
void lower_wgmma(struct lowering *l, struct code_inst *c);

#endif
