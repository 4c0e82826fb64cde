/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks that ask for the work of others which have not begun.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_CANCEL_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_CANCEL_H

#include "daemon/device/soft/lower/lowering.h"

void lower_cancel(struct lowering *l, struct code_inst *c);

#endif
