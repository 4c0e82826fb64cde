/* SPDX-License-Identifier: Apache-2.0
 *
 * Images loaded into a space: code, variables, kernels. Reading, decoding and freeing touch only
 * those parts of the space that are fixed before its first module, so that a separate thread may do
 * this work.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_MODULE_H
#define DAEMON_DEVICE_SOFT_DEV_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/soft/image/image.h"

struct code_kernel;
struct code_module;
struct dev_space;

struct dev_module {
    struct dev_space *space;
    uint32_t capability; /* capability for which the PTX was chosen: 90 for 9.0 */
    struct image image;
    struct code_module *code;   /* NULL: only machine code, or described by its cubin */
    struct list blocks;         /* memory in the module window */
    uint64_t var_next, var_end; /* unused rest of the last block */
    bool managed;               /* a variable is managed: then all lie in the host window */
    /* set during module_place_at: granules of the previous variables */
    const struct dev_granule *where;
    uint32_t where_count; /* granules of `where`; 0 once they are taken */
    int where_err;        /* error of taking the granules of `where`; 0: none */
    struct {
        bool heap, runtime; /* the space's heap and device runtime */
    } needs, has;           /* needs: what the kernels may use; has: what was taken for them */
    /* Addresses of image.vars if the cubin describes the module (described.h). */
    uint64_t *var_addrs;
    const char **names; /* names of kernels */
    uint32_t name_count, global_count;
    struct dev_func **funcs; /* indexed like names; NULL until first requested */
};

struct dev_func {
    struct dev_module *module;
    struct code_kernel *kernel;
    struct dev_func_info info;
    struct dev_param *params;
};

/* The device's operations with these names (device.h, device_recovery.h). */
int module_read(struct dev_space *space, uint32_t capability, const void *image, size_t bytes,
                struct dev_module **out, char *why, size_t why_bytes);
int module_place(struct dev_module *module, char *why, size_t why_bytes);
uint32_t module_where(const struct dev_module *module, struct dev_granule *out, uint32_t cap);
int module_place_at(struct dev_module *module, const struct dev_granule *where, uint32_t count,
                    char *why, size_t why_bytes);
void module_remove(struct dev_module *module);
void module_free(struct dev_module *module);
uint32_t module_func_count(struct dev_module *module);
const char *module_func_name(struct dev_module *module, uint32_t index);
int module_func_get(struct dev_module *module, const char *name, struct dev_func **out,
                    struct dev_func_info *info, char *why, size_t why_bytes);
int module_global_get(struct dev_module *module, const char *name, uint64_t *addr, uint64_t *bytes);
uint32_t module_global_count(struct dev_module *module);

#endif
