/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that the driver loaded for one client: its variables are that client's own.
 *
 * Owner: the client. Threads: as device.h says of each operation.
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
    struct cuda_cut cut;     /* as it is launched in parts */
    struct dev_func_info info;
    struct dev_param *params;
    struct dev_func *next; /* of the module */
    char name[];
};

struct dev_module {
    struct dev_space *space;
    struct context *context;
    CUlibrary library; /* that `handle` is of; NULL: it is of none */
    CUmodule handle;
    CUmodule cut; /* its kernels to be launched in parts; NULL: none can be */
    bool prints;  /* kernels of it may */
    bool asserts; /* the same: assertions of theirs may fail */
    struct cuda_again again;
    struct dev_granule *where; /* each of again.names; NULL: it cannot be loaded again */
    char **names;              /* of its kernels */
    uint32_t name_count;
    struct dev_func *funcs; /* those that were asked for */
};

int cuda_module_read(struct dev_space *space, uint32_t capability, const void *image, size_t bytes,
                     struct dev_module **out, char *why, size_t why_bytes);
int cuda_module_place(struct dev_module *m, char *why, size_t why_bytes);
/* What has to be where it is, for the module to be loaded again. */
uint32_t cuda_module_where(const struct dev_module *m, struct dev_granule *out, uint32_t cap);
/* -EINVAL: it is elsewhere, or there is more that cannot be had again. */
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

/* Launches may ask for so much dynamic shared memory. */
int cuda_func_allow_shared(struct dev_func *f, uint32_t bytes);

#endif
