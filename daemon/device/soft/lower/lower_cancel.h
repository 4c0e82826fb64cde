/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers clusterlaunchcontrol, by which blocks ask for the work of clusters that have not begun.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_CANCEL_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_CANCEL_H

#include "daemon/device/soft/lower/lowering.h"

void lower_cancel(struct lowering *l, struct code_inst *c);

#endif
