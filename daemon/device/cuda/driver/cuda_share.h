/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the device's multiprocessors, as green contexts of the driver. They are made when the
 * device is opened, in a few sizes, because making one takes a while. A stream of a green context
 * has the memory and the modules of the primary context, and runs kernels only on its part. Parts
 * up to half of the device are made twice, if the driver has two that do not overlap, so that two
 * queues need not share one.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CUDA_SHARE_H
#define DAEMON_DEVICE_CUDA_DRIVER_CUDA_SHARE_H

#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"

#define SHARE_PARTS 8u  /* a step is about the device divided by this number */
#define SHARE_SIZES 13u /* limit of the number of sizes, including the smallest */
#define SHARE_MAX (2 * SHARE_SIZES)

struct share {
    CUgreenCtx green;
    uint32_t sms;
    uint32_t queues; /* queues that use it */
};

struct shares {
    struct context *context;
    uint32_t sms;  /* multiprocessors of the device */
    uint32_t step; /* all sizes but the smallest are multiples of it; 0: there are no parts */
    uint32_t count;
    struct share list[SHARE_MAX]; /* the smallest first */
};

/* Without green contexts there are no parts, and the log says so. 0 or ERR_DEVICE_LOST. */
int cuda_share_open(struct shares *s, struct context *context, uint32_t sms);
/* Called when no stream of a part is left. */
void cuda_share_close(struct shares *s);

/* Gives a queue the largest part that is no larger than `sms`, or else the smallest. Returns its
 * number, from 1; 0: all of the device. cuda_share_leave gives it back. */
uint32_t cuda_share_enter(struct shares *s, uint32_t sms);
void cuda_share_leave(struct shares *s, uint32_t number);

/* Number of its multiprocessors. */
uint32_t cuda_share_sms(const struct shares *s, uint32_t number);

/* Makes a stream whose kernels run on that part; `number` 0: on all of the device. 0, -errno or
 * ERR_*. */
int cuda_share_stream(struct shares *s, uint32_t number, int priority, CUstream *out);

#endif
