/* SPDX-License-Identifier: Apache-2.0
 *
 * Images loaded into a space: code, variables, kernels. Reading, decoding and freeing touch nothing
 * of the space but what is fixed before its first module, so that a thread of their own may do it.
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
    uint32_t capability; /* for which its PTX was chosen: 90 for 9.0 */
    struct image image;
    struct code_module *code;        /* NULL: of machine code only, or described by it */
    struct list blocks;              /* its memory in the module window */
    uint64_t var_next, var_end;      /* unused rest of its last block */
    bool managed;                    /* a variable is: then all lie in the host window */
    const struct dev_granule *where; /* module_place_at's, meanwhile, until they are taken */
    uint32_t where_count;
    int where_err; /* why they could not be */
    struct {
        bool heap, runtime; /* of the space's */
    } needs, has;           /* what its kernels may need; what was taken for them */
    uint64_t *var_addrs;    /* of image.vars, where the cubin describes it: described.h */
    const char **names;     /* kernels */
    uint32_t name_count, global_count;
    struct dev_func **funcs; /* by index of names; NULL until asked for */
};

struct dev_func {
    struct dev_module *module;
    struct code_kernel *kernel;
    struct dev_func_info info;
    struct dev_param *params;
};

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
