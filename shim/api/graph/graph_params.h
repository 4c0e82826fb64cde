/* SPDX-License-Identifier: Apache-2.0
 *
 * What nodes do, from the structures of the driver's API. Each checks as the call would that does
 * it at once; what comes out is the caller's to give to a node, or to free.
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
/* With a current context; where the memory is, the node knows. */
CUresult graph_params_alloc(const CUDA_MEM_ALLOC_NODE_PARAMS *a, struct params *out);
CUresult graph_params_release(CUdeviceptr addr, struct params *out);
/* Of any kind. CUDA_ERROR_NOT_SUPPORTED, said by name, for those that have no place here. */
CUresult graph_params_any(CUgraphNodeParams *p, struct params *out);
/* The same as of 13.4, from when on more of them say in which context they are: the streams that a
 * graph is launched in run them, whatever the context. CUDA_ERROR_INVALID_CONTEXT: there is none.
 */
CUresult graph_params_newest(CUgraphNodeParams *p, struct params *out);

/* What was not given to a node. */
void graph_params_free(struct params *p);

#endif
