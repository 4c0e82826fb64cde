/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about managed memory, which lies in the host window, at the same address in the worker:
 * both sides use the one copy in place. So there is nothing to move or to advise; the shim only
 * stores the program's hints and reports them.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/memory/hints.h"
#include "shim/memory/mem.h"
#include "shim/memory/pool.h"

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!dptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t addr;
    r = mem_take(MEM_MANAGED, ctx_current()->index, 0, bytesize, &addr);
    mem_tell();
    if (r) return r;
    hints_forget(addr, bytesize);
    *dptr = addr;
    return CUDA_SUCCESS;
}

static CUresult check_managed(uint64_t addr, uint64_t bytes) {
    struct mem_block b;
    if (bytes == 0 || !mem_find(addr, &b) || (!pool_is_managed(&b) && b.kind != MEM_VARIABLE))
        return CUDA_ERROR_INVALID_VALUE;
    return bytes <= b.bytes - (addr - b.addr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Accepts all of a block, or no length with the block's beginning. Memory attached to a stream
 * stays accessible to all others, as with concurrent access to managed memory. */
CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct mem_block b;
    bool own = flags == CU_MEM_ATTACH_SINGLE;
    if (!stream_find(hStream)) return CUDA_ERROR_INVALID_HANDLE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && !own)
        return CUDA_ERROR_INVALID_VALUE;
    if (own && (hStream == NULL || hStream == CU_STREAM_LEGACY)) return CUDA_ERROR_INVALID_VALUE;
    r = check_managed(dptr, 1);
    if (r || !mem_find(dptr, &b) || b.kind == MEM_VARIABLE) return r;
    return dptr == b.addr && (length == 0 || length == b.bytes) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Packs a place into a hint; 0: no place. */
static uint64_t packed(CUmemLocation place) {
    return (uint64_t)place.type << 32 | (uint32_t)place.id;
}

static CUmemLocation unpacked(uint64_t hint) {
    return (CUmemLocation){(CUmemLocationType)(hint >> 32), (int)(uint32_t)hint};
}

static CUmemLocation place_of(CUdevice dev) {
    if (dev == CU_DEVICE_CPU) return (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
    return (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, dev};
}

/* Accepts the device, and any place on the host. */
static CUresult check_place(CUmemLocation *place) {
    switch (place->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return place->id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST: place->id = 0; return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return place->id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *place = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_DEVICE;
    }
}

static CUresult say(uint64_t addr, uint64_t bytes, enum hint kind, uint64_t value) {
    return hints_set(addr, bytes, kind, value) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* ---- advice ---------------------------------------------------------------------------------- */

static enum hint user_of(CUmemLocation place) {
    return place.type == CU_MEM_LOCATION_TYPE_DEVICE ? HINT_DEVICE_USES : HINT_HOST_USES;
}

static CUresult advise(uint64_t addr, uint64_t bytes, CUmem_advise advice, CUmemLocation place) {
    bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                  advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                  advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    CUresult r = placed ? check_place(&place) : CUDA_SUCCESS;
    if (r) return r;
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: return say(addr, bytes, HINT_READ_MOSTLY, 1);
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: return say(addr, bytes, HINT_READ_MOSTLY, 0);
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        return say(addr, bytes, HINT_PREFERRED, packed(place));
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: return say(addr, bytes, HINT_PREFERRED, 0);
    case CU_MEM_ADVISE_SET_ACCESSED_BY: return say(addr, bytes, user_of(place), 1);
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: return say(addr, bytes, user_of(place), 0);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location) {
    CUresult r = ctx_enter();
    if (!r) r = check_managed(devPtr, count);
    return r ? r : advise(devPtr, count, advice, location);
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
    return cuMemAdvise_v2(devPtr, count, advice, place_of(device));
}

/* ---- moving ---------------------------------------------------------------------------------- */

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream) {
    CUresult r = ctx_enter();
    if (!r && flags) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = check_managed(devPtr, count);
    if (!r) r = check_place(&location);
    if (!r && !stream_find(hStream)) r = CUDA_ERROR_INVALID_HANDLE;
    return r ? r : say(devPtr, count, HINT_PREFETCHED, packed(location));
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                            CUstream hStream) {
    return cuMemPrefetchAsync_v2(devPtr, count, place_of(dstDevice), 0, hStream);
}

static CUresult check_batch(const CUdeviceptr *addrs, const size_t *sizes, size_t count,
                            unsigned long long flags, CUstream hStream) {
    CUresult r = ctx_enter();
    if (!r && (!addrs || !sizes || !count || flags)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (hStream == NULL || hStream == CU_STREAM_LEGACY)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !stream_find(hStream)) r = CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; !r && i < count; i++)
        r = check_managed(addrs[i], sizes[i]);
    return r;
}

/* Checks the places: the first one is for the first range, each for the ranges up to the next
 * place's first. */
static CUresult check_places(CUmemLocation *places, const size_t *firsts, size_t places_count,
                             size_t count) {
    if (!places || !firsts || !places_count || places_count > count || firsts[0] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < places_count; i++) {
        CUmemLocation place = places[i];
        CUresult r = check_place(&place);
        if (r) return r;
        if (firsts[i] >= count || (i && firsts[i] <= firsts[i - 1]))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                 CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                 size_t numPrefetchLocs, unsigned long long flags,
                                 CUstream hStream) {
    CUresult r = check_batch(dptrs, sizes, count, flags, hStream);
    if (!r) r = check_places(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count);
    for (size_t i = 0, k = 0; !r && i < count; i++) {
        if (k + 1 < numPrefetchLocs && i == prefetchLocIdxs[k + 1]) k++;
        CUmemLocation place = prefetchLocs[k];
        check_place(&place);
        r = say(dptrs[i], sizes[i], HINT_PREFETCHED, packed(place));
    }
    return r;
}

/* The contents of discarded memory are undefined, so they may stay what they were. */
CUresult cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                unsigned long long flags, CUstream hStream) {
    return check_batch(dptrs, sizes, count, flags, hStream);
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                           CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                           size_t numPrefetchLocs, unsigned long long flags,
                                           CUstream hStream) {
    return cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                   numPrefetchLocs, flags, hStream);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static uint64_t hint_of(uint64_t addr, uint64_t bytes, enum hint kind) {
    uint64_t value;
    return hints_get(addr, bytes, kind, &value) ? value : 0;
}

/* Returns a place as a device number. */
static int device_of(CUmemLocation place) {
    switch (place.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return place.id;
    case CU_MEM_LOCATION_TYPE_HOST: return CU_DEVICE_CPU;
    default: return CU_DEVICE_INVALID;
    }
}

static CUresult tell(void *data, size_t bytes, int value) {
    if (bytes != sizeof(value)) return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &value, sizeof(value));
    return CUDA_SUCCESS;
}

static CUresult tell_users(int *data, size_t bytes, uint64_t addr, uint64_t count) {
    size_t room = bytes / sizeof(*data), n = 0;
    if (!bytes || bytes % sizeof(*data)) return CUDA_ERROR_INVALID_VALUE;
    if (hint_of(addr, count, HINT_DEVICE_USES)) data[n++] = 0;
    if (n < room && hint_of(addr, count, HINT_HOST_USES)) data[n++] = CU_DEVICE_CPU;
    while (n < room)
        data[n++] = CU_DEVICE_INVALID;
    return CUDA_SUCCESS;
}

static CUresult answer(void *data, size_t bytes, CUmem_range_attribute attribute, uint64_t addr,
                       uint64_t count) {
    CUmemLocation preferred = unpacked(hint_of(addr, count, HINT_PREFERRED));
    CUmemLocation prefetched = unpacked(hint_of(addr, count, HINT_PREFETCHED));
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        return tell(data, bytes, (int)hint_of(addr, count, HINT_READ_MOSTLY));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: return tell(data, bytes, device_of(preferred));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: return tell_users(data, bytes, addr, count);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        return tell(data, bytes, device_of(prefetched));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        return tell(data, bytes, (int)preferred.type);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: return tell(data, bytes, preferred.id);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        return tell(data, bytes, (int)prefetched.type);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: return tell(data, bytes, prefetched.id);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count) {
    CUresult r = ctx_enter();
    if (!r && !data) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = check_managed(devPtr, count);
    return r ? r : answer(data, dataSize, attribute, devPtr, count);
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count) {
    CUresult r = ctx_enter();
    if (!r && (!data || !dataSizes || !attributes || !numAttributes)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = check_managed(devPtr, count);
    for (size_t i = 0; !r && i < numAttributes; i++)
        r = data[i] ? answer(data[i], dataSizes[i], attributes[i], devPtr, count)
                    : CUDA_ERROR_INVALID_VALUE;
    return r;
}

/* The memory belongs to the host and the device, so the answer is the place last asked for. One
 * block has one answer at any granularity. */
CUresult cuMemGetLocationInfo(CUdeviceptr ptr, size_t size, size_t summaryGranularity,
                              size_t samplingGranularity, CUmemLocation *location_out) {
    CUresult r = ctx_enter_device();
    if (!r && (!location_out || !summaryGranularity || summaryGranularity > size ||
               samplingGranularity > summaryGranularity))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = check_managed(ptr, size);
    for (size_t at = 0; !r && at < size; at += summaryGranularity) {
        size_t bytes = size - at < summaryGranularity ? size - at : summaryGranularity;
        CUmemLocation place = unpacked(hint_of(ptr + at, bytes, HINT_PREFETCHED));
        if (place.type == CU_MEM_LOCATION_TYPE_NONE) place.type = CU_MEM_LOCATION_TYPE_HOST;
        *location_out++ = place;
    }
    return r;
}
