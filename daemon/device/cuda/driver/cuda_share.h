/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the device's multiprocessors, as green contexts of the driver: made when the device is
 * opened, in a few sizes, because to make one takes a while. A stream of one has the memory and the
 * modules of the primary context, and runs kernels on its part alone. Parts up to a half of the
 * device are made twice, where the driver has two that do not overlap, so that two queues need not
 * be in each other's way.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CUDA_SHARE_H
#define DAEMON_DEVICE_CUDA_DRIVER_CUDA_SHARE_H

#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"

#define SHARE_PARTS 8u  /* a step is about the device divided by so many */
#define SHARE_SIZES 13u /* no more than so many sizes, the least that there is among them */
#define SHARE_MAX (2 * SHARE_SIZES)

struct share {
    CUgreenCtx green;
    uint32_t sms;
    uint32_t queues; /* that have it */
};

struct shares {
    struct context *context;
    uint32_t sms;  /* of the device */
    uint32_t step; /* all sizes but the least are multiples of it; 0: there are none */
    uint32_t count;
    struct share list[SHARE_MAX]; /* the smallest first */
};

/* Without green contexts, which the log says, there are none. 0 or ERR_DEVICE_LOST. */
int cuda_share_open(struct shares *s, struct context *context, uint32_t sms);
/* No stream of one is left. */
void cuda_share_close(struct shares *s);

/* A queue has the largest that is no larger than `sms`, or else the smallest: the number of one,
 * from 1; 0: all of the device. Given back by cuda_share_leave. */
uint32_t cuda_share_enter(struct shares *s, uint32_t sms);
void cuda_share_leave(struct shares *s, uint32_t number);

/* How many multiprocessors it has. */
uint32_t cuda_share_sms(const struct shares *s, uint32_t number);

/* A stream whose kernels run there; `number` 0: on all of the device. 0, -errno or ERR_*. */
int cuda_share_stream(struct shares *s, uint32_t number, int priority, CUstream *out);

#endif
