/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about single nodes of graphs: added, asked about, changed.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/graph_params.h"
#include "shim/api/launch.h"
#include "shim/context/ctx.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"

/* ---- added ----------------------------------------------------------------------------------- */

struct place {
    CUgraphNode *out;
    CUgraph graph;
    const CUgraphNode *before;
    const CUgraphEdgeData *data;
    size_t count;
};

static CUresult add(const struct place *at, CUresult r, struct params *p) {
    struct graph_node *n;
    if (r) return r;
    lock_enter(&graph_lock);
    struct graph *g = graph_find(at->graph);
    r = g && at->out ? graph_add(g, at->before, at->data, at->count, p, &n)
                     : CUDA_ERROR_INVALID_VALUE;
    if (r)
        graph_free_params(p);
    else
        *at->out = n->handle;
    lock_leave(&graph_lock);
    return r;
}

/* `make`: gives CUDA_SUCCESS and the node's params, p. */
#define ADD(data, make)                                                           \
    struct params p;                                                              \
    CUresult r = ctx_enter_device();                                              \
    struct place at = {phGraphNode, hGraph, dependencies, data, numDependencies}; \
    return r ? r : add(&at, (make), &p)

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    ADD(NULL, graph_params_kernel_v1(nodeParams, &p));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams) {
    ADD(NULL, graph_params_kernel(nodeParams, &p));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMCPY3D *copyParams, CUcontext ctx) {
    ADD(NULL, graph_params_copy(copyParams, &p));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx) {
    ADD(NULL, graph_params_fill(memsetParams, &p));
}

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                            const CUgraphNode *dependencies, size_t numDependencies,
                            const CUDA_HOST_NODE_PARAMS *nodeParams) {
    ADD(NULL, graph_params_host(nodeParams, &p));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  CUgraph childGraph) {
    ADD(NULL, graph_params_child(childGraph, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, &p));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                             const CUgraphNode *dependencies, size_t numDependencies) {
    CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    ADD(NULL, graph_params_any(&empty, &p));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   CUevent event) {
    ADD(NULL, graph_params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &p));
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 CUevent event) {
    ADD(NULL, graph_params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &p));
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams) {
    ADD(NULL, graph_params_alloc(nodeParams, &p));
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                               const CUgraphNode *dependencies, size_t numDependencies,
                               CUdeviceptr dptr) {
    ADD(NULL, graph_params_release(dptr, &p));
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    ADD(NULL, graph_params_values(nodeParams, &p));
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                           size_t numDependencies, CUgraphNodeParams *nodeParams) {
    ADD(dependencyData, graph_params_any(nodeParams, &p));
}

CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                        size_t numDependencies, CUgraphNodeParams *nodeParams) {
    return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph,
                                        CUcontext ctx, unsigned int defaultLaunchValue,
                                        unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pHandle_out || flags & ~(unsigned int)CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&graph_lock);
    struct graph *g = graph_find(hGraph);
    r = g ? condition_create(&g->conditions, defaultLaunchValue,
                             flags & CU_GRAPH_COND_ASSIGN_DEFAULT, pHandle_out)
          : CUDA_ERROR_INVALID_VALUE;
    lock_leave(&graph_lock);
    return r;
}

/* ---- asked about ----------------------------------------------------------------------------- */

static CUresult leave(CUresult r) {
    lock_leave(&graph_lock);
    return r;
}

/* A node of this kind; `out`: where its params go, not NULL. */
static CUresult enter(CUgraphNode handle, CUgraphNodeType type, const void *out,
                      struct graph_node **n) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&graph_lock);
    *n = graph_find_node(handle);
    return *n && (*n)->params.type == type ? CUDA_SUCCESS : leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &n);
    if (r) return r;
    struct params_kernel *k = &n->params.kernel;
    const struct wire_launch *l = &k->launch;
    *nodeParams = (CUDA_KERNEL_NODE_PARAMS_v2){
        .func = k->function,
        .gridDimX = l->grid[0],
        .gridDimY = l->grid[1],
        .gridDimZ = l->grid[2],
        .blockDimX = l->block[0],
        .blockDimY = l->block[1],
        .blockDimZ = l->block[2],
        .sharedMemBytes = l->shared_bytes,
        .kernelParams = params_pointers(k),
        .kern = (CUkernel)k->function,
    };
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    CUDA_KERNEL_NODE_PARAMS_v2 longer;
    if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cuGraphKernelNodeGetParams_v2(hNode, &longer);
    if (!r) memcpy(nodeParams, &longer, sizeof(*nodeParams));
    return r;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &n);
    if (r) return r;
    *nodeParams = n->params.copy.shown;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &n);
    if (r) return r;
    *nodeParams = n->params.fill;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &n);
    if (r) return r;
    *nodeParams = n->params.host;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                        CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, &n);
    if (r) return r;
    const struct params_values *v = &n->params.values;
    *nodeParams_out =
        (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = v->ctx, .count = v->count, .paramArray = v->list};
    return leave(CUDA_SUCCESS);
}

static CUresult get_event(CUgraphNode hNode, CUgraphNodeType type, CUevent *event_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, type, event_out, &n);
    if (r) return r;
    *event_out = n->params.event;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out) {
    return get_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out) {
    return get_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, &n);
    if (r) return r;
    *params_out = (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = n->params.memory->place},
        .bytesize = n->params.memory->bytes,
        .dptr = n->params.memory->addr,
    };
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out, &n);
    if (r) return r;
    *dptr_out = n->params.memory->addr;
    return leave(CUDA_SUCCESS);
}

/* ---- changed --------------------------------------------------------------------------------- */

/* Takes the params over. */
static CUresult set(CUgraphNode handle, CUresult r, struct params *p) {
    if (r) return r;
    lock_enter(&graph_lock);
    struct graph_node *n = graph_find_node(handle);
    r = n ? graph_change(n, p) : CUDA_ERROR_INVALID_VALUE;
    if (r) graph_free_params(p);
    lock_leave(&graph_lock);
    return r;
}

#define SET(make)                    \
    struct params p;                 \
    CUresult r = ctx_enter_device(); \
    return r ? r : set(hNode, (make), &p)

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                    const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    SET(graph_params_kernel_v1(nodeParams, &p));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                       const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams) {
    SET(graph_params_kernel(nodeParams, &p));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams) {
    SET(graph_params_copy(nodeParams, &p));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams) {
    SET(graph_params_fill(nodeParams, &p));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams) {
    SET(graph_params_host(nodeParams, &p));
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams) {
    SET(graph_params_values(nodeParams, &p));
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
    SET(graph_params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &p));
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
    SET(graph_params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &p));
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
    SET(graph_params_any(nodeParams, &p));
}

/* ---- attributes of launches ------------------------------------------------------------------ */

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue *value_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value_out, &n);
    if (r) return r;
    const struct params_kernel *k = &n->params.kernel;
    const CUlaunchAttributeValue *v = params_attribute(k, attr);
    *value_out = v ? *v : (CUkernelNodeAttrValue){.pad = {0}};
    if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        value_out->cooperative = (k->launch.flags & WIRE_LAUNCH_COOPERATIVE) != 0;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue *value) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value, &n);
    if (r) return r;
    CUlaunchAttribute a = {.id = attr, .value = *value};
    return leave(launch_attribute(&n->params.kernel, &a));
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
    struct graph_node *from, *to;
    CUresult r = enter(src, CU_GRAPH_NODE_TYPE_KERNEL, &dst, &from);
    if (r) return r;
    to = graph_find_node(dst);
    if (!to || to->params.type != CU_GRAPH_NODE_TYPE_KERNEL) return leave(CUDA_ERROR_INVALID_VALUE);
    params_copy_attributes(&to->params.kernel, &from->params.kernel);
    return leave(CUDA_SUCCESS);
}
