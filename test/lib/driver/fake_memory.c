/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory, held strictly to CUDA's rules, and host memory that the device sees. Physical
 * memory is a memfd, so that it can be mapped at several addresses.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/lib/driver/fake_state.h"

/* distance of the device's address from the host's, if they differ */
#define ELSEWHERE (1ull << 36)

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

static bool is_whole(uint64_t value) {
    return value % fake.options.granule == 0;
}

static void hide(uint64_t addr, uint64_t bytes) {
    if (mmap(at(addr), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        abort();
}

void fake_memory_forget(struct object *o) {
    switch (o->kind) {
    case OBJECT_RESERVATION: munmap(at(o->addr), o->bytes); break;
    case OBJECT_MEMORY: close(o->fd); break;
    case OBJECT_PINNED:
    case OBJECT_GLOBAL: free(at(o->addr)); break;
    default: break; /* mappings are freed with their reservation */
    }
}

/* ---- access checks --------------------------------------------------------------------------- */

static bool reached_mapped(uint64_t addr, uint64_t bytes) {
    for (uint64_t end = addr + bytes; addr < end;) {
        const struct object *map = fake_object_at(OBJECT_MAP, addr, 1);
        if (!map || !map->allowed) return false;
        addr = map->addr + map->bytes;
    }
    return true;
}

/* Adjacent registrations count as one. */
static bool reached_registered(uint64_t addr, uint64_t bytes) {
    for (uint64_t end = addr + bytes; addr < end;) {
        const struct object *o = fake_object_at(OBJECT_REGISTRATION, addr, 1);
        if (!o) return false;
        addr = o->addr + o->bytes;
    }
    return true;
}

bool fake_memory_reached(uint64_t addr, uint64_t bytes, bool by_copy) {
    if (fake_object_overlaps(OBJECT_RESERVATION, addr, bytes)) return reached_mapped(addr, bytes);
    return reached_registered(addr, bytes) || fake_object_at(OBJECT_PINNED, addr, bytes) ||
           fake_object_at(OBJECT_GLOBAL, addr, bytes) || (by_copy && addr >= 4096);
}

/* ---- addresses ------------------------------------------------------------------------------- */

CUresult cuMemGetAllocationGranularity(size_t *granule, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags flags) {
    FAKE_CALL(false);
    *granule = fake.options.granule;
    return prop->type == CU_MEM_ALLOCATION_TYPE_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Reserves an aligned range wherever there is space, as a driver does. */
static uint64_t reserve(uint64_t wish, uint64_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint64_t granule = fake.options.granule;
    void *p = wish && !fake.options.hint_ignored
                  ? mmap(at(wish), bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0)
                  : MAP_FAILED;
    if (p != MAP_FAILED) return wish;
    p = mmap(NULL, bytes + granule, PROT_NONE, flags, -1, 0);
    if (p == MAP_FAILED) return 0;
    uint64_t start = ((uintptr_t)p + granule - 1) / granule * granule;
    if (start != (uintptr_t)p) munmap(p, start - (uintptr_t)p);
    munmap(at(start + bytes), (uintptr_t)p + granule - start);
    return start;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags) {
    FAKE_CALL(true);
    if (!bytes || !is_whole(bytes) || flags)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no whole number of granules");
    uint64_t start = reserve(wish, bytes);
    if (!start) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = fake_object_new(OBJECT_RESERVATION, start, bytes)->addr;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t bytes) {
    FAKE_CALL(true);
    struct object *o = fake_object_at(OBJECT_RESERVATION, addr, bytes);
    if (!o || o->addr != addr || o->bytes != bytes)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not as it was reserved");
    if (fake_object_overlaps(OBJECT_MAP, addr, bytes))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "with memory mapped in it");
    fake_memory_forget(o);
    fake_object_free(o);
    return CUDA_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags) {
    FAKE_CALL(true);
    if (!bytes || !is_whole(bytes) || flags || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no whole number of granules of the device");
    int fd = memfd_create("fake", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes)) abort();
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) abort();
    memset(p, 0xcd, bytes); /* leftover contents of an earlier owner */
    munmap(p, bytes);
    struct object *o = fake_object_new(OBJECT_MEMORY, 0, bytes);
    o->fd = fd;
    *handle = o->id;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_MEMORY, at(handle));
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no memory, or none any more");
    fake_memory_forget(o); /* mappings of the memory remain valid */
    fake_object_free(o);
    return CUDA_SUCCESS;
}

/* Memory named by a descriptor lives as long as the descriptor, in any process. */
CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_MEMORY, at(handle));
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no memory, or none any more");
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not as a descriptor");
    int fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(out, &fd, sizeof(fd));
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shared,
                                        CUmemAllocationHandleType type) {
    FAKE_CALL(true);
    struct stat st;
    int fd = (int)(uintptr_t)shared;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(fd, &st))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no descriptor");
    if (!st.st_size || !is_whole((uint64_t)st.st_size)) return CUDA_ERROR_INVALID_VALUE;
    struct object *o = fake_object_new(OBJECT_MEMORY, 0, (uint64_t)st.st_size);
    o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (o->fd < 0) abort();
    *handle = o->id;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr addr, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
    FAKE_CALL(true);
    const struct object *memory = fake_object(OBJECT_MEMORY, at(handle));
    if (!memory) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no memory, or none any more");
    if (offset || flags || bytes != memory->bytes || !is_whole(addr))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not all of it, or at no granule");
    if (!fake_object_at(OBJECT_RESERVATION, addr, bytes))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "where nothing is reserved");
    if (fake_object_overlaps(OBJECT_MAP, addr, bytes))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "where something is mapped");
    if (mmap(at(addr), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->fd, 0) == MAP_FAILED)
        abort();
    fake_object_new(OBJECT_MAP, addr, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr addr, size_t bytes) {
    FAKE_CALL(true);
    struct object *o = fake_object_at(OBJECT_MAP, addr, bytes);
    if (!o || o->addr != addr || o->bytes != bytes)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not as it was mapped");
    hide(addr, bytes);
    fake_object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t bytes, const CUmemAccessDesc *desc, size_t count) {
    FAKE_CALL(true);
    if (count != 1 || desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not for one device, to read and write");
    for (uint64_t next = addr; next < addr + bytes;) {
        const struct object *o = fake_object_at(OBJECT_MAP, next, 1);
        if (!o || o->addr != next || o->addr + o->bytes > addr + bytes)
            return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not what is mapped, whole");
        next += o->bytes;
    }
    for (struct object *o = fake.objects; o; o = o->next)
        if (o->kind == OBJECT_MAP && o->addr >= addr && o->addr < addr + bytes) o->allowed = true;
    if (mprotect(at(addr), bytes, PROT_READ | PROT_WRITE)) abort();
    return CUDA_SUCCESS;
}

/* ---- host memory ----------------------------------------------------------------------------- */

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags) {
    FAKE_CALL(true);
    *out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*out) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(*out, 0xcd, bytes);
    fake_object_new(OBJECT_PINNED, (uintptr_t)*out, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *p) {
    FAKE_CALL(true);
    struct object *o = fake_object_at(OBJECT_PINNED, (uintptr_t)p, 1);
    if (!o || o->addr != (uintptr_t)p)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "not what was allocated");
    fake_memory_forget(o);
    fake_object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags) {
    FAKE_CALL(true);
    if (!bytes || (uintptr_t)p % 4096) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no pages");
    if (fake_object_overlaps(OBJECT_REGISTRATION, (uintptr_t)p, bytes))
        return FAKE_MISUSE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "registered already");
    fake_object_new(OBJECT_REGISTRATION, (uintptr_t)p, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *p) {
    FAKE_CALL(true);
    struct object *o = fake_object_at(OBJECT_REGISTRATION, (uintptr_t)p, 1);
    if (!o || o->addr != (uintptr_t)p)
        return FAKE_MISUSE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "not as it was registered");
    fake_object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned int flags) {
    FAKE_CALL(true);
    bool registered = fake_object_at(OBJECT_REGISTRATION, (uintptr_t)p, 1) != NULL;
    if (!registered && !fake_object_at(OBJECT_PINNED, (uintptr_t)p, 1))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "of memory that is neither");
    *out = (uintptr_t)p + (registered && fake.options.host_elsewhere ? ELSEWHERE : 0);
    return CUDA_SUCCESS;
}
