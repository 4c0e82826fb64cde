/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's driver, loaded when the device is opened: only the worker of a real GPU ever loads it.
 * calls.def lists its functions that are used.
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
    /* NULL: an optional function that it lacks. */
#define CALL(name) __typeof__(name) *name;
#include "daemon/device/cuda/driver/calls.def"
#undef CALL
};

/* The oldest version that has all functions of calls.def, except optional ones. */
#define DRIVER_OLDEST 12040

/* `path`: a name for dlopen; NULL: "libcuda.so.1". 0, -ENODEV or -ENOTSUP with the reason in `why`.
 */
int driver_load(struct driver *d, const char *path, char *why, size_t why_bytes);
void driver_unload(struct driver *d);

/* Converts the driver's result to 0 or an error of this project. */
int driver_error(CUresult result);
/* "CUDA_ERROR_INVALID_VALUE"; never NULL. */
const char *driver_name(const struct driver *d, CUresult result);
/* True for results that a context keeps returning for ever: its process must end. */
int driver_is_fatal(CUresult result);

#endif
