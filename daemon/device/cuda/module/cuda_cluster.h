/* SPDX-License-Identifier: Apache-2.0
 *
 * Number of clusters of blocks that the GPU holds. A cluster needs multiprocessors that are near
 * each other, and only the driver knows how many of these there are.
 *
 * Owner: none, because nothing is stored. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_CLUSTER_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_CLUSTER_H

#include "daemon/device/device.h"

/* See device.h. */
int cuda_cluster_count(const struct dev_launch *like, bool largest, uint32_t *count);

#endif
