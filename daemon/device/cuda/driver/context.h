/* SPDX-License-Identifier: Apache-2.0
 *
 * The one context of a GPU, which all jobs share, and whether it still works. What a kernel breaks,
 * it breaks for the whole context: from then on every call fails, and only another process can have
 * a new one.
 *
 * Owner: the device. Threads: any, of what is said to be so; else the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CONTEXT_H
#define DAEMON_DEVICE_CUDA_DRIVER_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/driver/driver.h"

struct dev_config;
struct texts;

struct context {
    struct driver driver;
    CUdevice device;
    uint32_t index; /* of that, with the driver */
    CUcontext handle;
    int least_priority, greatest_priority; /* CUDA's: the greatest is the lower number */
    struct texts *texts;                   /* what its kernels print */
    CUarray blank;                         /* cuda_reference.h; NULL: not needed yet */
    bool subgrids;                         /* kernels are loaded to go in parts, too */
    _Atomic int fatal;                     /* the first CUresult that ended it; 0: it works */
};

/* 0, -errno or ERR_* with the reason in `why`. */
int context_open(struct context *c, const struct dev_config *config, char *why, size_t why_bytes);
void context_close(struct context *c);

/* Before anything else that a thread calls of the driver: what fails then says so. Any thread. */
int context_enter(struct context *c);

/* What a call came to: notes it when that is the context's end. 0, -errno or ERR_*; of a lost
 * context ERR_DEVICE_LOST, whatever ended it: that was not the caller. Any thread. */
int context_result(struct context *c, CUresult result);

/* It is of no use any more, for this reason, a fatal one. Any thread. */
void context_end(struct context *c, CUresult why);

/* Waits until all of the stream has run. 0, or ERR_DEVICE_LOST: it died, or does not even say
 * whether it has, so that nothing it may still touch could ever be used again. Any thread. */
int context_settle(struct context *c, CUstream stream);

/* The CUresult that ended it, or 0. Any thread. */
int context_fatal(const struct context *c);

#endif
