/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's driver, found when the device is opened: no program but the worker of a real GPU ever
 * loads it. What is called of it is listed in calls.def.
 *
 * Owner: the device. Threads: any, once loaded.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_DRIVER_H
#define DAEMON_DEVICE_CUDA_DRIVER_DRIVER_H

#include <stddef.h>

#include "proto/gen/prototypes.h"

struct driver {
    void *library;
    int version; /* 13000 for CUDA 13.0 */
    /* NULL: an optional one that it does not have. */
#define CALL(name) __typeof__(name) *name;
#include "daemon/device/cuda/driver/calls.def"
#undef CALL
};

/* The oldest that has all of calls.def but what is optional. */
#define DRIVER_OLDEST 12040

/* `path`: as dlopen takes it; NULL: "libcuda.so.1". 0, -ENODEV or -ENOTSUP with the reason in
 * `why`.
 */
int driver_load(struct driver *d, const char *path, char *why, size_t why_bytes);
void driver_unload(struct driver *d);

/* 0 or what this project calls the driver's result. */
int driver_error(CUresult result);
/* "CUDA_ERROR_INVALID_VALUE"; never NULL. */
const char *driver_name(const struct driver *d, CUresult result);
/* A context that said this says it for ever: its process must end. */
int driver_is_fatal(CUresult result);

#endif
