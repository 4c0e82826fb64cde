/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about executable graphs.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/graph/graph_params.h"
#include "shim/capture/capture.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/graph/registry.h"
#include "shim/graph_exec/exec.h"
#include "shim/graph_exec/exec_update.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"

#define FLAGS_KNOWN                                                                         \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
     CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

/* ---- instantiation and destruction ----------------------------------------------------------- */

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                     unsigned long long flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!phGraphExec || flags & ~(unsigned long long)FLAGS_KNOWN) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH &&
        flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH && state_is_plain())
        return refuse_call("a graph that kernels launch");
    return exec_create(hGraph, flags, phGraphExec);
}

static CUresult instantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
                            CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cuGraphInstantiateWithFlags(phGraphExec, hGraph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : r == CUDA_ERROR_NOT_SUPPORTED
                             ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
                         : r == CUDA_ERROR_INVALID_VALUE ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                         : CUDA_GRAPH_INSTANTIATE_ERROR;
    return r;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams) {
    return instantiate(phGraphExec, hGraph, instantiateParams);
}

/* The stream is inside the parameters, and the call sends nothing in it. */
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams) {
    return instantiate(phGraphExec, hGraph, instantiateParams);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                               char *logBuffer, size_t bufferSize) {
    if (phErrorNode) *phErrorNode = NULL;
    if (logBuffer && bufferSize) *logBuffer = 0;
    return cuGraphInstantiateWithFlags(phGraphExec, hGraph, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                            char *logBuffer, size_t bufferSize) {
    return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
    CUresult r = state_ready();
    return r ? r : exec_destroy(hGraphExec);
}

/* ---- launch ---------------------------------------------------------------------------------- */

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    mem_tell(); /* reports the memory that instantiation allocated */
    return stream_captured(s) ? capture_refuse(s) : exec_launch(hGraph, s);
}

CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    return stream_captured(s) ? capture_refuse(s) : exec_upload(hGraph);
}

/* ---- queries and switches -------------------------------------------------------------------- */

static CUresult leave(CUresult r) {
    lock_leave(&graph_lock);
    return r;
}

static CUresult enter(CUgraphExec handle, struct exec **e) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    lock_enter(&graph_lock);
    *e = exec_find(handle);
    return *e ? CUDA_SUCCESS : leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, uint64_t *flags) {
    struct exec *e;
    CUresult r = enter(hGraphExec, &e);
    if (r) return r;
    if (flags) *flags = e->flags;
    return leave(flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphExecGetId(CUgraphExec hGraphExec, unsigned int *graphId) {
    struct exec *e;
    CUresult r = enter(hGraphExec, &e);
    if (r) return r;
    if (graphId) *graphId = e->graph->id;
    return leave(graphId ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Finds a node of a kind that can be disabled; NULL for others. */
static struct graph_node *find_switch(const struct exec *e, CUgraphNode handle) {
    struct graph_node *n = graph_find_copy(e->graph, handle);
    if (!n) return NULL;
    CUgraphNodeType type = n->params.type;
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                   type == CU_GRAPH_NODE_TYPE_MEMSET
               ? n
               : NULL;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
    struct exec *e;
    CUresult r = enter(hGraphExec, &e);
    if (r) return r;
    struct graph_node *n = find_switch(e, hNode);
    if (!n) return leave(CUDA_ERROR_INVALID_VALUE);
    if (n->disabled != !isEnabled) exec_changed(e);
    n->disabled = !isEnabled;
    if (n->params.type == CU_GRAPH_NODE_TYPE_KERNEL) n->params.kernel.written = false;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled) {
    struct exec *e;
    CUresult r = enter(hGraphExec, &e);
    if (r) return r;
    const struct graph_node *n = isEnabled ? find_switch(e, hNode) : NULL;
    if (n) *isEnabled = !n->disabled;
    return leave(n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Sets a node's parameters and takes them over. */
static CUresult set(CUgraphExec handle, CUgraphNode node, CUresult r, struct params *p) {
    if (r) return r;
    lock_enter(&graph_lock);
    struct exec *e = exec_find(handle);
    struct graph_node *n = e && node ? graph_find_copy(e->graph, node) : NULL;
    r = n ? graph_change(n, p) : CUDA_ERROR_INVALID_VALUE;
    if (r)
        graph_free_params(p);
    else
        exec_changed(e);
    lock_leave(&graph_lock);
    return r;
}

#define SET(make)                    \
    struct params p;                 \
    CUresult r = ctx_enter_device(); \
    return r ? r : set(hGraphExec, hNode, (make), &p)

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    SET(graph_params_kernel_v1(nodeParams, &p));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams) {
    SET(graph_params_kernel(nodeParams, &p));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D *copyParams, CUcontext ctx) {
    SET(graph_params_copy(copyParams, &p));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                        CUcontext ctx) {
    SET(graph_params_fill(memsetParams, &p));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS *nodeParams) {
    SET(graph_params_host(nodeParams, &p));
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    SET(graph_params_values(nodeParams, &p));
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUevent event) {
    SET(graph_params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &p));
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUevent event) {
    SET(graph_params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &p));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                  CUgraphNodeParams *nodeParams) {
    if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, nodeParams->graph.graph);
    SET(graph_params_any(nodeParams, &p));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUgraph childGraph) {
    CUgraphExecUpdateResultInfo info;
    struct exec *e;
    CUresult r = enter(hGraphExec, &e);
    if (r) return r;
    const struct graph *child = graph_find(childGraph);
    const struct graph_node *n = graph_find_copy(e->graph, hNode);
    if (!child || !n || n->params.type != CU_GRAPH_NODE_TYPE_GRAPH)
        return leave(CUDA_ERROR_INVALID_VALUE);
    return leave(exec_update(e, n->params.child, child, &info));
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo *resultInfo) {
    struct exec *e;
    CUgraphExecUpdateResultInfo info;
    CUresult r = enter(hGraphExec, &e);
    if (r) return r;
    const struct graph *g = graph_find(hGraph);
    if (!g) return leave(CUDA_ERROR_INVALID_VALUE);
    r = exec_update(e, e->graph, g, &info);
    if (resultInfo) *resultInfo = info;
    return leave(r);
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                           CUgraphExecUpdateResult *updateResult_out) {
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult r = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
    if (hErrorNode_out) *hErrorNode_out = info.errorNode;
    if (updateResult_out) *updateResult_out = info.result;
    return r;
}
