/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels. A CUkernel and a CUfunction are the same handle: programs pass either where the other
 * belongs. What the worker knows about a kernel is asked once and kept.
 */
#ifndef SHIM_CODE_FUNCTION_H
#define SHIM_CODE_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/cuda_abi.h"
#include "proto/wire.h"

#define FUNCTION_NAME_MAX 16384u

struct image;

struct function {
    CUfunction handle;      /* NULL while the id is free */
    _Atomic uint32_t ready; /* `info` and `params` are filled, and the worker knows the id */
    bool sent;              /* the worker knows the id */
    uint32_t id;            /* on the wire */
    uint32_t max_dynamic;   /* bytes of shared memory that a launch may ask for */
    struct wire_func_reply info;
    struct wire_param *params;
    struct image *image;
    struct function *next; /* of the image */
    char *name;
    uint16_t generation;
    int carveout, cluster_policy, non_portable_cluster;
};

extern struct function function_table[WIRE_FUNCS];

/* NULL for what is no kernel, such as a pointer to a host function. */
static inline struct function *function_find(const void *handle) {
    uint64_t value = (uint64_t)(uintptr_t)handle;
    struct function *f = &function_table[value & (WIRE_FUNCS - 1)];
    return handle && (const void *)f->handle == handle ? f : NULL;
}

/* The kernel, usable: after a reset the worker has to be asked again. */
CUresult function_ready_slow(struct function *f);
static inline CUresult function_ready(struct function *f) {
    return __builtin_expect(atom_load_acquire(&f->ready), 1) ? CUDA_SUCCESS
                                                             : function_ready_slow(f);
}

/* With image_lock held. */
CUresult function_get(struct image *image, const char *name, struct function **out);
CUresult function_get_all(struct image *image, void **handles, uint32_t count);
void function_free(struct function *f);

#endif
