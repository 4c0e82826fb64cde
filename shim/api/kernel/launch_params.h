/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a launch: its shape and attributes, checked against the kernel and the device,
 * and the kernel's parameter values. A launch that is not sent at once becomes a node of a graph.
 * Any thread.
 */
#ifndef SHIM_API_KERNEL_LAUNCH_PARAMS_H
#define SHIM_API_KERNEL_LAUNCH_PARAMS_H

#include <stdint.h>
#include <string.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/code/function.h"
#include "shim/connection/state.h"
#include "shim/context/stream.h"
#include "shim/graph/params.h"

/* Attributes that a launch sets for itself, overriding its kernel's. */
struct launch_modes {
    CUlaunchAttributePortableClusterMode cluster;
    CUsharedMemoryMode shared;
};

static const struct launch_modes launch_modes_default = {CU_LAUNCH_PORTABLE_CLUSTER_MODE_DEFAULT,
                                                         CU_SHARED_MEMORY_MODE_DEFAULT};

/* Sets the block's shape. The record has 16 bits for each side. A larger side becomes UINT16_MAX,
 * which stays too large for any device (description.c). */
static inline void launch_params_set_block(struct wire_launch *l, uint32_t x, uint32_t y,
                                           uint32_t z) {
    l->block[0] = (uint16_t)(x < UINT16_MAX ? x : UINT16_MAX);
    l->block[1] = (uint16_t)(y < UINT16_MAX ? y : UINT16_MAX);
    l->block[2] = (uint16_t)(z < UINT16_MAX ? z : UINT16_MAX);
}

/* Reads one attribute into the launch's flags and its modes. CUDA_ERROR_INVALID_VALUE: the
 * attribute cannot have this value. */
CUresult launch_params_read_attribute(const CUlaunchAttribute *a, struct wire_launch *l,
                                      struct launch_modes *m);

/* ---- on the path of every launch: no allocation, no system call, all of it inlined ------------
 */

/* cudaErrorInvalidConfiguration: no driver result has this number, but the runtime shows it. */
#define LAUNCH_PARAMS_INVALID_CONFIGURATION ((CUresult)9)

/* Returns the result for an impossible shape. `shown`: the result that the runtime shows. */
__attribute__((cold)) CUresult launch_params_bad_shape(CUresult shown);

/* The bytes of dynamic shared memory that the kernel may have in a mode other than the default. */
uint32_t launch_params_most_shared(const struct function *f, const struct launch_modes *m);

/* Checks the flags that require blocks to be resident together. `s`: as for occupancy_calls_part.
 */
CUresult launch_params_check_together(const struct wire_launch *l, const struct function *f,
                                      const struct launch_modes *m, const struct stream *s);

/* Copies the parameter values from one buffer that is already laid out. */
CUresult launch_params_unpack(const struct function *f, void **extra, unsigned char *to);

/* Returns the device's limit of a launch's shape, from its description: always known and positive.
 */
static inline uint32_t launch_params_most(int attribute) {
    return (uint32_t)state.conn.description.attributes[attribute];
}

static inline CUresult launch_params_check_shape(const struct wire_launch *l,
                                                 const struct function *f, uint32_t most_shared) {
    const uint32_t *g = l->grid, *required = f->info.req_block;
    const uint32_t b[3] = {l->block[0], l->block[1], l->block[2]};
    for (int i = 0; i < 3; i++)
        if (g[i] - 1 >= launch_params_most(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i) ||
            b[i] - 1 >= launch_params_most(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i))
            return launch_params_bad_shape(LAUNCH_PARAMS_INVALID_CONFIGURATION);
    uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
    if (threads > launch_params_most(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
        return launch_params_bad_shape(LAUNCH_PARAMS_INVALID_CONFIGURATION);
    if (threads > f->info.max_threads)
        return launch_params_bad_shape(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    if (required[0] && (b[0] != required[0] || b[1] != required[1] || b[2] != required[2]))
        return CUDA_ERROR_INVALID_VALUE;
    return l->shared_bytes <= most_shared ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Checks a launch of the kernel. A launch without a cluster gets the kernel's own. `s`: as for
 * occupancy_calls_part. */
static inline CUresult launch_params_check(struct wire_launch *l, const struct function *f,
                                           const struct launch_modes *m, const struct stream *s) {
    if (!(l->flags & WIRE_LAUNCH_CLUSTER)) l->flags |= f->launch_flags;
    uint32_t most_shared = m->shared == CU_SHARED_MEMORY_MODE_DEFAULT
                               ? f->max_dynamic
                               : launch_params_most_shared(f, m);
    CUresult r = launch_params_check_shape(l, f, most_shared);
    return !r && l->flags ? launch_params_check_together(l, f, m, s) : r;
}

static inline CUresult launch_params_pack(const struct function *f, void **params,
                                          unsigned char *to) {
    for (uint32_t i = 0; i < f->info.param_count; i++) {
        const struct wire_param *p = &f->params[i];
        if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
        /* Constant sizes become single moves. */
        switch (p->bytes) {
        case 4: memcpy(to + p->offset, params[i], 4); break;
        case 8: memcpy(to + p->offset, params[i], 8); break;
        default: memcpy(to + p->offset, params[i], p->bytes);
        }
    }
    return CUDA_SUCCESS;
}

/* Gathers the parameter values at `to` in the kernel's layout. A kernel without parameters may be
 * given neither form. */
static inline CUresult launch_params_gather(const struct function *f, void **params, void **extra,
                                            unsigned char *to) {
    return params  ? launch_params_pack(f, params, to)
           : extra ? launch_params_unpack(f, extra, to)
                   : CUDA_SUCCESS;
}

/* ---- nodes of graphs ------------------------------------------------------------------------- */

/* Adds the launch to the graph that captures the stream. `config`: the attributes of the node, or
 * NULL. */
CUresult launch_params_capture(const struct wire_launch *l, CUfunction f,
                               const struct launch_modes *m, struct stream *s, void **params,
                               void **extra, const CUlaunchConfig *config);

/* Reads the parameters of a kernel node and checks them like a launch's. The parameter values are
 * copied now. */
CUresult launch_params_of_node(const CUDA_KERNEL_NODE_PARAMS_v2 *node, struct params *out);

/* Sets a further attribute of a node. The caller holds graph_lock. CUDA_ERROR_NOT_SUPPORTED, logged
 * by name, for an attribute that cannot be honoured and could change a result. */
CUresult launch_params_set_attribute(struct params_kernel *k, CUlaunchAttribute *a);

#endif
