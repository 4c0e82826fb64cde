/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools. The first one of each home is the default pool and cannot be destroyed. A destroyed pool
 * lives until its last block is freed, as CUDA promises.
 *
 * The window's allocator (mem.h) knows the kind and owner of a block: MEM_POOLED or MEM_POOL_FREE,
 * and its pool. The bins only find free blocks by capacity, and know until when each is in use. A
 * pool counts bytes, for its limits and attributes.
 */
#include "shim/memory/pool.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "shim/connection/refuse.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/memory/bins.h"
#include "shim/table.h"

#define GROWTH                                                                        \
    (32ull << 20) /* growth step of CUDA's pools in bytes, which programs can observe \
                   */

struct pool {
    struct table_item item;
    CUmemoryPool handle; /* NULL while the slot is free */
    enum pool_home home;
    bool lets_device; /* the access that the program set for the device */
    uint16_t generation;
    bool dying; /* destroyed, but some blocks are still in use */
    struct bins kept[MEM_WINDOWS];
    uint64_t threshold, max_bytes;
    uint64_t used, used_high, reserved_high; /* bytes; used: capacities of the blocks in use */
    int reuse[4];                            /* CU_MEMPOOL_ATTR_REUSE_*, by number */
    CUmemLocation place;                     /* the place that the program named */
    unsigned int types;                      /* handle types by which other processes may have it */
    bool imported;                           /* imported from another process */
    uint64_t key[2];                         /* key of an exportable or imported pool */
};

static struct pool early[TABLE_BLOCK]; /* the default pools exist from the start */
static struct table pools = {
    .bytes = sizeof(struct pool), .blocks = {(char *)early}, .limit = POOL_HOMES};
static uint32_t chosen[POOL_HOMES] = {POOL_OF_DEVICE, POOL_OF_HOST, POOL_MANAGED};
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t kept_bytes; /* bytes kept by all pools, read before taking the lock */

/* The places of the default pools. */
static const CUmemLocationType first_places[POOL_HOMES] = {
    [POOL_OF_DEVICE] = CU_MEM_LOCATION_TYPE_DEVICE,
    [POOL_OF_HOST] = CU_MEM_LOCATION_TYPE_HOST,
    [POOL_MANAGED] = CU_MEM_LOCATION_TYPE_NONE,
};

static struct pool *at(uint32_t index) {
    return table_at(&pools, index);
}

static uint32_t index_of(const struct pool *p) {
    return p->item.number;
}

static void start(struct pool *p, enum pool_home home, uint64_t max_bytes) {
    struct table_item item = p->item;
    uint16_t generation = p->generation;
    memset(p, 0, sizeof(*p));
    p->item = item;
    p->generation = generation;
    p->home = home;
    p->lets_device = home != POOL_OF_HOST;
    p->place.type = first_places[home];
    p->max_bytes = max_bytes;
    for (int i = 0; i < 4; i++)
        p->reuse[i] = 1;
    p->handle = (CUmemoryPool)(uintptr_t)handle_make(HANDLE_POOL, generation, index_of(p));
}

/* Starts the default pools. The caller holds the lock. */
static void start_defaults(void) {
    if (early[POOL_OF_DEVICE].handle) return;
    for (uint32_t i = 0; i < POOL_HOMES; i++) {
        early[i].item.number = i;
        start(&early[i], (enum pool_home)i, 0);
    }
}

static struct pool *find(CUmemoryPool handle) {
    start_defaults();
    struct pool *p = at(handle_index(HANDLE_POOL, handle));
    return p && p->handle == handle && !p->dying ? p : NULL;
}

CUmemoryPool pool_handle_of(uint32_t index) {
    return at(index)->handle;
}

unsigned int pool_types_of(uint32_t index) {
    return at(index)->types;
}

bool pool_shows_device(uint32_t index) {
    return at(index)->lets_device;
}

bool pool_is_managed(const struct mem_block *b) {
    return b->kind == MEM_MANAGED || (b->kind == MEM_POOLED && at(b->detail)->home == POOL_MANAGED);
}

static uint64_t capacity_in(const struct pool *p, uint64_t bytes) {
    return mem_capacity(bytes, p->home == POOL_OF_DEVICE);
}

static uint64_t kept(const struct pool *p) {
    return p->kept[MEM_PERSISTENT].bytes + p->kept[MEM_EPHEMERAL].bytes;
}

static uint64_t reserved(const struct pool *p) {
    return p->used + kept(p);
}

/* The reserved bytes that programs are told. */
static uint64_t reserved_shown(const struct pool *p) {
    return (reserved(p) + GROWTH - 1) / GROWTH * GROWTH;
}

static void forget(struct pool *p) {
    bins_finish(&p->kept[MEM_PERSISTENT]);
    bins_finish(&p->kept[MEM_EPHEMERAL]);
    p->generation++;
    p->handle = NULL;
    if (index_of(p) >= POOL_HOMES) table_give(&pools, p);
}

/* ---- giving memory back ---------------------------------------------------------------------- */

static bool reclaim(struct pool *p, struct bins_block *out) {
    return bins_reclaim(&p->kept[MEM_EPHEMERAL], submit_done, out) ||
           bins_reclaim(&p->kept[MEM_PERSISTENT], submit_done, out);
}

/* Frees complete blocks until at most `keep` bytes are reserved, as programs are told it. The
 * caller holds the lock. */
static bool shrink(struct pool *p, uint64_t keep) {
    struct bins_block block;
    bool any = false;
    keep = keep / GROWTH * GROWTH;
    while (kept(p) > 0 && reserved(p) > keep && reclaim(p, &block)) {
        mem_give_kept(block.addr);
        atom_sub_relaxed(&kept_bytes, block.capacity);
        any = true;
    }
    return any;
}

static void end_if_unused(struct pool *p) {
    if (!p->dying || p->used > 0) return;
    shrink(p, 0);
    if (kept(p) == 0) forget(p);
}

bool pool_reclaim_all(void) {
    bool any = false;
    lock_enter(&pool_lock);
    for (uint32_t i = 0; i < atom_load_relaxed(&pools.limit); i++)
        any |= at(i)->handle && shrink(at(i), 0);
    lock_leave(&pool_lock);
    mem_tell();
    return any;
}

void pool_release_threshold(void) {
    if (atom_load_relaxed(&kept_bytes) == 0) return;
    lock_enter(&pool_lock);
    for (uint32_t i = 0; i < atom_load_relaxed(&pools.limit); i++) {
        struct pool *p = at(i);
        if (!p->handle) continue;
        shrink(p, p->dying ? 0 : p->threshold);
        end_if_unused(p);
    }
    lock_leave(&pool_lock);
    mem_tell();
}

CUresult pool_give(const struct mem_block *b, uint32_t stream, uint64_t seq) {
    struct bins_block block = {b->addr, mem_capacity(b->bytes, b->device), seq, stream};
    lock_enter(&pool_lock);
    struct pool *p = at(b->detail);
    p->used -= block.capacity;
    mem_keep(b);
    if (bins_put(&p->kept[b->window], &block) == 0)
        atom_add_relaxed(&kept_bytes, block.capacity);
    else
        mem_give_kept(b->addr);
    end_if_unused(p);
    lock_leave(&pool_lock);
    mem_tell();
    return CUDA_SUCCESS;
}

void pool_release(uint32_t owner) {
    if (owner != CTX_PRIMARY) return;
    lock_enter(&pool_lock);
    for (uint32_t i = 0; i < atom_load_relaxed(&pools.limit); i++)
        if (at(i)->handle) forget(at(i));
    for (uint32_t i = 0; i < POOL_HOMES; i++)
        chosen[i] = i;
    atom_store_relaxed(&kept_bytes, 0);
    lock_leave(&pool_lock);
}

/* ---- allocating ------------------------------------------------------------------------------ */

/* Counts a block as used, within the pool's limit. The caller holds the lock. */
static CUresult charge(struct pool *p, uint64_t bytes, uint64_t capacity) {
    if (p->home == POOL_OF_DEVICE && mem_is_beyond(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (p->max_bytes && p->used + capacity > p->max_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    p->used += capacity;
    return CUDA_SUCCESS;
}

static void uncharge(struct pool *p, uint64_t capacity) {
    p->used -= capacity;
    end_if_unused(p);
}

static void note_high(struct pool *p) {
    if (p->used > p->used_high) p->used_high = p->used;
    if (reserved_shown(p) > p->reserved_high) p->reserved_high = reserved_shown(p);
}

/* True for a block freed by a call that waited. A pool without opportunistic reuse takes no other
 * block that was freed in another stream. */
static bool is_unused(uint32_t stream, uint64_t seq) {
    return stream == STREAM_LEGACY && seq == 0;
}

/* Takes a kept block. The caller holds the lock. */
static bool take_kept(struct pool *p, uint64_t bytes, const struct mem_place *place,
                      uint32_t stream, uint64_t *addr) {
    uint64_t capacity = capacity_in(p, bytes);
    bins_done done = p->reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] ? submit_done : is_unused;
    if (!bins_take(&p->kept[place->window], capacity, stream, done, addr)) return false;
    atom_sub_relaxed(&kept_bytes, capacity);
    mem_reuse(*addr, place, CTX_PRIMARY, index_of(p), bytes);
    note_high(p);
    return true;
}

/* Identifies a pool as of the moment when the lock was released. */
struct life {
    enum pool_home home;
    uint16_t generation;
};

/* Allocates a new block without the lock, because the worker may be asked; the pool was charged. If
 * the pool ended meanwhile with its context, so did the block. */
static CUresult take_new(struct pool *p, const struct life *was, uint64_t bytes,
                         const struct mem_place *place, uint64_t *addr) {
    uint32_t index = index_of(p);
    CUresult r = was->home == POOL_OF_DEVICE
                     ? mem_take_device(place, MEM_POOLED, CTX_PRIMARY, index, bytes, addr)
                     : mem_take(MEM_POOLED, CTX_PRIMARY, index, bytes, addr);
    lock_enter(&pool_lock);
    bool here = p->generation == was->generation;
    if (here && r)
        uncharge(p, capacity_in(p, bytes));
    else if (here)
        note_high(p);
    lock_leave(&pool_lock);
    mem_tell();
    return here || r ? r : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult pool_take(CUmemoryPool handle, uint64_t bytes, const struct mem_place *place,
                   uint32_t stream, uint64_t *addr) {
    struct life was = {.home = POOL_OF_DEVICE};
    lock_enter(&pool_lock);
    start_defaults();
    struct pool *p = handle ? find(handle) : at(chosen[POOL_OF_DEVICE]);
    /* Memory that other processes see is never in a lane, nor is host memory. */
    struct mem_place lasting = {.window = MEM_PERSISTENT, .key = place->key};
    if (p && (p->types || p->home != POOL_OF_DEVICE)) place = &lasting;
    CUresult r =
        p && !p->imported ? charge(p, bytes, capacity_in(p, bytes)) : CUDA_ERROR_INVALID_VALUE;
    bool found = !r && take_kept(p, bytes, place, stream, addr);
    if (p) was = (struct life){.home = p->home, .generation = p->generation};
    lock_leave(&pool_lock);
    if (!r && !found) return take_new(p, &was, bytes, place, addr);
    mem_tell();
    return r;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Starts another pool; NULL when there are too many. The caller holds the lock. */
static struct pool *start_another(enum pool_home home, uint64_t max_bytes) {
    start_defaults();
    struct pool *p = table_take(&pools, TABLE_MOST);
    if (p)
        start(p, home, max_bytes);
    else
        refuse_more(REFUSE_POOLS, TABLE_MOST);
    return p;
}

/* Finds a pool that hands out nothing and frees every complete block. The caller holds the lock. */
static struct pool *find_dying(void) {
    for (uint32_t i = POOL_HOMES; i < atom_load_relaxed(&pools.limit); i++) {
        struct pool *other = at(i);
        if (other->handle && other->dying && other->home == POOL_OF_DEVICE) return other;
    }
    struct pool *p = start_another(POOL_OF_DEVICE, 0);
    if (p) p->dying = true;
    return p;
}

CUresult pool_give_plain(const struct mem_block *b, uint32_t stream, uint64_t seq) {
    struct mem_block pooled = *b;
    lock_enter(&pool_lock);
    struct pool *p = find_dying();
    if (p) {
        p->used += mem_capacity(b->bytes, b->device);
        pooled.owner = CTX_PRIMARY; /* the block's own context may end before the last use */
        pooled.detail = index_of(p);
    }
    lock_leave(&pool_lock);
    return p ? pool_give(&pooled, stream, seq) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUmemoryPool pool_create(enum pool_home home, const CUmemPoolProps *props) {
    uint64_t key[2] = {0, 0};
    if (props->handleTypes && getrandom(key, sizeof(key), 0) != sizeof(key)) return NULL;
    lock_enter(&pool_lock);
    struct pool *p = start_another(home, props->maxSize);
    if (p) {
        p->place = props->location;
        p->types = props->handleTypes;
        memcpy(p->key, key, sizeof(key));
    }
    CUmemoryPool handle = p ? p->handle : NULL;
    lock_leave(&pool_lock);
    return handle;
}

CUmemoryPool pool_import(const uint64_t *key) {
    lock_enter(&pool_lock);
    struct pool *p = start_another(POOL_OF_DEVICE, 0);
    if (p) {
        p->imported = true;
        memcpy(p->key, key, sizeof(p->key));
    }
    CUmemoryPool handle = p ? p->handle : NULL;
    lock_leave(&pool_lock);
    return handle;
}

static bool copy_key(CUmemoryPool handle, bool imported, uint64_t *key) {
    lock_enter(&pool_lock);
    const struct pool *p = find(handle);
    bool has = p && (imported ? p->imported : p->types != 0);
    if (has) memcpy(key, p->key, sizeof(p->key));
    lock_leave(&pool_lock);
    return has;
}

bool pool_key(CUmemoryPool handle, uint64_t *key) {
    return copy_key(handle, false, key);
}

bool pool_imported(CUmemoryPool handle, uint64_t *key) {
    return copy_key(handle, true, key);
}

bool pool_destroy(CUmemoryPool handle) {
    lock_enter(&pool_lock);
    struct pool *p = find(handle);
    bool mortal = p && index_of(p) >= POOL_HOMES;
    if (mortal) {
        if (chosen[p->home] == index_of(p)) chosen[p->home] = (uint32_t)p->home;
        p->dying = true;
        end_if_unused(p);
    }
    lock_leave(&pool_lock);
    mem_tell();
    return mortal;
}

bool pool_trim(CUmemoryPool handle, uint64_t keep) {
    lock_enter(&pool_lock);
    struct pool *p = find(handle);
    if (p) shrink(p, keep);
    lock_leave(&pool_lock);
    mem_tell();
    return p != NULL;
}

static CUmemoryPool handle_at(const uint32_t *index) {
    lock_enter(&pool_lock);
    start_defaults();
    CUmemoryPool handle = at(*index)->handle;
    lock_leave(&pool_lock);
    return handle;
}

CUmemoryPool pool_default(enum pool_home home) {
    const uint32_t index = (uint32_t)home;
    return handle_at(&index);
}

CUmemoryPool pool_chosen(enum pool_home home) {
    return handle_at(&chosen[home]);
}

bool pool_choose(enum pool_home home, CUmemoryPool handle) {
    lock_enter(&pool_lock);
    struct pool *p = find(handle);
    if (p && (p->imported || p->home != home)) p = NULL;
    if (p) chosen[home] = index_of(p);
    lock_leave(&pool_lock);
    return p != NULL;
}

enum pool_home pool_home(CUmemoryPool handle) {
    lock_enter(&pool_lock);
    const struct pool *p = find(handle);
    enum pool_home home = p ? p->home : POOL_HOMES;
    lock_leave(&pool_lock);
    return home;
}

bool pool_let_device(CUmemoryPool handle, bool let) {
    lock_enter(&pool_lock);
    struct pool *p = find(handle);
    if (p) p->lets_device = let;
    lock_leave(&pool_lock);
    return p != NULL;
}

bool pool_lets_device(CUmemoryPool handle) {
    lock_enter(&pool_lock);
    const struct pool *p = find(handle);
    bool lets = p && p->lets_device;
    lock_leave(&pool_lock);
    return lets;
}

bool pool_known(CUmemoryPool handle) {
    lock_enter(&pool_lock);
    bool known = find(handle) != NULL;
    lock_leave(&pool_lock);
    return known;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Sets an attribute: an int or a 64-bit number in the pool. */
static CUresult set(struct pool *p, CUmemPool_attribute attr, const void *value) {
    uint64_t wide;
    switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(&p->reuse[attr], value, sizeof(int));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        memcpy(&p->threshold, value, sizeof(p->threshold));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        memcpy(&wide, value, sizeof(wide));
        if (wide != 0) return CUDA_ERROR_INVALID_VALUE;
        if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            p->used_high = p->used;
        else
            p->reserved_high = reserved_shown(p);
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Gets a property that is an int; false for any other attribute. */
static bool get_int(const struct pool *p, CUmemPool_attribute attr, int *value) {
    switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *value = p->reuse[attr]; return true;
    case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
        *value = p->home == POOL_MANAGED ? CU_MEM_ALLOCATION_TYPE_MANAGED
                                         : CU_MEM_ALLOCATION_TYPE_PINNED;
        return true;
    case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES: *value = (int)p->types; return true;
    case CU_MEMPOOL_ATTR_LOCATION_ID: *value = p->place.id; return true;
    case CU_MEMPOOL_ATTR_LOCATION_TYPE: *value = (int)p->place.type; return true;
    case CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED: *value = 0; return true;
    case CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID: *value = -1; return true;
    default: return false;
    }
}

static CUresult get(const struct pool *p, CUmemPool_attribute attr, void *value) {
    uint64_t wide;
    int narrow;
    if (get_int(p, attr, &narrow)) {
        memcpy(value, &narrow, sizeof(narrow));
        return CUDA_SUCCESS;
    }
    switch (attr) {
    case CU_MEMPOOL_ATTR_MAX_POOL_SIZE: wide = p->max_bytes; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: wide = p->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: wide = reserved_shown(p); break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: wide = p->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: wide = p->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: wide = p->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &wide, sizeof(wide));
    return CUDA_SUCCESS;
}

CUresult pool_set(CUmemoryPool handle, CUmemPool_attribute attr, const void *value) {
    lock_enter(&pool_lock);
    struct pool *p = find(handle);
    CUresult r = p ? set(p, attr, value) : CUDA_ERROR_INVALID_VALUE;
    lock_leave(&pool_lock);
    return r;
}

CUresult pool_get(CUmemoryPool handle, CUmemPool_attribute attr, void *value) {
    lock_enter(&pool_lock);
    const struct pool *p = find(handle);
    CUresult r = p ? get(p, attr, value) : CUDA_ERROR_INVALID_VALUE;
    lock_leave(&pool_lock);
    return r;
}
