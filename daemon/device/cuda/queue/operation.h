/* SPDX-License-Identifier: Apache-2.0
 *
 * What the worker's operations are as calls of the driver. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_OPERATION_H
#define DAEMON_DEVICE_CUDA_QUEUE_OPERATION_H

#include "daemon/device/cuda/memory/cuda_space.h"
#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/device.h"

/* Each puts its work into the stream, or says why not: then some of it may be there. 0, -errno or
 * ERR_*. */
int operation_launch(struct context *c, CUstream stream, const struct dev_launch *l);
/* As a launch of this function, which may have so much shared memory already. */
int operation_launch_as(struct context *c, CUstream stream, const struct dev_launch *l,
                        CUfunction handle);
int operation_copy(const struct dev_space *s, CUstream stream, const struct dev_copy *k);
int operation_memset(const struct dev_space *s, CUstream stream, const struct dev_memset *m);

/* 0, or ERR_ILLEGAL_ADDRESS with the first address in `*addr`: something that is touched is not
 * there. */
int operation_check_copy(const struct dev_space *s, const struct dev_copy *k, uint64_t *addr);
int operation_check_memset(const struct dev_space *s, const struct dev_memset *m, uint64_t *addr);

#endif
