/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the memory that a launch of the software GPU touches, from its module's PTX
 * (daemon/device/touch).
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_TOUCHED_MEMORY_H
#define DAEMON_DEVICE_SOFT_DEV_TOUCHED_MEMORY_H

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"

/* The module still has its PTX, so the image is not used. */
int touched_memory_find(const struct dev_launch *launch, const void *image, size_t bytes,
                        int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                        size_t why_bytes);

#endif
