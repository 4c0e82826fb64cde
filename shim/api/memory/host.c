/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about pinned and registered host memory. Pinned blocks lie in the host window, at the same
 * address in the worker: nothing is copied, and kernels dereference them. Registered memory is
 * mapped for the device at another address when the program asks for that.
 */
#include "proto/gen/prototypes.h"
#include "shim/capture/capture.h"
#include "shim/connection/refuse.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/host_memory/registered.h"
#include "shim/memory/mem.h"

/* Threads of OpenMP spin for as long as 0.2 s before they sleep. */
#define PATIENCE_NS 300000000ull

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
    mem_tell();
    return r;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize) {
    return cuMemHostAlloc(pp, bytesize, 0);
}

/* Threads without a context may call this as well. */
CUresult cuMemFreeHost(void *p) {
    CUresult r = ctx_enter_device();
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
    struct registered_range range;
    if (!pdptr || Flags) return CUDA_ERROR_INVALID_VALUE;
    uint64_t addr = (uint64_t)(uintptr_t)p;
    *pdptr = 0;
    if (mem_find(addr, &b) && (b.kind == MEM_PINNED || b.kind == MEM_MANAGED ||
                               b.kind == MEM_VARIABLE || (b.kind == MEM_POOLED && !b.device))) {
        *pdptr = addr;
        return CUDA_SUCCESS;
    }
    if (!registered_find(addr, &range)) return CUDA_ERROR_INVALID_VALUE;
    const char *why = range.device ? NULL : registered_show(addr, PATIENCE_NS, &range);
    if (why) return refuse_registered(why);
    *pdptr = addr - range.addr + range.device;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    struct registered_range range;
    if (!pFlags) return CUDA_ERROR_INVALID_VALUE;
    if (mem_find((uint64_t)(uintptr_t)p, &b) && b.kind == MEM_PINNED) {
        /* With unified addressing all pinned memory is mapped. */
        *pFlags = b.detail | CU_MEMHOSTALLOC_DEVICEMAP;
        return CUDA_SUCCESS;
    }
    if (!registered_find((uint64_t)(uintptr_t)p, &range)) return CUDA_ERROR_INVALID_VALUE;
    *pFlags = range.flags;
    return CUDA_SUCCESS;
}

/* ---- registered ------------------------------------------------------------------------------ */

static bool in_window(uint64_t addr, uint64_t bytes, uint64_t base, uint64_t window_bytes) {
    return addr < base + window_bytes && base < addr + bytes;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags) {
    const unsigned int known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    CUresult r = ctx_enter();
    if (r) return r;
    const struct wire_windows *w = &state.conn.windows;
    struct registered_range range;
    uint64_t addr = (uint64_t)(uintptr_t)p;
    if (Flags & CU_MEMHOSTREGISTER_IOMEMORY) return CUDA_ERROR_NOT_SUPPORTED;
    if (!p || bytesize == 0 || Flags & ~known || bytesize > UINT64_MAX - addr)
        return CUDA_ERROR_INVALID_VALUE;
    if (in_window(addr, bytesize, w->dev_base, w->alloc_bytes + w->module_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (in_window(addr, bytesize, w->host_base, w->host_bytes))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    r = registered_add(addr, bytesize, Flags);
    /* Memory that cannot be shown safely now may be shown when its pointer is asked for. */
    if (!r && Flags & CU_MEMHOSTREGISTER_DEVICEMAP) (void)registered_show(addr, 0, &range);
    return r;
}

CUresult cuMemHostUnregister(void *p) {
    CUresult r = ctx_enter();
    if (r) return r;
    uint64_t addr = (uint64_t)(uintptr_t)p;
    struct registered_range range;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (!registered_find(addr, &range) || range.addr != addr)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (range.device) {
        r = capture_gate();
        if (!r) r = stream_drain();
        if (r) return r;
    }
    return registered_remove(addr) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
