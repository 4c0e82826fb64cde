/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of reservations and mappings. Their lock is taken before those of allocations and
 * memory, so the worker hears of changes in the order in which they were made.
 */
#include "shim/memory/virtual.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/context/ctx.h"
#include "shim/lock.h"
#include "shim/memory/allocation.h"
#include "shim/memory/identity.h"
#include "shim/memory/spans.h"

static struct spans reservations, mappings; /* `tag` of a mapping: its segment */
static pthread_mutex_t virtual_lock = PTHREAD_MUTEX_INITIALIZER;

static bool whole(uint64_t addr, uint64_t bytes) {
    return bytes && (addr | bytes) % state.conn.device.granularity_bytes == 0;
}

/* ---- reservations ---------------------------------------------------------------------------- */

CUresult virtual_reserve(uint64_t bytes, uint64_t align, uint64_t want, uint64_t *addr) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (!bytes || bytes % page || align & (align - 1)) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = mem_reserve(MEM_PERSISTENT, bytes, align, want, addr);
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        refuse_addresses(bytes, WIRE_EPHEMERAL_OFFSET(state.conn.windows.alloc_bytes));
    if (r) return r;
    lock_enter(&virtual_lock);
    int err = spans_add(&reservations, &(struct span){.addr = *addr, .bytes = bytes});
    lock_leave(&virtual_lock);
    if (err) mem_unreserve(*addr, bytes);
    return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult virtual_release(uint64_t addr, uint64_t bytes) {
    uint32_t first;
    lock_enter(&virtual_lock);
    bool found = spans_exactly(&reservations, addr, bytes, &first) == 1 &&
                 !spans_overlap(&mappings, addr, bytes);
    if (found) {
        spans_remove(&reservations, first, 1);
        mem_unreserve(addr, bytes);
    }
    lock_leave(&virtual_lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mappings; with the lock held ------------------------------------------------------------ */

static bool is_reserved(uint64_t addr, uint64_t bytes) {
    const struct span *r = spans_find(&reservations, addr);
    return r && bytes <= r->bytes - (addr - r->addr);
}

static CUresult map(uint64_t addr, uint64_t bytes, CUmemGenericAllocationHandle handle) {
    struct allocation_info info;
    if (!is_reserved(addr, bytes) || spans_overlap(&mappings, addr, bytes) ||
        !allocation_look(handle, &info) || bytes > info.bytes || !allocation_show(handle, &info))
        return CUDA_ERROR_INVALID_VALUE;
    struct span mapping = {.addr = addr, .bytes = bytes, .tag = info.segment, .id = info.id};
    identity_forget(addr, bytes);
    if (spans_add(&mappings, &mapping) == 0) return CUDA_SUCCESS;
    allocation_hide(info.segment);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void set_access(struct span *m, bool accessible) {
    if (accessible == (bool)m->access) return;
    m->access = accessible;
    if (accessible)
        mem_segment_show(m->tag, m->addr, m->bytes);
    else
        mem_segment_hide(m->addr, m->bytes);
}

static bool unmap(uint64_t addr, uint64_t bytes) {
    uint32_t first, count = spans_exactly(&mappings, addr, bytes, &first);
    for (uint32_t i = first; i < first + count; i++) {
        set_access(&mappings.items[i], false);
        allocation_hide(mappings.items[i].tag);
    }
    spans_remove(&mappings, first, count);
    return count > 0;
}

/* ---- interface ------------------------------------------------------------------------------- */

CUresult virtual_map(uint64_t addr, uint64_t bytes, CUmemGenericAllocationHandle handle) {
    if (!whole(addr, bytes)) return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&virtual_lock);
    CUresult r = map(addr, bytes, handle);
    lock_leave(&virtual_lock);
    mem_tell();
    return r;
}

CUresult virtual_unmap(uint64_t addr, uint64_t bytes) {
    lock_enter(&virtual_lock);
    bool found = unmap(addr, bytes);
    lock_leave(&virtual_lock);
    mem_tell();
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult virtual_access(uint64_t addr, uint64_t bytes, bool accessible) {
    uint32_t first;
    lock_enter(&virtual_lock);
    uint32_t count = spans_exactly(&mappings, addr, bytes, &first);
    for (uint32_t i = first; i < first + count; i++)
        set_access(&mappings.items[i], accessible);
    lock_leave(&virtual_lock);
    mem_tell();
    return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool virtual_accessible(uint64_t addr, bool *accessible) {
    lock_enter(&virtual_lock);
    const struct span *m = spans_find(&mappings, addr);
    if (m) *accessible = m->access;
    lock_leave(&virtual_lock);
    return m != NULL;
}

CUresult virtual_retain(uint64_t addr, CUmemGenericAllocationHandle *handle) {
    lock_enter(&virtual_lock);
    const struct span *m = spans_find(&mappings, addr);
    if (m) *handle = allocation_retain(m->tag);
    lock_leave(&virtual_lock);
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool virtual_find(uint64_t addr, struct mem_block *out) {
    lock_enter(&virtual_lock);
    const struct span *m = spans_find(&mappings, addr);
    bool found = m && m->access;
    if (found)
        *out = (struct mem_block){.addr = m->addr,
                                  .bytes = m->bytes,
                                  .kind = MEM_MAPPED,
                                  .owner = CTX_PRIMARY,
                                  .detail = allocation_types(m->tag),
                                  .device = true,
                                  .window = MEM_PERSISTENT};
    lock_leave(&virtual_lock);
    return found;
}

bool virtual_reserved(uint64_t addr, uint64_t *base, uint64_t *bytes) {
    lock_enter(&virtual_lock);
    const struct span *r = spans_find(&reservations, addr);
    if (r) {
        *base = r->addr;
        *bytes = r->bytes;
    }
    lock_leave(&virtual_lock);
    return r != NULL;
}

uint64_t virtual_physical(uint64_t addr) {
    lock_enter(&virtual_lock);
    const struct span *m = spans_find(&mappings, addr);
    uint64_t id = m ? m->id : 0;
    lock_leave(&virtual_lock);
    return id;
}

bool virtual_covers(uint64_t addr, uint64_t bytes) {
    lock_enter(&virtual_lock);
    bool covers = spans_cover(&mappings, addr, bytes);
    lock_leave(&virtual_lock);
    return covers;
}
