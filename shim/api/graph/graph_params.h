/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the parameters of nodes from the structures of the driver's API. Each function checks them
 * as the call that does the same at once. The caller gives the result to a node or frees it.
 */
#ifndef SHIM_API_GRAPH_GRAPH_PARAMS_H
#define SHIM_API_GRAPH_GRAPH_PARAMS_H

#include "shim/graph/params.h"

CUresult graph_params_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *k, struct params *out);
CUresult graph_params_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *k, struct params *out);
CUresult graph_params_copy(const CUDA_MEMCPY3D *c, struct params *out);
CUresult graph_params_fill(const CUDA_MEMSET_NODE_PARAMS *m, struct params *out);
CUresult graph_params_host(const CUDA_HOST_NODE_PARAMS *h, struct params *out);
CUresult graph_params_values(const CUDA_BATCH_MEM_OP_NODE_PARAMS *b, struct params *out);
CUresult graph_params_event(CUgraphNodeType type, CUevent event, struct params *out);
CUresult graph_params_child(CUgraph graph, CUgraphChildGraphNodeOwnership ownership,
                            struct params *out);
/* Needs a current context. The node stores where the memory is. */
CUresult graph_params_alloc(const CUDA_MEM_ALLOC_NODE_PARAMS *a, struct params *out);
CUresult graph_params_release(CUdeviceptr addr, struct params *out);
/* Reads a node of any kind. CUDA_ERROR_NOT_SUPPORTED, logged by name, for kinds that are not
 * supported. */
CUresult graph_params_any(CUgraphNodeParams *p, struct params *out);
/* Reads the structure of CUDA 13.4 and later, in which more kinds name their context. The context
 * is ignored, because the stream of a graph's launch runs them. CUDA_ERROR_INVALID_CONTEXT: it does
 * not exist. */
CUresult graph_params_newest(CUgraphNodeParams *p, struct params *out);

/* Frees parameters that were not given to a node. */
void graph_params_free(struct params *p);

#endif
