/* SPDX-License-Identifier: Apache-2.0
 *
 * The two windows' allocators and the calls that give out device memory. A round trip to the
 * worker happens only when a granule is needed that has no memory yet.
 */
#include "shim/mem.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "proto/gen/prototypes.h"
#include "proto/wire.h"
#include "shim/ctx.h"
#include "shim/pool.h"
#include "shim/reply.h"
#include "shim/stream.h"
#include "shim/submit.h"
#include "shim/vmem.h"

/* Empty granules that are kept: enough for a loop that frees what it allocates. */
#define MEM_DEVICE_CACHE (64ull << 20)
#define MEM_HOST_CACHE (64ull << 20)
#define MEM_HOST_GRANULE (2ull << 20)
#define MEM_PITCH 512u

static struct vmem device, host;
static pthread_mutex_t mem_lock = PTHREAD_MUTEX_INITIALIZER;

/* A tag holds what a mem_block says beyond its range. */
static uint32_t tag_of(enum mem_kind kind, uint32_t owner, uint32_t detail) {
    return (uint32_t)kind | owner << 8 | detail << 16;
}

static int device_back(void *arg, uint64_t addr, uint64_t bytes) {
    struct wire_mem rec = {.rec = {.op = WIRE_MEM_BACK}, .addr = addr, .bytes = bytes};
    return reply_call(&rec, sizeof(rec), NULL, 0, NULL) ? -1 : 0;
}

static void device_unback(void *arg, uint64_t addr, uint64_t bytes) {
    struct wire_mem rec = {.rec = {.op = WIRE_MEM_UNBACK}, .addr = addr, .bytes = bytes};
    if (state_fault() == CUDA_SUCCESS) submit_record(&rec, sizeof(rec), NULL, 0);
}

/* The window is a sparse file: its pages come by being touched. */
static int host_back(void *arg, uint64_t addr, uint64_t bytes) {
    return 0;
}

static void host_unback(void *arg, uint64_t addr, uint64_t bytes) {
    int saved = errno;
    madvise((void *)(uintptr_t)addr, bytes, MADV_REMOVE);
    errno = saved;
}

static const struct vmem_ops device_ops = {device_back, device_unback};
static const struct vmem_ops host_ops = {host_back, host_unback};

int mem_init(void) {
    const struct wire_windows *w = &state.conn.windows;
    int err = vmem_init(&device, w->dev_base, w->alloc_bytes, state.conn.device.granularity_bytes,
                        MEM_DEVICE_CACHE, &device_ops, NULL);
    if (err) return err;
    uint64_t host_bytes = w->host_bytes - WIRE_MANAGED_BYTES(w->host_bytes);
    err = vmem_init(&host, w->host_base, host_bytes, MEM_HOST_GRANULE, MEM_HOST_CACHE, &host_ops,
                    NULL);
    if (err) vmem_finish(&device);
    return err;
}

CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr) {
    struct vmem *v = kind <= MEM_POOL_FREE ? &device : &host;
    if (v == &device && bytes > state.conn.device.memory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&mem_lock);
    int err = vmem_alloc(v, bytes, tag_of(kind, owner, detail), addr);
    pthread_mutex_unlock(&mem_lock);
    if (!err) return CUDA_SUCCESS;
    CUresult r = state_fault();
    return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct vmem *window_of(uint64_t addr) {
    if (conn_in_device(&state.conn, addr)) return &device;
    return conn_in_host(&state.conn, addr) ? &host : NULL;
}

void mem_give(uint64_t addr) {
    struct vmem *v = window_of(addr);
    pthread_mutex_lock(&mem_lock);
    if (v) vmem_free(v, addr);
    pthread_mutex_unlock(&mem_lock);
}

void mem_turn(uint64_t addr, uint64_t bytes, enum mem_kind kind, uint32_t owner, uint32_t detail) {
    pthread_mutex_lock(&mem_lock);
    vmem_retag(&device, addr, bytes, tag_of(kind, owner, detail));
    pthread_mutex_unlock(&mem_lock);
}

static struct mem_block describe(const struct vmem *v, const struct vmem_block *b) {
    return (struct mem_block){
        .addr = b->addr,
        .bytes = b->bytes,
        .kind = (enum mem_kind)(b->tag & 0xff),
        .owner = b->tag >> 8 & 0xff,
        .detail = b->tag >> 16,
        .device = v == &device,
    };
}

/* Managed variables are the worker's to place: to this side they are one block. */
static bool find_variable(uint64_t addr, struct mem_block *out) {
    const struct wire_windows *w = &state.conn.windows;
    uint64_t bytes = WIRE_MANAGED_BYTES(w->host_bytes);
    uint64_t base = w->host_base + w->host_bytes - bytes;
    if (addr - base >= bytes) return false;
    *out = (struct mem_block){.addr = base, .bytes = bytes, .kind = MEM_VARIABLE};
    return true;
}

bool mem_find(uint64_t addr, struct mem_block *out) {
    const struct vmem *v = window_of(addr);
    struct vmem_block b;
    if (!v) return false;
    if (v == &host && find_variable(addr, out)) return true;
    pthread_mutex_lock(&mem_lock);
    int err = vmem_find(v, addr, &b);
    pthread_mutex_unlock(&mem_lock);
    if (!err) *out = describe(v, &b);
    return !err;
}

uint64_t mem_capacity(uint64_t bytes) {
    return vmem_capacity(&device, bytes);
}

static void release_window(struct vmem *v, uint32_t owner) {
    struct vmem_block b;
    uint64_t at = v->base;
    while (vmem_next(v, at, &b) == 0) {
        struct mem_block m = describe(v, &b);
        at = b.addr + 1;
        if (m.owner == owner && m.kind != MEM_OWN) vmem_free(v, b.addr);
    }
}

void mem_release(uint32_t owner) {
    pthread_mutex_lock(&mem_lock);
    release_window(&device, owner);
    release_window(&host, owner);
    pthread_mutex_unlock(&mem_lock);
}

/* ---- the calls ------------------------------------------------------------------------------- */

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!dptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    uint64_t addr, owner = ctx_current()->index;
    r = mem_take(MEM_PLAIN, (uint32_t)owner, 0, bytesize, &addr);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && pool_reclaim_all())
        r = mem_take(MEM_PLAIN, (uint32_t)owner, 0, bytesize, &addr);
    if (!r) *dptr = addr;
    return r;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
    CUresult r = ctx_enter();
    if (r) return r;
    size_t bytes;
    if (!dptr || !pPitch || WidthInBytes == 0 || Height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
        return CUDA_ERROR_INVALID_VALUE;
    if (WidthInBytes > SIZE_MAX - MEM_PITCH) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t pitch = (WidthInBytes + MEM_PITCH - 1) / MEM_PITCH * MEM_PITCH;
    if (__builtin_mul_overflow(pitch, Height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    r = cuMemAlloc_v2(dptr, bytes);
    if (!r) *pPitch = pitch;
    return r;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    if (!dptr) return CUDA_SUCCESS;
    if (!mem_find(dptr, &b) || b.addr != dptr) return CUDA_ERROR_INVALID_VALUE;
    if (b.kind != MEM_PLAIN && b.kind != MEM_POOLED && b.kind != MEM_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    r = stream_drain();
    if (r) return r;
    if (b.kind == MEM_POOLED) return pool_give(&b, STREAM_LEGACY, 0);
    mem_give(dptr);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    CUresult r = ctx_enter();
    if (r) return r;
    pthread_mutex_lock(&mem_lock);
    uint64_t used = device.used_granules * device.granule;
    pthread_mutex_unlock(&mem_lock);
    uint64_t all = state.conn.device.memory_bytes;
    if (total) *total = all;
    if (free) *free = used < all ? all - used : 0;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    if (!mem_find(dptr, &b) || b.kind == MEM_POOL_FREE || b.kind == MEM_OWN)
        return CUDA_ERROR_NOT_FOUND;
    if (pbase) *pbase = b.addr;
    if (psize) *psize = b.bytes;
    return CUDA_SUCCESS;
}
