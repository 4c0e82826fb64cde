/* SPDX-License-Identifier: Apache-2.0
 *
 * When the GPU was where, by its own clock: events of the driver, whose distance from one of them,
 * the anchor, is known to it. When that was by the host's clock is known to lie between two looks
 * at CLOCK_MONOTONIC around it: half of their distance is the error of all times, beside what the
 * two clocks drift apart until the next anchor. Of an operation that nobody asks the times of no
 * event is recorded.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CUDA_TIME_H
#define DAEMON_DEVICE_CUDA_DRIVER_CUDA_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"

struct times {
    struct context *context;
    CUstream stream;     /* idle whenever the worker is not waiting for it */
    CUevent anchors[2];  /* the one that is used, and the next one */
    uint32_t anchor;     /* which is used */
    uint64_t anchor_ns;  /* when that was; CLOCK_MONOTONIC */
    uint64_t error_ns;   /* of that, either way */
    uint64_t tried_ns;   /* when an anchor was last tried to be taken */
    CUevent *free;       /* that nobody has */
    uint32_t free_count; /* of these */
    uint32_t made, room; /* events, and for how many there is room in `free` */
    bool works;
};

/* Waits for the stream, which others may use. Where the driver tells no times, which the log says,
 * there are none. 0 or ERR_DEVICE_LOST. */
int cuda_time_open(struct times *t, struct context *context, CUstream stream);
void cuda_time_close(struct times *t);

/* Recorded in the stream. NULL: it cannot be told when that will be. */
CUevent cuda_time_mark(struct times *t, CUstream stream);
/* When that was: its stream is past it. False: the driver does not say. */
bool cuda_time_of(struct times *t, CUevent mark, uint64_t *ns);
/* Nobody needs it any more; accepts NULL. */
void cuda_time_drop(struct times *t, CUevent mark);

#endif
