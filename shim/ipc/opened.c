/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of opened memory. virtual.h knows where each allocation is mapped.
 */
#include "shim/ipc/opened.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/connection/state.h"
#include "shim/lock.h"
#include "shim/memory/allocation.h"
#include "shim/memory/mem.h"
#include "shim/memory/pool.h"
#include "shim/memory/virtual.h"

#define OPENED_MAGIC 0x4d435049u /* "IPCM" */

struct opened {
    uint64_t addr, bytes;
    uint64_t key[2];
    uint32_t refs, owner;
    bool pooled;
};

static struct opened *opened;
static uint32_t opened_count, opened_cap;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- handles --------------------------------------------------------------------------------- */

static CUresult describe(const struct mem_block *b, struct opened_handle *out) {
    *out =
        (struct opened_handle){.magic = OPENED_MAGIC, .job = state.conn.job_id, .bytes = b->bytes};
    return mem_share(b->addr, out->key, &out->offset);
}

CUresult opened_describe(uint64_t addr, struct opened_handle *out) {
    struct mem_block b;
    if (!mem_find(addr, &b) || b.kind != MEM_PLAIN) return CUDA_ERROR_INVALID_VALUE;
    return describe(&b, out);
}

CUresult opened_describe_pooled(uint64_t addr, struct opened_handle *out) {
    struct mem_block b;
    uint64_t pool[2];
    if (!mem_find(addr, &b) || b.addr != addr || b.kind != MEM_POOLED ||
        !pool_key(pool_handle_of(b.detail), pool))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = describe(&b, out);
    memcpy(out->pool, pool, sizeof(pool));
    return r;
}

bool opened_valid(const struct opened_handle *h) {
    return h->magic == OPENED_MAGIC && h->bytes && h->offset + h->bytes > h->offset;
}

/* ---- the table; with the lock held ----------------------------------------------------------- */

static bool is_pooled(const struct opened_handle *h) {
    return h->pool[0] || h->pool[1];
}

static struct opened *find_key(const struct opened_handle *h, uint32_t owner) {
    for (uint32_t i = 0; i < opened_count; i++) {
        struct opened *o = &opened[i];
        if (o->key[0] == h->key[0] && o->key[1] == h->key[1] && o->owner == owner &&
            o->pooled == is_pooled(h))
            return o;
    }
    return NULL;
}

static bool append(const struct opened *one) {
    if (opened_count == opened_cap) {
        uint32_t cap = opened_cap ? opened_cap * 2 : 16;
        struct opened *more = realloc(opened, cap * sizeof(*more));
        if (!more) return false;
        opened = more;
        opened_cap = cap;
    }
    opened[opened_count++] = *one;
    return true;
}

static struct opened drop(uint32_t i) {
    struct opened gone = opened[i];
    opened[i] = opened[--opened_count];
    return gone;
}

/* ---- at addresses ---------------------------------------------------------------------------- */

static void unmap(const struct opened *o) {
    virtual_unmap(o->addr, o->bytes);
    virtual_release(o->addr, o->bytes);
}

static CUresult map(CUmemGenericAllocationHandle handle, uint64_t bytes, uint64_t *addr) {
    CUresult r = virtual_reserve(bytes, 0, 0, addr);
    if (r) return r;
    r = virtual_map(*addr, bytes, handle);
    if (!r) r = virtual_access(*addr, bytes, true);
    if (r) unmap(&(struct opened){.addr = *addr, .bytes = bytes});
    return r;
}

/* Maps the allocation of a key. The mapping holds the memory after the handle is released. */
static CUresult open_key(const struct opened_handle *h, struct opened *out) {
    CUmemGenericAllocationHandle handle;
    struct allocation_info info;
    CUresult r = allocation_open(h->key, CU_MEM_HANDLE_TYPE_NONE, &handle);
    if (r) return r == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_MAP_FAILED : r;
    bool fits = allocation_look(handle, &info) && h->offset + h->bytes <= info.bytes;
    r = fits ? map(handle, info.bytes, &out->addr) : CUDA_ERROR_INVALID_VALUE;
    out->bytes = info.bytes;
    allocation_release(handle);
    return r;
}

/* Opens memory once more. True when it was open already. */
static bool take_again(const struct opened_handle *h, uint32_t owner, uint64_t *addr) {
    lock_enter(&opened_lock);
    struct opened *o = find_key(h, owner);
    bool fits = o && h->offset + h->bytes <= o->bytes;
    if (fits) {
        o->refs++;
        *addr = o->addr + h->offset;
    }
    lock_leave(&opened_lock);
    return fits;
}

CUresult opened_take(const struct opened_handle *h, uint32_t owner, uint64_t *addr) {
    struct opened mine = {
        .key = {h->key[0], h->key[1]}, .refs = 1, .owner = owner, .pooled = is_pooled(h)};
    if (take_again(h, owner, addr)) return CUDA_SUCCESS;
    CUresult r = open_key(h, &mine);
    if (r) return r;
    lock_enter(&opened_lock);
    bool kept = !find_key(h, owner) && append(&mine);
    lock_leave(&opened_lock);
    if (kept) {
        *addr = mine.addr + h->offset;
        return CUDA_SUCCESS;
    }
    unmap(&mine); /* another thread was faster */
    return take_again(h, owner, addr) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool opened_give(uint64_t addr, bool pooled) {
    struct opened gone = {.refs = 1};
    bool found = false;
    lock_enter(&opened_lock);
    for (uint32_t i = 0; i < opened_count && !found; i++) {
        struct opened *o = &opened[i];
        found = addr - o->addr < o->bytes && o->pooled == pooled;
        if (found && --o->refs == 0) gone = drop(i);
    }
    lock_leave(&opened_lock);
    if (found && !gone.refs) unmap(&gone);
    return found;
}

void opened_release(uint32_t owner) {
    lock_enter(&opened_lock);
    for (uint32_t i = opened_count; i-- > 0;) {
        if (opened[i].owner != owner) continue;
        struct opened gone = drop(i);
        lock_leave(&opened_lock);
        unmap(&gone);
        lock_enter(&opened_lock);
        i = opened_count;
    }
    lock_leave(&opened_lock);
}
