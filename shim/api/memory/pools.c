/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about memory pools, and allocations that are ordered in streams.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "proto/wire/wire.h"
#include "shim/capture/capture_send.h"
#include "shim/connection/refuse.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/stream.h"
#include "shim/graph/graph_memory.h"
#include "shim/ipc/keyfile.h"
#include "shim/ipc/opened.h"
#include "shim/memory/hints.h"
#include "shim/memory/mem.h"
#include "shim/memory/placed.h"
#include "shim/memory/pool.h"

/* ---- allocating ------------------------------------------------------------------------------ */

/* Allocates in a captured stream: the memory belongs to the graph, not to the pool. */
static CUresult allocate_captured(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool,
                                  struct stream *s) {
    static const CUmemLocation places[] = {
        [POOL_OF_DEVICE] = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
        [POOL_OF_HOST] = {.type = CU_MEM_LOCATION_TYPE_HOST},
    };
    struct graph_memory *m;
    enum pool_home home = pool ? pool_home(pool) : POOL_OF_DEVICE;
    if (home == POOL_HOMES) return CUDA_ERROR_INVALID_VALUE;
    if (home == POOL_MANAGED) return refuse_call("a graph that allocates managed memory");
    CUresult r = graph_memory_create(ctx_current()->index, &places[home], bytes, &m);
    if (r) return r;
    r = capture_send_allocate(s, m);
    if (!r) *dptr = m->addr;
    return r;
}

static CUresult take(CUmemoryPool pool, uint64_t bytes, const struct mem_place *place,
                     const struct stream *s, uint64_t *addr) {
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    for (int attempt = 0; attempt < 3; attempt++) {
        r = pool_take(pool, bytes, place, s->id, addr);
        if (r != CUDA_ERROR_OUT_OF_MEMORY) break;
        /* Memory that is freed but still in use may become free: wait for it, once. */
        if (attempt == 1 && stream_drain()) break;
        if (!pool_reclaim_all() && attempt == 1) break;
    }
    return r;
}

/* Allocates in stream order. `pool`: NULL for the current pool. */
static CUresult allocate(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool, CUstream hStream) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!dptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_captured(s)) return allocate_captured(dptr, bytes, pool, s);
    uint64_t addr;
    struct mem_place place = mem_place(bytes, s->id);
    r = take(pool, bytes, &place, s, &addr);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        place = mem_elsewhere(&place);
        r = take(pool, bytes, &place, s, &addr);
    }
    r = mem_refused(r);
    if (r) return r;
    if (pool && pool_home(pool) == POOL_MANAGED) hints_forget(addr, bytes);
    *dptr = addr;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream) {
    return allocate(dptr, bytesize, NULL, hStream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
    if (pool) return allocate(dptr, bytesize, pool, hStream);
    CUresult r = ctx_enter();
    return r ? r : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (!dptr) return CUDA_SUCCESS;
    if (stream_captured(s)) return capture_send_free(s, dptr);
    if (!(mem_find(dptr, &b) || placed_find(dptr, &b)) || b.addr != dptr ||
        (b.kind != MEM_POOLED && b.kind != MEM_PLAIN && b.kind != MEM_GRAPH))
        return opened_give(dptr, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    uint64_t seq = submit_last(s->id);
    if (s->id == STREAM_LEGACY) {
        /* The legacy stream orders this after the work of all other streams: a record marks the
         * position. */
        struct wire_event_record rec = {.rec = {.op = WIRE_EVENT_RECORD, .stream = s->id},
                                        .event = EVENT_MARKER};
        r = submit_ordered(&rec, sizeof(rec), NULL, 0, &seq);
        if (r) return r;
    }
    if (b.kind == MEM_GRAPH) return graph_memory_free(dptr, s->id, seq);
    if (b.kind == MEM_PLAIN) return pool_give_plain(&b, s->id, seq);
    return pool_give(&b, s->id, seq);
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Finds the home of pinned memory that is asked for at this place. */
static CUresult home_of_pinned(const CUmemLocation *place, enum pool_home *home) {
    *home = place->type == CU_MEM_LOCATION_TYPE_DEVICE ? POOL_OF_DEVICE : POOL_OF_HOST;
    switch (place->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return place->id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return place->id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Finds the home of memory of this type. The place of managed memory is only a preferred location,
 * or none. */
static CUresult home_of(const CUmemLocation *place, CUmemAllocationType type,
                        enum pool_home *home) {
    enum pool_home preferred;
    if (type == CU_MEM_ALLOCATION_TYPE_PINNED) return home_of_pinned(place, home);
    if (type != CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_INVALID_VALUE;
    *home = POOL_MANAGED;
    return place->type == CU_MEM_LOCATION_TYPE_NONE ? CUDA_SUCCESS
                                                    : home_of_pinned(place, &preferred);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    const unsigned int types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    enum pool_home home;
    if (!pool || !poolProps) return CUDA_ERROR_INVALID_VALUE;
    r = home_of(&poolProps->location, poolProps->allocType, &home);
    if (r) return r;
    /* Only device memory can be shared with another process. */
    if (poolProps->handleTypes && home != POOL_OF_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->handleTypes & ~types || poolProps->usage) return CUDA_ERROR_NOT_SUPPORTED;
    CUmemoryPool made = pool_create(home, poolProps);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    *pool = made;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    return pool_destroy(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    return pool_trim(pool, minBytesToKeep) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    return value ? pool_set(pool, attr, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    return value ? pool_get(pool, attr, value) : CUDA_ERROR_INVALID_VALUE;
}

static bool is_host(const CUmemLocation *place) {
    return place->type == CU_MEM_LOCATION_TYPE_HOST ||
           (place->type == CU_MEM_LOCATION_TYPE_HOST_NUMA && place->id >= 0);
}

static bool is_device(const CUmemLocation *place) {
    return place->type == CU_MEM_LOCATION_TYPE_DEVICE && place->id == 0;
}

/* The side that holds the memory keeps its access. Only the device's access to a host pool can be
 * taken away. */
static CUresult check_access(enum pool_home home, const CUmemAccessDesc *desc) {
    bool host = is_host(&desc->location), device = is_device(&desc->location);
    if (!device && (home == POOL_OF_DEVICE || !host)) return CUDA_ERROR_INVALID_DEVICE;
    bool none = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (none && home == POOL_OF_HOST && device) return CUDA_SUCCESS;
    return desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    enum pool_home home = pool_home(pool);
    if (home == POOL_HOMES || (!map && count)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++)
        r = check_access(home, &map[i]);
    for (size_t i = 0; !r && i < count; i++)
        if (is_device(&map[i].location))
            pool_let_device(pool, map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return r;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                            CUmemLocation *location) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    enum pool_home home = pool_home(memPool);
    if (home == POOL_HOMES || !flags || !location) return CUDA_ERROR_INVALID_VALUE;
    bool here = is_device(location) ? pool_lets_device(memPool)
                                    : home != POOL_OF_DEVICE && is_host(location);
    *flags = here ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

static CUresult check_device(CUdevice dev) {
    CUresult r = state_ready();
    if (r) return r;
    return dev == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev) {
    CUresult r = check_device(dev);
    if (r) return r;
    if (!pool_out) return CUDA_ERROR_INVALID_VALUE;
    *pool_out = pool_default(POOL_OF_DEVICE);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev) {
    CUresult r = check_device(dev);
    if (r) return r;
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    *pool = pool_chosen(POOL_OF_DEVICE);
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    CUresult r = check_device(dev);
    if (r) return r;
    return pool_choose(POOL_OF_DEVICE, pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- by place -------------------------------------------------------------------------------- */

static CUresult check_place(const CUmemLocation *location, CUmemAllocationType type,
                            enum pool_home *home) {
    CUresult r = state_ready();
    if (r) return r;
    return location ? home_of(location, type, home) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                CUmemAllocationType type) {
    enum pool_home home;
    CUresult r = check_place(location, type, &home);
    if (r) return r;
    if (!pool_out) return CUDA_ERROR_INVALID_VALUE;
    *pool_out = pool_default(home);
    return CUDA_SUCCESS;
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
    enum pool_home home;
    CUresult r = check_place(location, type, &home);
    if (r) return r;
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    *pool = pool_chosen(home);
    return CUDA_SUCCESS;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool) {
    enum pool_home home;
    CUresult r = check_place(location, type, &home);
    if (r) return r;
    return pool_choose(home, pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- other processes ------------------------------------------------------------------------- */

CUresult cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct keyfile key = {.kind = KEYFILE_POOL};
    if (!handle_out || flags || !pool_known(pool)) return CUDA_ERROR_INVALID_VALUE;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if (!pool_key(pool, key.key)) return CUDA_ERROR_INVALID_VALUE;
    int fd = keyfile_create(&key);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(handle_out, &fd, sizeof(fd));
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                            CUmemAllocationHandleType handleType,
                                            unsigned long long flags) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct keyfile key;
    if (!pool_out || flags) return CUDA_ERROR_INVALID_VALUE;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if (!keyfile_read((int)(intptr_t)handle, KEYFILE_POOL, &key)) return CUDA_ERROR_INVALID_VALUE;
    CUmemoryPool made = pool_import(key.key);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    *pool_out = made;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct opened_handle h;
    if (!shareData_out) return CUDA_ERROR_INVALID_VALUE;
    r = opened_describe_pooled(ptr, &h);
    if (r) return r;
    memset(shareData_out, 0, sizeof(*shareData_out));
    memcpy(shareData_out, &h, sizeof(h));
    return CUDA_SUCCESS;
}

/* Accepts only pointers that were exported from the same pool. */
CUresult cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData *shareData) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct opened_handle h;
    uint64_t key[2], addr;
    if (!ptr_out || !shareData || !pool_imported(pool, key)) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&h, shareData, sizeof(h));
    if (!opened_valid(&h) || memcmp(h.pool, key, sizeof(key)) != 0) return CUDA_ERROR_INVALID_VALUE;
    r = opened_take(&h, CTX_PRIMARY, &addr);
    if (!r) *ptr_out = addr;
    return r == CUDA_ERROR_MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : r;
}
