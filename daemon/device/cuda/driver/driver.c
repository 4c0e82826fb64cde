/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads the driver, and converts its results.
 */
#include "daemon/device/cuda/driver/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"

static const struct {
    const char *name;
    size_t at; /* offset in struct driver */
    bool optional;
} calls[] = {
#define CALL(name) {#name, offsetof(struct driver, name), false},
#define OPTIONAL(name) {#name, offsetof(struct driver, name), true},
#include "daemon/device/cuda/driver/calls.def"
#undef CALL
};

static int find_calls(struct driver *d, char *why, size_t why_bytes) {
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *entry = dlsym(d->library, calls[i].name);
        if (!entry && !calls[i].optional) {
            snprintf(
                why, why_bytes,
                "the driver lacks %s, because it is older than CUDA %d.%d; install a newer driver",
                calls[i].name, DRIVER_OLDEST / 1000, DRIVER_OLDEST % 1000 / 10);
            return -ENOTSUP;
        }
        memcpy((char *)d + calls[i].at, &entry, sizeof(entry));
    }
    return 0;
}

static int check_version(struct driver *d, char *why, size_t why_bytes) {
    CUresult r = d->cuDriverGetVersion(&d->version);
    if (!r && d->version >= DRIVER_OLDEST) return 0;
    snprintf(why, why_bytes,
             "the driver supports CUDA %d.%d, and at least %d.%d is needed; install a newer driver",
             d->version / 1000, d->version % 1000 / 10, DRIVER_OLDEST / 1000,
             DRIVER_OLDEST % 1000 / 10);
    return -ENOTSUP;
}

/* Modules are loaded completely: a first launch that loads code would stop other jobs' running
 * work. */
int driver_load(struct driver *d, const char *path, char *why, size_t why_bytes) {
    memset(d, 0, sizeof(*d));
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    d->library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!d->library) {
        snprintf(why, why_bytes,
                 "no NVIDIA driver: %s; install it, or choose the software GPU "
                 "(device = soft)",
                 dlerror());
        return -ENODEV;
    }
    int err = find_calls(d, why, why_bytes);
    if (!err) err = check_version(d, why, why_bytes);
    if (!err) {
        CUresult r = d->cuInit(0);
        if (r) snprintf(why, why_bytes, "the driver cannot be initialized: %s", driver_name(d, r));
        if (r) err = r == CUDA_ERROR_NO_DEVICE ? -ENODEV : driver_error(r);
    }
    return err;
}

/* Does not unload the library: threads of the driver may still run its code. */
void driver_unload(struct driver *d) {
    d->library = NULL;
}

int driver_error(CUresult result) {
    switch (result) {
    case CUDA_SUCCESS: return 0;
    case CUDA_ERROR_INVALID_VALUE: return -EINVAL;
    case CUDA_ERROR_OUT_OF_MEMORY: return ERR_NO_MEMORY;
    case CUDA_ERROR_NOT_SUPPORTED: return -ENOTSUP;
    case CUDA_ERROR_NO_DEVICE: return -ENODEV;
    case CUDA_ERROR_NOT_FOUND: return ERR_NOT_FOUND;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_SOURCE: return ERR_INVALID_IMAGE;
    case CUDA_ERROR_INVALID_PTX: return ERR_INVALID_PTX;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return ERR_UNSUPPORTED_PTX;
    case CUDA_ERROR_NO_BINARY_FOR_GPU: return ERR_NO_BINARY;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE: return ERR_ILLEGAL_ADDRESS;
    case CUDA_ERROR_LAUNCH_TIMEOUT: return ERR_KERNEL_TIMEOUT;
    case CUDA_ERROR_ASSERT: return ERR_ASSERT;
    case CUDA_ERROR_MISALIGNED_ADDRESS: return ERR_MISALIGNED;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: return ERR_ILLEGAL_INSTRUCTION;
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_FAILED: return ERR_LAUNCH_FAILED;
    default: return ERR_DRIVER;
    }
}

const char *driver_name(const struct driver *d, CUresult result) {
    const char *name = NULL;
    if (d->cuGetErrorName) d->cuGetErrorName(result, &name);
    return name ? name : "unknown error";
}

int driver_is_fatal(CUresult result) {
    switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return 1;
    default: return 0;
    }
}
