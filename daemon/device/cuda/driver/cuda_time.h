/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of operations by the GPU's own clock: events of the driver, whose distance from one of
 * them, the anchor, is known to it. The anchor's time by the host's clock lies between two readings
 * of CLOCK_MONOTONIC around it: half of their distance is the error of all times, plus the drift of
 * the two clocks until the next anchor. No event is recorded for an operation whose times are not
 * requested.
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
    CUevent anchors[2];  /* the one in use, and the next one */
    uint32_t anchor;     /* index of the one in use */
    uint64_t anchor_ns;  /* time of the anchor; CLOCK_MONOTONIC */
    uint64_t error_ns;   /* error of anchor_ns, in either direction */
    uint64_t tried_ns;   /* time of the latest attempt to take an anchor */
    CUevent *free;       /* unused events */
    uint32_t free_count; /* number of unused events */
    uint32_t made, room; /* events made, and capacity of `free` */
    bool works;
};

/* Waits for the stream, which others may use. Where the driver gives no times there are none, and
 * the log says so. 0 or ERR_DEVICE_LOST. */
int cuda_time_open(struct times *t, struct context *context, CUstream stream);
void cuda_time_close(struct times *t);

/* Records an event in the stream. NULL: its time will not be available. */
CUevent cuda_time_mark(struct times *t, CUstream stream);
/* The time of an event that its stream has passed. False: the driver does not give it. */
bool cuda_time_of(struct times *t, CUevent mark, uint64_t *ns);
/* Releases an event; accepts NULL. */
void cuda_time_drop(struct times *t, CUevent mark);

#endif
