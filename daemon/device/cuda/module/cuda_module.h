/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that the driver loaded for one client: its variables belong to that client.
 *
 * Owner: the client. Threads: as device.h states for each operation.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_MODULE_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_MODULE_H

#include "daemon/device/cuda/memory/cuda_space.h"
#include "daemon/device/cuda/module/cuda_again.h"
#include "daemon/device/cuda/module/cuda_cut.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"

struct dev_func {
    struct dev_module *module;
    CUfunction handle;
    uint32_t shared_allowed; /* dynamic shared memory that the driver was told of */
    struct cuda_cut cut;     /* the kernel for launches in parts */
    struct dev_func_info info;
    struct dev_param *params;
    struct dev_func *next; /* next function of the module */
    char name[];
};

struct dev_module {
    struct dev_space *space;
    struct context *context;
    CUlibrary library; /* the library with `handle`; NULL: none */
    CUmodule handle;
    CUmodule cut; /* the kernels for launches in parts; NULL: none can be */
    bool prints;  /* kernels may print */
    bool asserts; /* assertions of kernels may fail */
    struct cuda_again again;
    struct dev_granule *where; /* for each of again.names; NULL: it cannot be loaded again */
    char **names;              /* names of its kernels */
    uint32_t name_count;
    struct dev_func *funcs; /* functions that the client looked up */
};

int cuda_module_read(struct dev_space *space, uint32_t capability, const void *image, size_t bytes,
                     struct dev_module **out, char *why, size_t why_bytes);
int cuda_module_place(struct dev_module *m, char *why, size_t why_bytes);
/* Places of the variables that must lie there again when the module is loaded again. */
uint32_t cuda_module_where(const struct dev_module *m, struct dev_granule *out, uint32_t cap);
/* -EINVAL: they lie elsewhere, or the module cannot be loaded again. */
int cuda_module_place_at(struct dev_module *m, const struct dev_granule *where, uint32_t count,
                         char *why, size_t why_bytes);
void cuda_module_remove(struct dev_module *m);
void cuda_module_free(struct dev_module *m);
uint32_t cuda_module_func_count(struct dev_module *m);
const char *cuda_module_func_name(struct dev_module *m, uint32_t index);
int cuda_module_func_get(struct dev_module *m, const char *name, struct dev_func **out,
                         struct dev_func_info *info, char *why, size_t why_bytes);
int cuda_module_global_get(struct dev_module *m, const char *name, uint64_t *addr, uint64_t *bytes);
uint32_t cuda_module_global_count(struct dev_module *m);

/* Allows launches with this much dynamic shared memory. */
int cuda_func_allow_shared(struct dev_func *f, uint32_t bytes);

#endif
