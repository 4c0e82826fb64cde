/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels. A CUkernel and a CUfunction are the same handle: programs pass either in place of the
 * other.
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

/* Settings made by calls that predate CUDA 4.0, used by launches of that form
 * (kernel/launch_set.c). */
struct function_set {
    unsigned int block[3], shared_bytes, param_bytes;
    unsigned char params[FUNCTION_SET_MAX];
};

#define CLUSTER_NONE UINT16_MAX /* a cluster that no launch can have: 16 blocks along each axis */

struct function {
    CUfunction handle;      /* NULL while the id is free */
    _Atomic uint32_t ready; /* `info` and `params` are filled, and the worker knows the id */
    bool sent;              /* the worker knows the id */
    uint32_t id;            /* id on the wire */
    uint32_t max_dynamic;   /* bytes of shared memory that a launch may ask for */
    struct wire_func_reply info;
    struct wire_param *params;
    struct function_set *set; /* NULL: no settings; the caller has entered (image_enter) */
    struct image *image;
    struct function *next; /* next function of the image */
    char *name;
    uint16_t generation;
    int carveout, cluster_policy, non_portable_cluster;
    /* cluster that the program requires by attributes; zeros: none, or the kernel itself requires
     * one */
    uint32_t cluster[3];
    uint16_t launch_flags; /* flags of a launch without a cluster: the cluster that the kernel
                              requires */
};

extern struct table function_table;

/* Grows when a kernel's id may no longer be known to the worker, or may stand for another kernel
 * there. */
extern _Atomic uint32_t function_age;

/* Returns NULL for anything but a kernel, such as a pointer to a host function. */
static inline struct function *function_find(const void *handle) {
    uint64_t value = (uint64_t)(uintptr_t)handle;
    struct function *f = table_at(&function_table, value & (WIRE_FUNCS - 1));
    return handle && f && (const void *)f->handle == handle ? f : NULL;
}

/* The caller of the functions below has entered (image_enter). */

/* Creates a kernel of the image, without a handle as yet; NULL when there are too many or memory is
 * short. */
struct function *function_create(struct image *image, const char *name);
/* Gives the kernel a handle, so that programs can use it. */
void function_publish(struct function *f);
/* Notes that the worker no longer knows the kernel. */
void function_forget(struct function *f);
void function_free(struct function *f);

#endif
