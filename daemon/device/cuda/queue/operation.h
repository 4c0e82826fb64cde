/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes calls of the driver from the worker's operations. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_OPERATION_H
#define DAEMON_DEVICE_CUDA_QUEUE_OPERATION_H

#include "daemon/device/cuda/memory/cuda_space.h"
#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/device.h"

/* Each puts its work into the stream, or returns an error: then some of it may be there. 0, -errno
 * or ERR_*. */
int operation_launch(struct context *c, CUstream stream, const struct dev_launch *l);
/* Launches this function instead, which may already use that much shared memory. */
int operation_launch_as(struct context *c, CUstream stream, const struct dev_launch *l,
                        CUfunction handle);
int operation_copy(const struct dev_space *s, CUstream stream, const struct dev_copy *k);
int operation_memset(const struct dev_space *s, CUstream stream, const struct dev_memset *m);

/* 0, or ERR_ILLEGAL_ADDRESS with the first address in `*addr` that is not backed. */
int operation_check_copy(const struct dev_space *s, const struct dev_copy *k, uint64_t *addr);
int operation_check_memset(const struct dev_space *s, const struct dev_memset *m, uint64_t *addr);

#endif
