/* SPDX-License-Identifier: Apache-2.0
 *
 * How many clusters of blocks the GPU holds: multiprocessors that are together in it hold one, and
 * how many these are only the driver knows.
 *
 * Owner: nobody, nothing is kept. Threads: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_CLUSTER_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_CLUSTER_H

#include "daemon/device/device.h"

/* See device.h. */
int cuda_cluster_count(const struct dev_launch *like, bool largest, uint32_t *count);

#endif
