/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers one PTX instruction: appends the executable instructions that it becomes.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_H

#include "daemon/device/soft/lower/lowering.h"

void lower_inst(struct lowering *l, const struct ptx_inst *inst);

#endif
