/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about pinned and registered host memory. Pinned blocks lie in the host window, at the same
 * address in the worker: zero copies, and kernels dereference them.
 */
#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/graph/capture.h"
#include "shim/memory/hostmem.h"
#include "shim/memory/mem.h"

/* ---- pinned ---------------------------------------------------------------------------------- */

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags) {
    const unsigned int known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pp || bytesize == 0 || Flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    uint64_t addr;
    r = capture_gate();
    if (!r) r = mem_take(MEM_PINNED, ctx_current()->index, Flags, bytesize, &addr);
    if (!r) *pp = (void *)(uintptr_t)addr;
    return r;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize) {
    return cuMemHostAlloc(pp, bytesize, 0);
}

CUresult cuMemFreeHost(void *p) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    uint64_t addr = (uint64_t)(uintptr_t)p;
    if (!p) return CUDA_SUCCESS;
    if (!mem_find(addr, &b) || b.addr != addr || b.kind != MEM_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    r = capture_gate();
    if (!r) r = stream_drain();
    if (r) return r;
    mem_give(addr);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    struct hostmem_range range;
    if (!pdptr || Flags) return CUDA_ERROR_INVALID_VALUE;
    uint64_t addr = (uint64_t)(uintptr_t)p;
    *pdptr = 0;
    if (mem_find(addr, &b) &&
        (b.kind == MEM_PINNED || b.kind == MEM_MANAGED || b.kind == MEM_VARIABLE)) {
        *pdptr = addr;
        return CUDA_SUCCESS;
    }
    return hostmem_find(addr, &range) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    struct hostmem_range range;
    if (!pFlags) return CUDA_ERROR_INVALID_VALUE;
    if (mem_find((uint64_t)(uintptr_t)p, &b) && b.kind == MEM_PINNED) {
        /* With unified addressing all pinned memory is mapped. */
        *pFlags = b.detail | CU_MEMHOSTALLOC_DEVICEMAP;
        return CUDA_SUCCESS;
    }
    if (!hostmem_find((uint64_t)(uintptr_t)p, &range)) return CUDA_ERROR_INVALID_VALUE;
    *pFlags = range.flags;
    return CUDA_SUCCESS;
}

/* ---- registered ------------------------------------------------------------------------------ */

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags) {
    const unsigned int known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    CUresult r = ctx_enter();
    if (r) return r;
    uint64_t addr = (uint64_t)(uintptr_t)p;
    if (Flags & CU_MEMHOSTREGISTER_IOMEMORY) return CUDA_ERROR_NOT_SUPPORTED;
    if (!p || bytesize == 0 || Flags & ~known || bytesize > UINT64_MAX - addr)
        return CUDA_ERROR_INVALID_VALUE;
    if (conn_in_device(&state.conn, addr)) return CUDA_ERROR_INVALID_VALUE;
    if (conn_in_host(&state.conn, addr)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    return hostmem_add(addr, bytesize, Flags);
}

CUresult cuMemHostUnregister(void *p) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    return hostmem_remove((uint64_t)(uintptr_t)p) ? CUDA_SUCCESS
                                                  : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
