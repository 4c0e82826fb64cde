/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that allocate device memory outside of streams, and report free and total memory.
 */
#include "proto/gen/prototypes.h"
#include "shim/capture/capture.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/graph/graph_memory.h"
#include "shim/host_memory/registered.h"
#include "shim/ipc/opened.h"
#include "shim/memory/headroom.h"
#include "shim/memory/mem.h"
#include "shim/memory/placed.h"
#include "shim/memory/pool.h"
#include "shim/transfer/lookup.h"

#define PITCH 512u

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!dptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    r = capture_gate();
    if (r) return r;
    uint64_t addr;
    uint32_t owner = ctx_current()->index;
    struct mem_place place = mem_place(bytesize, LEARN_NO_STREAM);
    r = mem_take_device(&place, MEM_PLAIN, owner, 0, bytesize, &addr);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && pool_reclaim_all())
        r = mem_take_device(&place, MEM_PLAIN, owner, 0, bytesize, &addr);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        place = mem_elsewhere(&place);
        r = mem_take_device(&place, MEM_PLAIN, owner, 0, bytesize, &addr);
    }
    if (!r) *dptr = addr;
    return mem_refused(r);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
    CUresult r = ctx_enter();
    if (r) return r;
    size_t bytes;
    if (!dptr || !pPitch || WidthInBytes == 0 || Height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
        return CUDA_ERROR_INVALID_VALUE;
    if (WidthInBytes > SIZE_MAX - PITCH) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t pitch = (WidthInBytes + PITCH - 1) / PITCH * PITCH;
    if (__builtin_mul_overflow(pitch, Height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    r = cuMemAlloc_v2(dptr, bytes);
    if (!r) *pPitch = pitch;
    return r;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct mem_block b;
    if (!dptr) return CUDA_SUCCESS;
    r = capture_gate();
    if (r) return r;
    if (!(mem_find(dptr, &b) || placed_find(dptr, &b)) || b.addr != dptr)
        return opened_give(dptr, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (b.kind != MEM_PLAIN && b.kind != MEM_POOLED && b.kind != MEM_MANAGED && b.kind != MEM_GRAPH)
        return CUDA_ERROR_INVALID_VALUE;
    r = stream_drain();
    if (r) return r;
    if (b.kind == MEM_POOLED) return pool_give(&b, STREAM_LEGACY, 0);
    if (b.kind == MEM_GRAPH) return graph_memory_free(dptr, STREAM_LEGACY, 0);
    mem_give(dptr);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    CUresult r = ctx_enter();
    if (r) return r;
    uint64_t bytes = 0;
    r = headroom_look(&bytes);
    if (r) return r;
    if (total) *total = state.conn.device.memory_bytes;
    if (free) *free = bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    struct registered_range range;
    if (!lookup_block(dptr, &b) || b.kind == MEM_POOL_FREE || b.kind == MEM_OWN ||
        b.kind == MEM_ARRAY)
        return CUDA_ERROR_NOT_FOUND;
    if (b.kind == MEM_SHADOW) {
        if (!registered_find_device(dptr, &range)) return CUDA_ERROR_NOT_FOUND;
        b.addr = range.device;
        b.bytes = range.bytes;
    }
    if (pbase) *pbase = b.addr;
    if (psize) *psize = b.bytes;
    return CUDA_SUCCESS;
}
