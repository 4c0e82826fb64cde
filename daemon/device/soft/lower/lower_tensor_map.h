/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers the instructions by which kernels change and publish tensor maps.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_TENSOR_MAP_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_TENSOR_MAP_H

#include "daemon/device/soft/lower/lowering.h"

void lower_tensor_map(struct lowering *l, struct code_inst *c);

#endif
