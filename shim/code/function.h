/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels. A CUkernel and a CUfunction are the same handle: programs pass either where the other
 * belongs.
 */
#ifndef SHIM_CODE_FUNCTION_H
#define SHIM_CODE_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/table.h"

#define FUNCTION_NAME_MAX 16384u
#define FUNCTION_SET_MAX 4096u /* bytes of parameters */

struct image;

/* Settings of the calls of before CUDA 4.0, for launches of before CUDA 4.0 (kernel/launch_set.c).
 */
struct function_set {
    unsigned int block[3], shared_bytes, param_bytes;
    unsigned char params[FUNCTION_SET_MAX];
};

#define CLUSTER_NONE UINT16_MAX /* clusters that no launch can have: 16 along each axis */

struct function {
    CUfunction handle;      /* NULL while the id is free */
    _Atomic uint32_t ready; /* `info` and `params` are filled, and the worker knows the id */
    bool sent;              /* the worker knows the id */
    uint32_t id;            /* on the wire */
    uint32_t max_dynamic;   /* bytes of shared memory that a launch may ask for */
    struct wire_func_reply info;
    struct wire_param *params;
    struct function_set *set; /* NULL: nothing is; entered (image_enter) */
    struct image *image;
    struct function *next; /* of the image */
    char *name;
    uint16_t generation;
    int carveout, cluster_policy, non_portable_cluster;
    uint32_t cluster[3];   /* as attributes, where the kernel itself does not say; else zeros */
    uint16_t launch_flags; /* of launches that say nothing of clusters: those it has to have */
};

extern struct table function_table;

/* Grows whenever the worker may know a kernel's id no more, or as another one's. */
extern _Atomic uint32_t function_age;

/* NULL for what is no kernel, such as a pointer to a host function. */
static inline struct function *function_find(const void *handle) {
    uint64_t value = (uint64_t)(uintptr_t)handle;
    struct function *f = table_at(&function_table, value & (WIRE_FUNCS - 1));
    return handle && f && (const void *)f->handle == handle ? f : NULL;
}

/* What follows: entered (image_enter). */

/* A kernel of the image, without a handle as yet; NULL when there are too many. */
struct function *function_create(struct image *image, const char *name);
/* Programs may have it. */
void function_publish(struct function *f);
/* The worker knows nothing of it any more. */
void function_forget(struct function *f);
void function_free(struct function *f);

#endif
