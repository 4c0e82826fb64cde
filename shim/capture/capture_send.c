/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns operations that are sent to a captured stream into the parameters of nodes.
 */
#include "shim/capture/capture_send.h"

#include "shim/connection/state.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"

/* Returns the memory type of a copy's side, for programs that query the node's parameters. */
static CUmemorytype type_of(uint64_t addr) {
    return conn_in_device(&state.conn, addr) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUDA_MEMCPY3D show(const struct transfer *t) {
    uint64_t rows = t->height > 1 || t->depth > 1;
    return (CUDA_MEMCPY3D){
        .srcMemoryType = type_of(t->src),
        .srcHost = (const void *)(uintptr_t)t->src,
        .srcDevice = t->src,
        .srcPitch = rows ? t->src_pitch : t->width,
        .srcHeight = t->depth > 1 ? t->src_slice / t->src_pitch : t->height,
        .dstMemoryType = type_of(t->dst),
        .dstHost = (void *)(uintptr_t)t->dst,
        .dstDevice = t->dst,
        .dstPitch = rows ? t->dst_pitch : t->width,
        .dstHeight = t->depth > 1 ? t->dst_slice / t->dst_pitch : t->height,
        .WidthInBytes = t->width,
        .Height = t->height,
        .Depth = t->depth,
    };
}

CUresult capture_send_copy(struct stream *s, const struct transfer *t, unsigned int flags) {
    struct transfer checked = *t;
    struct transfer_places places;
    CUresult r = transfer_check(&checked, flags, &places);
    if (r || checked.width == 0) return r;
    struct params p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                       .copy = {.transfer = *t, .flags = flags, .shown = show(t)}};
    return capture_add(s, &p);
}

CUresult capture_send_fill(struct stream *s, const struct fill *f) {
    struct params p = {
        .type = CU_GRAPH_NODE_TYPE_MEMSET,
        .fill = {f->dst, f->pitch, f->value, f->elem_bytes, f->width, f->height},
    };
    return capture_add(s, &p);
}

CUresult capture_send_values(struct stream *s, unsigned int count, CUstreamBatchMemOpParams *ops) {
    const struct params_values asked = {.count = count, .list = ops};
    struct params p = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    CUresult r = params_clone_values(&p.values, &asked);
    return r ? r : capture_add(s, &p);
}

CUresult capture_send_host(struct stream *s, const CUDA_HOST_NODE_PARAMS *host) {
    struct params p = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = *host};
    return capture_add(s, &p);
}

CUresult capture_send_allocate(struct stream *s, struct graph_memory *m) {
    struct params p = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .memory = m};
    return capture_add(s, &p);
}

CUresult capture_send_free(struct stream *s, uint64_t addr) {
    struct params p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    lock_enter(&graph_lock);
    p.memory = graph_memory_find(addr);
    if (p.memory) graph_memory_hold(p.memory);
    lock_leave(&graph_lock);
    return p.memory ? capture_add(s, &p) : CUDA_ERROR_INVALID_VALUE;
}
