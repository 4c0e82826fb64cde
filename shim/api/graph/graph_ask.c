/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that query the parameters of nodes of graphs, and the launch attributes among them.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/kernel/launch_params.h"
#include "shim/code/function.h"
#include "shim/context/ctx.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"

static CUresult leave(CUresult r) {
    lock_leave(&graph_lock);
    return r;
}

/* Finds a node of this kind and takes graph_lock. `out`: the destination of the parameters, not
 * NULL. */
static CUresult enter(CUgraphNode handle, CUgraphNodeType type, const void *out,
                      struct graph_node **n) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&graph_lock);
    *n = graph_find_node(handle);
    return *n && (*n)->params.type == type ? CUDA_SUCCESS : leave(CUDA_ERROR_INVALID_VALUE);
}

/* ---- nodes of one kind ----------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS_v2 show_kernel(struct params_kernel *k) {
    const struct wire_launch *l = &k->launch;
    return (CUDA_KERNEL_NODE_PARAMS_v2){
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
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &n);
    if (r) return r;
    *nodeParams = show_kernel(&n->params.kernel);
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

static CUDA_BATCH_MEM_OP_NODE_PARAMS show_values(const struct params_values *v) {
    return (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = v->ctx, .count = v->count, .paramArray = v->list};
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                        CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, &n);
    if (r) return r;
    *nodeParams_out = show_values(&n->params.values);
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

static CUDA_MEM_ALLOC_NODE_PARAMS show_memory(const struct graph_memory *m) {
    return (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = m->place},
        .bytesize = m->bytes,
        .dptr = m->addr,
    };
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, &n);
    if (r) return r;
    *params_out = show_memory(n->params.memory);
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out) {
    struct graph_node *n;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out, &n);
    if (r) return r;
    *dptr_out = n->params.memory->addr;
    return leave(CUDA_SUCCESS);
}

/* ---- nodes of any kind ----------------------------------------------------------------------- */

static CUDA_MEMSET_NODE_PARAMS_v2 show_fill(const CUDA_MEMSET_NODE_PARAMS *m) {
    return (CUDA_MEMSET_NODE_PARAMS_v2){.dst = m->dst,
                                        .pitch = m->pitch,
                                        .value = m->value,
                                        .elementSize = m->elementSize,
                                        .width = m->width,
                                        .height = m->height};
}

static CUDA_CONDITIONAL_NODE_PARAMS show_choice(const struct params_choice *c) {
    return (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = c->handle, .type = c->type, .size = c->count, .phGraph_out = c->handles};
}

static void show(struct params *p, CUgraphNodeParams *out) {
    *out = (CUgraphNodeParams){.type = p->type};
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: out->kernel = show_kernel(&p->kernel); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: out->memcpy.copyParams = p->copy.shown; break;
    case CU_GRAPH_NODE_TYPE_MEMSET: out->memset = show_fill(&p->fill); break;
    case CU_GRAPH_NODE_TYPE_HOST:
        out->host = (CUDA_HOST_NODE_PARAMS_v2){.fn = p->host.fn, .userData = p->host.userData};
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH: /* the node owns its graph, and ownership is never reported */
        out->graph.graph = p->child->handle;
        out->graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID;
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: out->eventWait.event = p->event; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: out->eventRecord.event = p->event; break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: out->alloc = show_memory(p->memory); break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: out->free.dptr = p->memory->addr; break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: out->memOp = show_values(&p->values); break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: out->conditional = show_choice(&p->choice); break;
    default: break;
    }
}

CUresult cuGraphNodeGetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    if (!nodeParams) return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&graph_lock);
    struct graph_node *n = graph_find_node(hNode);
    if (!n) return leave(CUDA_ERROR_INVALID_VALUE);
    show(&n->params, nodeParams);
    return leave(CUDA_SUCCESS);
}

/* ---- attributes of launches ------------------------------------------------------------------ */

/* True for an attribute that a kernel node can have. */
static bool is_node_attribute(CUlaunchAttributeID id) {
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
    case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
    case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE: return true;
    default: return false;
    }
}

/* The value of an attribute that the program did not set: the default of streams, or the kernel's
 * own. */
static CUkernelNodeAttrValue first_value(const struct params_kernel *k, CUlaunchAttributeID id) {
    CUkernelNodeAttrValue v = {.pad = {0}};
    const struct function *f = function_find(k->function);
    if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) v.memSyncDomainMap.remote = 1;
    if (!f) return v;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        v.clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)f->cluster_policy;
    if (id == CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        v.sharedMemCarveout = (unsigned int)f->carveout;
    return v;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue *value_out) {
    struct graph_node *n;
    if (!is_node_attribute(attr)) value_out = NULL;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value_out, &n);
    if (r) return r;
    const struct params_kernel *k = &n->params.kernel;
    const CUlaunchAttributeValue *v = params_attribute(k, attr);
    *value_out = v ? *v : first_value(k, attr);
    if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        value_out->cooperative = (k->launch.flags & WIRE_LAUNCH_COOPERATIVE) != 0;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue *value) {
    struct graph_node *n;
    if (!is_node_attribute(attr)) value = NULL;
    CUresult r = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value, &n);
    if (r) return r;
    CUlaunchAttribute a = {.id = attr, .value = *value};
    r = launch_params_set_attribute(&n->params.kernel, &a);
    /* CUDA returns the node's handle in the value, although the declaration says const. */
    if (!r && attr == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
        a.value.deviceUpdatableKernelNode.deviceUpdatable)
        memcpy((void *)(uintptr_t)value, &a.value, sizeof(a.value.deviceUpdatableKernelNode));
    return leave(r);
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
    struct graph_node *from, *to;
    CUresult r = enter(src, CU_GRAPH_NODE_TYPE_KERNEL, &dst, &from);
    if (r) return r;
    to = graph_find_node(dst);
    if (!to || to->params.type != CU_GRAPH_NODE_TYPE_KERNEL || to->params.kernel.changing ||
        from->params.kernel.changing)
        return leave(CUDA_ERROR_INVALID_VALUE);
    params_copy_attributes(&to->params.kernel, &from->params.kernel);
    return leave(CUDA_SUCCESS);
}
