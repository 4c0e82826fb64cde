/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that a launch on the driver touches, according to its PTX (cuda_source.h;
 * daemon/device/touch).
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_TOUCH_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_TOUCH_H

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"

int cuda_touch_launch(const struct dev_launch *launch, const void *image, size_t bytes,
                      int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                      size_t why_bytes);

#endif
