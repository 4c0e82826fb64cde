/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a launch: its shape and attributes, checked against the kernel and the device,
 * and the values that its kernel gets. A launch that is not sent at once becomes a node of a graph.
 * Any thread.
 */
#ifndef SHIM_API_KERNEL_LAUNCH_PARAMS_H
#define SHIM_API_KERNEL_LAUNCH_PARAMS_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/code/function.h"
#include "shim/context/stream.h"
#include "shim/graph/params.h"

/* Attributes that a launch sets for itself, in place of its kernel's. */
struct launch_modes {
    CUlaunchAttributePortableClusterMode cluster;
    CUsharedMemoryMode shared;
};

static const struct launch_modes launch_modes_default = {CU_LAUNCH_PORTABLE_CLUSTER_MODE_DEFAULT,
                                                         CU_SHARED_MEMORY_MODE_DEFAULT};

/* The record has 16 bits for each; what does not fit is too large on any device (description.c),
 * and stays so. */
static inline void launch_params_set_block(struct wire_launch *l, uint32_t x, uint32_t y,
                                           uint32_t z) {
    l->block[0] = (uint16_t)(x < UINT16_MAX ? x : UINT16_MAX);
    l->block[1] = (uint16_t)(y < UINT16_MAX ? y : UINT16_MAX);
    l->block[2] = (uint16_t)(z < UINT16_MAX ? z : UINT16_MAX);
}

/* Reads one attribute into the launch's flags and its modes. CUDA_ERROR_INVALID_VALUE: it cannot
 * have this value. */
CUresult launch_params_read_attribute(const CUlaunchAttribute *a, struct wire_launch *l,
                                      struct launch_modes *m);

/* Whether the kernel can be launched so; a launch that names no cluster gets the kernel's own.
 * `s`: as occupancy_part has it. */
CUresult launch_params_check(struct wire_launch *l, const struct function *f,
                             const struct launch_modes *m, const struct stream *s);

/* The values of the parameters, at `to` as the kernel lays them out. A kernel without parameters
 * may be given neither form. */
CUresult launch_params_gather(const struct function *f, void **params, void **extra,
                              unsigned char *to);

/* Adds the launch to the graph that captures the stream. `config`: with the attributes that the
 * node has; or NULL. */
CUresult launch_params_capture(const struct wire_launch *l, CUfunction f,
                               const struct launch_modes *m, struct stream *s, void **params,
                               void **extra, const CUlaunchConfig *config);

/* Those of a kernel node, checked as a launch's are; the values of the parameters are those of now.
 */
CUresult launch_params_of_node(const CUDA_KERNEL_NODE_PARAMS_v2 *node, struct params *out);

/* A further attribute of a node, with graph_lock held: CUDA_ERROR_NOT_SUPPORTED, said by name, for
 * what cannot be honoured and could change a result. */
CUresult launch_params_set_attribute(struct params_kernel *k, CUlaunchAttribute *a);

#endif
