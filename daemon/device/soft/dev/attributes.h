/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes the software GPU by CUDA's attributes and limits. Stateless.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_ATTRIBUTES_H
#define DAEMON_DEVICE_SOFT_DEV_ATTRIBUTES_H

#include "daemon/device/device.h"

/* Describes the device with the properties `info`; `index` is its number among the GPUs served. */
void attributes_describe(struct description *out, const struct dev_info *info, uint32_t index);

#endif
