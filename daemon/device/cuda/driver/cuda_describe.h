/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's description of the GPU. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CUDA_DESCRIBE_H
#define DAEMON_DEVICE_CUDA_DRIVER_CUDA_DESCRIBE_H

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/device.h"

/* Stores each attribute that the driver knows, and all else that a job may ask. `info` is already
 * filled. */
void cuda_describe(struct context *c, const struct dev_info *info, struct description *out);

#endif
