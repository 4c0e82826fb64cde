/* SPDX-License-Identifier: Apache-2.0
 *
 * What the software GPU says of itself in CUDA's words. Keeps nothing.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_ATTRIBUTES_H
#define DAEMON_DEVICE_SOFT_DEV_ATTRIBUTES_H

#include "daemon/device/device.h"

/* The device of which `info` says the rest; `index`: which of the GPUs that are served. */
void attributes_describe(struct description *out, const struct dev_info *info, uint32_t index);

#endif
