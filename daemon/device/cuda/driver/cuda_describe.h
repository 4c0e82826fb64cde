/* SPDX-License-Identifier: Apache-2.0
 *
 * What the driver says of the GPU. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CUDA_DESCRIBE_H
#define DAEMON_DEVICE_CUDA_DRIVER_CUDA_DESCRIBE_H

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/device.h"

/* Each attribute that the driver knows, with all else that a job may ask. `info` was filled. */
void cuda_describe(struct context *c, const struct dev_info *info, struct description *out);

#endif
