/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about pinned, managed and registered host memory. Pinned and managed blocks lie in the host
 * window, at the same address in the worker: zero copies, and kernels dereference them.
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

/* ---- managed --------------------------------------------------------------------------------- */

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!dptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t addr;
    r = capture_gate();
    if (!r) r = mem_take(MEM_MANAGED, ctx_current()->index, 0, bytesize, &addr);
    if (!r) *dptr = addr;
    return r;
}

/* Both sides use the one copy in place, so there is nothing to move or to advise. */
static CUresult check_managed(uint64_t addr, uint64_t bytes) {
    struct mem_block b;
    if (bytes == 0 || !mem_find(addr, &b) || b.kind != MEM_MANAGED) return CUDA_ERROR_INVALID_VALUE;
    return bytes <= b.bytes - (addr - b.addr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_place(CUdevice dev) {
    return dev == 0 || dev == CU_DEVICE_CPU ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
    CUresult r = ctx_enter_device();
    return r ? r : check_managed(devPtr, count);
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location) {
    CUresult r = ctx_enter_device();
    return r ? r : check_managed(devPtr, count);
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                            CUstream hStream) {
    CUresult r = ctx_enter();
    if (!r) r = check_managed(devPtr, count);
    if (!r) r = check_place(dstDevice);
    if (r) return r;
    return stream_find(hStream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream) {
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    CUdevice dev = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
    return cuMemPrefetchAsync(devPtr, count, dev, hStream);
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    if (!stream_find(hStream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!mem_find(dptr, &b) || (b.kind != MEM_MANAGED && b.kind != MEM_VARIABLE))
        return CUDA_ERROR_INVALID_VALUE;
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
