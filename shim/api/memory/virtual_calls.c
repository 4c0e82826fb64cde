/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of CUDA's virtual memory management, and the descriptors by which allocations go to other
 * processes. A descriptor carries a key, which the worker accepts from processes of the same user,
 * and keeps the memory alive.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/ipc/allocation_export.h"
#include "shim/ipc/keyfile.h"
#include "shim/memory/allocation.h"
#include "shim/memory/virtual.h"

/* ---- addresses ------------------------------------------------------------------------------- */

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    uint64_t got;
    if (!ptr || flags) return CUDA_ERROR_INVALID_VALUE;
    r = virtual_reserve(size, alignment, addr, &got);
    if (!r) *ptr = got;
    return r;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    CUresult r = ctx_enter_device();
    return r ? r : virtual_release(ptr, size);
}

/* ---- allocations ----------------------------------------------------------------------------- */

/* Accepts pinned memory of the one device, without properties that the device lacks. */
static CUresult check_prop(const CUmemAllocationProp *p) {
    const unsigned int types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (!p || p->type == CU_MEM_ALLOCATION_TYPE_INVALID) return CUDA_ERROR_INVALID_VALUE;
    if (p->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_NOT_SUPPORTED;
    if (p->location.type == CU_MEM_LOCATION_TYPE_INVALID) return CUDA_ERROR_INVALID_VALUE;
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (p->location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (p->requestedHandleTypes & ~types || p->allocFlags.usage ||
        p->allocFlags.gpuDirectRDMACapable)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option) {
    CUresult r = ctx_enter_device();
    if (!r) r = check_prop(prop);
    if (r) return r;
    if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = state.conn.device.granularity_bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    if (!handle || flags) return CUDA_ERROR_INVALID_VALUE;
    r = check_prop(prop);
    if (r) return r;
    if (!size || size % state.conn.device.granularity_bytes) return CUDA_ERROR_INVALID_VALUE;
    if (mem_is_beyond(size)) return CUDA_ERROR_OUT_OF_MEMORY;
    return allocation_make(MEM_PERSISTENT, size, prop->requestedHandleTypes, handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    return allocation_release(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct allocation_info info;
    if (!prop || !allocation_look(handle, &info)) return CUDA_ERROR_INVALID_VALUE;
    *prop = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .requestedHandleTypes = info.types,
                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    return handle ? virtual_retain((uint64_t)(uintptr_t)addr, handle) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mapping --------------------------------------------------------------------------------- */

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    return offset || flags ? CUDA_ERROR_INVALID_VALUE : virtual_map(ptr, size, handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    CUresult r = ctx_enter_device();
    return r ? r : virtual_unmap(ptr, size);
}

/* Device memory is accessible to the device alone: the host cannot be given access. Read-only
 * access is not supported. */
static CUresult check_access(const CUmemAccessDesc *d) {
    if (d->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return d->location.type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE
                                                                : CUDA_ERROR_NOT_SUPPORTED;
    if (d->location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (d->flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
    return d->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                   d->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count) {
    CUresult r = ctx_enter_device();
    if (!r && (!desc || !count)) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++)
        r = check_access(&desc[i]);
    for (size_t i = 0; !r && i < count; i++)
        r = virtual_access(ptr, size, desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return r;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    bool accessible;
    if (!flags || !location || !virtual_accessible(ptr, &accessible))
        return CUDA_ERROR_INVALID_VALUE;
    bool ours = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (ours && location->id != 0) return CUDA_ERROR_INVALID_DEVICE;
    *flags =
        ours && accessible ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

/* ---- other processes ------------------------------------------------------------------------- */

CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct allocation_info info;
    int fd;
    if (!shareableHandle || flags || !allocation_look(handle, &info))
        return CUDA_ERROR_INVALID_VALUE;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if (!(info.types & handleType)) return CUDA_ERROR_INVALID_VALUE;
    r = allocation_export_make(handle, &fd);
    if (!r) memcpy(shareableHandle, &fd, sizeof(fd));
    return r;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                        CUmemAllocationHandleType shHandleType) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    struct keyfile key;
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if (!keyfile_read((int)(intptr_t)osHandle, KEYFILE_ALLOCATION, &key))
        return CUDA_ERROR_INVALID_VALUE;
    r = allocation_open(key.key, shHandleType, handle);
    return r == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_INVALID_VALUE : r;
}
