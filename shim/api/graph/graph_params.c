/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the parameters of nodes.
 */
#include "shim/api/graph/graph_params.h"

#include <string.h>

#include "shim/api/kernel/launch_params.h"
#include "shim/api/memory/copy.h"
#include "shim/connection/refuse.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"
#include "shim/transfer/fill.h"
#include "shim/transfer/value.h"

#define CHOICES_MAX 4096u /* graphs of one conditional node */

CUresult graph_params_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *k, struct params *out) {
    CUDA_KERNEL_NODE_PARAMS_v2 longer = {0};
    if (!k) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&longer, k, sizeof(*k)); /* the older structure is the first part of the newer one */
    return launch_params_of_node(&longer, out);
}

CUresult graph_params_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *k, struct params *out) {
    return k ? launch_params_of_node(k, out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult graph_params_copy(const CUDA_MEMCPY3D *c, struct params *out) {
    struct transfer_places places;
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy.shown = *c};
    CUresult r = copy_describe(c, &out->copy.transfer, &out->copy.flags);
    struct transfer checked = out->copy.transfer;
    return r ? r : transfer_check(&checked, out->copy.flags, &places);
}

CUresult graph_params_fill(const CUDA_MEMSET_NODE_PARAMS *m, struct params *out) {
    if (!m || m->width == 0 || m->height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (m->elementSize != 1 && m->elementSize != 2 && m->elementSize != 4)
        return CUDA_ERROR_INVALID_VALUE;
    struct fill f = {m->dst, m->pitch, m->width, m->height, m->value, m->elementSize};
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_MEMSET, .fill = *m};
    return fill_check(&f);
}

CUresult graph_params_host(const CUDA_HOST_NODE_PARAMS *h, struct params *out) {
    if (!h || !h->fn) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_HOST, .host = *h};
    return CUDA_SUCCESS;
}

CUresult graph_params_values(const CUDA_BATCH_MEM_OP_NODE_PARAMS *b, struct params *out) {
    if (!b) return CUDA_ERROR_INVALID_VALUE;
    const struct params_values asked = {.count = b->count, .list = b->paramArray, .ctx = b->ctx};
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    CUresult r = value_check(b->count, b->paramArray, b->flags);
    return r ? r : params_clone_values(&out->values, &asked);
}

CUresult graph_params_event(CUgraphNodeType type, CUevent event, struct params *out) {
    *out = (struct params){.type = type, .event = event};
    return event_find(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult graph_params_child(CUgraph graph, CUgraphChildGraphNodeOwnership ownership,
                            struct params *out) {
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_GRAPH};
    lock_enter(&graph_lock);
    struct graph *g = graph_find(graph);
    CUresult r = g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (g && ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
        out->child = g;
        out->borrowed = true;
        if (g->owned || g->capturing) r = CUDA_ERROR_INVALID_VALUE;
    } else if (g) {
        r = graph_is_bound(g) ? CUDA_ERROR_NOT_SUPPORTED : graph_clone(g, true, &out->child);
    }
    lock_leave(&graph_lock);
    return r;
}

/* True for a place where a graph can allocate memory: the places that a pool of pinned memory may
 * have. */
static bool is_place(const CUmemLocation *l) {
    switch (l->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return l->id == 0;
    case CU_MEM_LOCATION_TYPE_HOST: return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return l->id >= 0;
    default: return false;
    }
}

CUresult graph_params_alloc(const CUDA_MEM_ALLOC_NODE_PARAMS *a, struct params *out) {
    if (!a || a->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    if (a->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        !is_place(&a->poolProps.location))
        return CUDA_ERROR_INVALID_VALUE;
    if (a->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    return graph_memory_create(ctx_current()->index, &a->poolProps.location, a->bytesize,
                               &out->memory);
}

CUresult graph_params_release(CUdeviceptr addr, struct params *out) {
    *out = (struct params){.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    lock_enter(&graph_lock);
    out->memory = graph_memory_find(addr);
    if (out->memory) graph_memory_hold(out->memory);
    lock_leave(&graph_lock);
    return out->memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult read_fill(const CUDA_MEMSET_NODE_PARAMS_v2 *m, struct params *out) {
    CUDA_MEMSET_NODE_PARAMS shorter = {m->dst,         m->pitch, m->value,
                                       m->elementSize, m->width, m->height};
    return graph_params_fill(&shorter, out);
}

static CUresult read_host(const CUDA_HOST_NODE_PARAMS_v2 *h, struct params *out) {
    return graph_params_host(&(CUDA_HOST_NODE_PARAMS){h->fn, h->userData}, out);
}

static bool bodies_ok(CUgraphConditionalNodeType type, unsigned int count) {
    switch (type) {
    case CU_GRAPH_COND_TYPE_IF: return count == 1 || count == 2;
    case CU_GRAPH_COND_TYPE_WHILE: return count == 1;
    default: return type == CU_GRAPH_COND_TYPE_SWITCH && count > 0 && count <= CHOICES_MAX;
    }
}

/* Reads a conditional node. The program gets the handles of the graphs in it, and fills them
 * afterwards. */
static CUresult read_choice(CUDA_CONDITIONAL_NODE_PARAMS *c, struct params *out) {
    if (!bodies_ok(c->type, c->size)) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct params){
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .choice = {.handle = c->handle, .type = c->type, .count = c->size},
    };
    lock_enter(&graph_lock);
    CUresult r = graph_make_bodies(&out->choice, true);
    lock_leave(&graph_lock);
    if (!r) c->phGraph_out = out->choice.handles;
    return r;
}

CUresult graph_params_any(CUgraphNodeParams *p, struct params *out) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return graph_params_kernel(&p->kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return graph_params_copy(&p->memcpy.copyParams, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: return read_fill(&p->memset, out);
    case CU_GRAPH_NODE_TYPE_HOST: return read_host(&p->host, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return graph_params_child(p->graph.graph, p->graph.ownership, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *out = (struct params){.type = CU_GRAPH_NODE_TYPE_EMPTY};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return graph_params_event(p->type, p->eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return graph_params_event(p->type, p->eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return graph_params_alloc(&p->alloc, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return graph_params_release(p->free.dptr, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return read_choice(&p->conditional, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return graph_params_values(&p->memOp, out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return refuse_call("external semaphores in a graph");
    case CU_GRAPH_NODE_TYPE_MEMCPY_BATCH: return refuse_call("a batch of copies as a graph's node");
    case CU_GRAPH_NODE_TYPE_FABRIC_CPY_BATCH: return refuse_call("copies over a fabric in a graph");
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static bool is_context(CUcontext handle) {
    return !handle || ctx_find(handle);
}

CUresult graph_params_newest(CUgraphNodeParams *p, struct params *out) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD && !is_context(p->eventRecord.ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (p->type == CU_GRAPH_NODE_TYPE_HOST) {
        if (p->host.syncMode > CU_HOST_TASK_SPINWAIT) return CUDA_ERROR_INVALID_VALUE;
        if (!is_context(p->host.ctx)) return CUDA_ERROR_INVALID_CONTEXT;
    }
    return graph_params_any(p, out);
}

void graph_params_free(struct params *p) {
    lock_enter(&graph_lock);
    graph_free_params(p);
    lock_leave(&graph_lock);
}
