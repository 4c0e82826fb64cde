/* SPDX-License-Identifier: Apache-2.0
 *
 * The one context of a GPU, which all jobs share, and whether it still works. A kernel's fault
 * breaks the whole context: from then on every call fails, and only another process can have a new
 * one.
 *
 * Owner: the device. Threads: any where noted; otherwise the worker's.
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
    uint32_t index; /* the device's number in the driver */
    CUcontext handle;
    int least_priority, greatest_priority; /* CUDA's: the greatest is the lower number */
    struct texts *texts;                   /* output of its kernels */
    CUarray blank;                         /* cuda_reference.h; NULL: not needed yet */
    bool subgrids;                         /* loads kernels for launches in parts, too */
    _Atomic int fatal;                     /* the first CUresult that ended it; 0: it works */
};

/* 0, -errno or ERR_* with the reason in `why`. */
int context_open(struct context *c, const struct dev_config *config, char *why, size_t why_bytes);
void context_close(struct context *c);

/* Makes the context current. Called by each thread before other calls of the driver; otherwise
 * those fail with an error that says so. Any thread. */
int context_enter(struct context *c);

/* Converts the result of a call, and records a result that ends the context. 0, -errno or ERR_*;
 * for a lost context ERR_DEVICE_LOST, because its end was not the caller's fault. Any thread. */
int context_result(struct context *c, CUresult result);

/* Records that the context is unusable, for this fatal reason. Any thread. */
void context_end(struct context *c, CUresult why);

/* Waits until all of the stream has run. 0, or ERR_DEVICE_LOST: the context ended, or does not even
 * answer. Memory that the stream may still access can then never be reused. Any thread. */
int context_settle(struct context *c, CUstream stream);

/* The CUresult that ended it, or 0. Any thread. */
int context_fatal(const struct context *c);

#endif
