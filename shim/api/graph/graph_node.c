/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that add nodes to graphs, or change their parameters.
 */
#include "proto/gen/prototypes.h"
#include "shim/api/graph/graph_params.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/context/ctx.h"
#include "shim/graph/address_choice.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"

/* ---- adding ---------------------------------------------------------------------------------- */

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
    r = g && at->out ? address_choice_add(g, at->before, at->data, at->count, p, &n)
                     : CUDA_ERROR_INVALID_VALUE;
    if (r)
        graph_free_params(p);
    else
        *at->out = n->handle;
    lock_leave(&graph_lock);
    return r;
}

/* Defines the body of a call that adds a node. `make`: fills the node's parameters p and returns a
 * result. `then`: runs with them after the node was added. */
#define ADD_THEN(data, make, then)                                                \
    struct params p;                                                              \
    CUresult r = ctx_enter_device();                                              \
    struct place at = {phGraphNode, hGraph, dependencies, data, numDependencies}; \
    if (!r) r = add(&at, (make), &p);                                             \
    if (!r) {                                                                     \
        then;                                                                     \
    }                                                                             \
    return r

#define ADD(data, make) ADD_THEN(data, make, )

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
    ADD_THEN(NULL, graph_params_alloc(nodeParams, &p), nodeParams->dptr = p.memory->addr);
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

static void tell_address(const struct params *p, CUgraphNodeParams *out) {
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) out->alloc.dptr = p->memory->addr;
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                           size_t numDependencies, CUgraphNodeParams *nodeParams) {
    ADD_THEN(dependencyData, graph_params_any(nodeParams, &p), tell_address(&p, nodeParams));
}

CUresult cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                           size_t numDependencies, CUgraphNodeParams *nodeParams) {
    ADD_THEN(dependencyData, graph_params_newest(nodeParams, &p), tell_address(&p, nodeParams));
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
    if (state_is_plain()) return refuse_call("a graph whose nodes kernels change");
    lock_enter(&graph_lock);
    struct graph *g = graph_find(hGraph);
    r = g ? condition_create(&g->conditions, sizeof(uint32_t), defaultLaunchValue,
                             flags & CU_GRAPH_COND_ASSIGN_DEFAULT, pHandle_out)
          : CUDA_ERROR_INVALID_VALUE;
    lock_leave(&graph_lock);
    return r;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Sets a node's parameters and takes them over. */
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

CUresult cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
    SET(graph_params_newest(nodeParams, &p));
}
