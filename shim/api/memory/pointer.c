/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of pointers. The runtime asks for them before nearly every copy of cudaMemcpyDefault
 * and for cudaPointerGetAttributes. The client's own records give the answers.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/code/image.h"
#include "shim/context/ctx.h"
#include "shim/host_memory/registered.h"
#include "shim/memory/identity.h"
#include "shim/memory/mem.h"
#include "shim/memory/pool.h"
#include "shim/memory/virtual.h"
#include "shim/transfer/lookup.h"

#define ACCESS_READ_WRITE 3ull

struct pointer {
    uint64_t addr;         /* the address that was asked about */
    bool known;            /* the driver knows the address */
    uint64_t host, device; /* address for host and for device; 0: that side cannot access it */
    struct mem_block block;
    uint64_t base; /* address that identifies the block, also where the block has two addresses */
};

/* Finds a registered range by either of its two addresses. */
static bool find_registered(uint64_t addr, struct pointer *p) {
    struct registered_range r;
    bool device = registered_find_device(addr, &r);
    if (!device && !registered_find(addr, &r)) return false;
    uint64_t base = device ? r.device : r.addr, offset = addr - base;
    p->host = r.addr + offset;
    p->device = r.device ? r.device + offset : 0;
    p->block = (struct mem_block){.addr = base, .bytes = r.bytes, .kind = MEM_PINNED};
    p->base = r.addr;
    return true;
}

static struct pointer look_up(uint64_t addr) {
    struct pointer p = {.addr = addr, .known = false, .device = addr};
    struct mem_block *b = &p.block;
    bool found = lookup_block(addr, b);
    if (found && b->kind == MEM_SHADOW) {
        p.known = find_registered(addr, &p);
        return p;
    }
    if (found && b->kind != MEM_VARIABLE) {
        p.known = b->kind != MEM_POOL_FREE && b->kind != MEM_OWN && b->kind != MEM_ARRAY;
    } else if (image_global_at(addr, &b->addr, &b->bytes)) {
        b->device = !conn_in_host(&state.conn, addr);
        b->kind = b->device ? MEM_PLAIN : MEM_MANAGED;
        b->owner = CTX_PRIMARY;
        p.known = true;
    } else if (found) {
        b->kind = MEM_MANAGED; /* a managed variable that was not looked up since a reset */
        p.known = true;
    } else {
        p.known = find_registered(addr, &p);
        return p;
    }
    if (!b->device || b->kind == MEM_MANAGED) p.host = addr;
    p.base = b->addr;
    return p;
}

static CUresult copy_out(void *data, const void *value, size_t bytes, bool known) {
    memcpy(data, value, bytes);
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The kinds of answer have different widths: 4 bytes for enums and booleans, 8 for the rest. */
static CUresult answer32(void *data, uint32_t value, bool known) {
    return copy_out(data, &value, sizeof(value), known);
}

static CUresult answer64(void *data, uint64_t value, bool known) {
    return copy_out(data, &value, sizeof(value), known);
}

static uint64_t owner_handle(const struct pointer *p) {
    return p->known ? (uint64_t)(uintptr_t)ctx_at(p->block.owner)->handle : 0;
}

static uint64_t pool_handle(const struct pointer *p) {
    if (!p->known || p->block.kind != MEM_POOLED) return 0;
    return (uint64_t)(uintptr_t)pool_handle_of(p->block.detail);
}

static CUresult answer_id(void *data, uint64_t id, bool known) {
    return known && !id ? CUDA_ERROR_OUT_OF_MEMORY : answer64(data, id, known);
}

static uint64_t buffer_id(const struct pointer *p) {
    return p->known ? identity_of(p->base, p->block.bytes) : 0;
}

/* Identifies the physical allocation, which several mappings can show. */
static uint64_t physical_id(const struct pointer *p) {
    bool mapped = p->known && p->block.kind == MEM_MAPPED;
    return mapped ? virtual_physical(p->addr) : buffer_id(p);
}

/* Answers for a reserved address with the whole reservation, whether or not it is mapped. */
static CUresult answer_range(void *data, const struct pointer *p, bool size) {
    uint64_t base = p->known ? p->block.addr : 0, bytes = p->known ? p->block.bytes : 0;
    bool reserved = virtual_reserved(p->addr, &base, &bytes);
    return answer64(data, size ? bytes : base, p->known || reserved);
}

/* True for memory that is mapped without access for any side. Only these calls know such memory. */
static bool is_closed(const struct pointer *p) {
    bool accessible;
    return !p->known && virtual_accessible(p->addr, &accessible) && !accessible;
}

static uint64_t access_flags(const struct pointer *p) {
    const struct mem_block *b = &p->block;
    if (!p->known || !p->device || (b->kind == MEM_POOLED && !pool_shows_device(b->detail)))
        return 0;
    return ACCESS_READ_WRITE;
}

/* Unknown pointers leave a neutral value behind, because the runtime reads it all the same. */
static CUresult answer(void *data, CUpointer_attribute attribute, const struct pointer *p) {
    const struct mem_block *b = &p->block;
    bool known = p->known, host = known && p->host, seen = known && p->device;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return answer64(data, owner_handle(p), known);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return answer32(data,
                        !known                            ? 0
                        : b->device || pool_is_managed(b) ? CU_MEMORYTYPE_DEVICE
                                                          : CU_MEMORYTYPE_HOST,
                        known);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return answer64(data, seen ? p->device : 0, seen);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return answer64(data, host ? p->host : 0, host);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return answer32(data, known && identity_sync(p->base), known);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return answer_id(data, buffer_id(p), known);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return answer32(data, known && pool_is_managed(b), known);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return answer32(data, known ? 0 : (uint32_t)CU_DEVICE_INVALID, known);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return answer32(data, known && b->device && b->kind == MEM_PLAIN, true);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return answer_range(data, p, false);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return answer_range(data, p, true);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return answer64(data, known ? b->addr : 0, known);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return answer64(data, known ? b->bytes : 0, known);
    case CU_POINTER_ATTRIBUTE_MAPPED: return answer32(data, seen || is_closed(p), true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return answer64(data, b->kind == MEM_MAPPED ? b->detail : 0, true);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return answer32(data, 0, true);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return answer64(data, access_flags(p), known || is_closed(p));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return answer64(data, pool_handle(p), known);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return answer_id(data, physical_id(p), known);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return answer32(data, 0, true);
    case CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL: return answer32(data, (uint32_t)-1, true);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Neither call needs a context: the runtime makes them for threads without one, such as PyTorch's
 * loader threads that pin batches. */
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    CUresult r = state_live();
    if (r) return r;
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    struct pointer p = look_up(ptr);
    return answer(data, attribute, &p);
}

/* Succeeds for unknown pointers, unlike the single form. */
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr ptr) {
    CUresult r = state_live();
    if (r) return r;
    if (numAttributes && (!attributes || !data)) return CUDA_ERROR_INVALID_VALUE;
    struct pointer p = look_up(ptr);
    for (unsigned int i = 0; i < numAttributes; i++) {
        if (!data[i]) return CUDA_ERROR_INVALID_VALUE;
        answer(data[i], attributes[i], &p);
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct pointer p = look_up(ptr);
    unsigned int sync;
    /* No other attribute can be set. */
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !p.known)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&sync, value, sizeof(sync));
    return identity_set_sync(p.base, p.block.bytes, sync) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
