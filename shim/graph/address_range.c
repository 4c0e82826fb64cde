/* SPDX-License-Identifier: Apache-2.0
 *
 * Backs rooms with chunks: segments of the worker's, which can be mapped at several addresses. A
 * chunk belongs to its latest room. Another room takes it over when that room's uses are complete,
 * or come before its own in a stream. Both keep it mapped, and the room that is launched next takes
 * it over in turn. Only a room that cannot get its chunks back is unmapped and backed anew; that
 * waits in the worker for everything sent before.
 */
#include "shim/graph/address_range.h"

#include <stdlib.h>

#include "shim/connection/state.h"
#include "shim/context/stream.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"
#include "shim/memory/allocation.h"
#include "shim/memory/mem.h"

/* The most bytes of one chunk: rooms of other sizes can use part of the chunks. */
#define CHUNK_BYTES (32ull << 20)

struct address_chunk {
    CUmemGenericAllocationHandle handle;
    uint32_t segment;
    uint64_t bytes;
    uint32_t shown;               /* rooms that map it */
    struct address_range *latest; /* NULL: no room */
    bool chosen;                  /* chosen for the room that is being backed */
    struct address_chunk *next;
};

static struct {
    struct address_range *all;
    struct address_chunk *chunks;
    uint64_t counts[CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH + 1];
} rooms;

/* ---- counts ---------------------------------------------------------------------------------- */

static void count(CUgraphMem_attribute current, uint64_t bytes, bool more) {
    uint64_t *now = &rooms.counts[current], *high = &rooms.counts[current + 1];
    *now = more ? *now + bytes : *now - bytes;
    if (*now > *high) *high = *now;
}

uint64_t address_range_count(CUgraphMem_attribute attr) {
    return rooms.counts[attr];
}

void address_range_reset(CUgraphMem_attribute attr) {
    rooms.counts[attr] = rooms.counts[attr - 1];
}

/* ---- mappings -------------------------------------------------------------------------------- */

static uint64_t piece_bytes(const struct address_chunk *c, uint64_t left) {
    return c->bytes < left ? c->bytes : left;
}

static void show(struct address_range *r) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        struct address_chunk *c = r->chunks[i];
        struct allocation_info info;
        uint64_t bytes = piece_bytes(c, r->bytes - at);
        allocation_show(c->handle, &info);
        mem_segment_show(info.segment, r->addr + at, bytes);
        c->segment = info.segment;
        if (c->shown++ == 0) count(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, c->bytes, true);
        at += bytes;
    }
}

static void empty(struct address_range *r) {
    if (r->count) mem_segment_hide(r->addr, r->bytes);
    for (uint32_t i = 0; i < r->count; i++) {
        struct address_chunk *c = r->chunks[i];
        allocation_hide(c->segment);
        if (c->latest == r) c->latest = NULL;
        if (--c->shown == 0) count(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, c->bytes, false);
    }
    free(r->chunks);
    r->chunks = NULL;
    r->count = 0;
}

/* True when a launch in this stream would come after all uses of the room. */
static bool is_free_for(struct address_range *r, uint32_t stream) {
    return !r->entered && !r->live && uses_before(&r->uses, stream);
}

static bool can_take(const struct address_chunk *c, struct address_range *r, uint32_t stream) {
    return !c->latest || c->latest == r || is_free_for(c->latest, stream);
}

static bool has_its_own(struct address_range *r, uint32_t stream) {
    for (uint32_t i = 0; i < r->count; i++)
        if (!can_take(r->chunks[i], r, stream)) return false;
    return r->count > 0;
}

/* ---- backing a room -------------------------------------------------------------------------- */

/* True when `bytes` fits better: the smallest that is enough, else the largest. */
static bool fits_better(uint64_t bytes, uint64_t than, uint64_t wanted) {
    if ((bytes >= wanted) != (than >= wanted)) return bytes >= wanted;
    return bytes >= wanted ? bytes < than : bytes > than;
}

/* Chooses a chunk. A room that stays allocated takes no larger chunk than it needs, because others
 * could not use the rest. */
static struct address_chunk *choose(struct address_range *r, uint32_t stream, uint64_t wanted) {
    struct address_chunk *best = NULL;
    for (struct address_chunk *c = rooms.chunks; c; c = c->next) {
        if (r->stays && c->bytes > wanted) continue;
        if (c->chosen || (best && !fits_better(c->bytes, best->bytes, wanted))) continue;
        if (can_take(c, r, stream)) best = c;
    }
    return best;
}

/* Gathers chunks for a room that was unmapped. Returns the bytes that are missing. */
static uint64_t gather(struct address_range *r, uint32_t stream) {
    uint64_t missing = r->bytes;
    struct address_chunk *c;
    while (missing && (c = choose(r, stream, missing))) {
        struct address_chunk **more = realloc(r->chunks, (r->count + 1) * sizeof(*more));
        if (!more) break;
        r->chunks = more;
        r->chunks[r->count++] = c;
        c->chosen = true;
        missing -= piece_bytes(c, missing);
    }
    for (uint32_t i = 0; i < r->count; i++)
        r->chunks[i]->chosen = false;
    if (missing) r->count = 0;
    return missing;
}

bool address_range_enter(struct address_range *r, uint32_t stream, uint64_t *missing) {
    *missing = 0;
    if (!has_its_own(r, stream)) {
        empty(r);
        *missing = gather(r, stream);
        if (*missing) return false;
        show(r);
    }
    for (uint32_t i = 0; i < r->count; i++)
        r->chunks[i]->latest = r;
    r->entered++;
    return true;
}

void address_range_leave(struct address_range *r, uint32_t stream, uint64_t seq) {
    r->entered--;
    if (seq) uses_add(&r->uses, stream, seq);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static CUresult make_chunk(uint64_t bytes) {
    struct address_chunk *c = calloc(1, sizeof(*c));
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = allocation_make(MEM_EPHEMERAL, bytes, 0, &c->handle);
    if (r) {
        free(c);
        return r;
    }
    c->bytes = bytes;
    lock_enter(&graph_lock);
    c->next = rooms.chunks;
    rooms.chunks = c;
    count(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, bytes, true);
    lock_leave(&graph_lock);
    return CUDA_SUCCESS;
}

CUresult address_range_supply(uint64_t bytes) {
    CUresult r = CUDA_SUCCESS;
    for (uint64_t made = 0; !r && made < bytes; made += CHUNK_BYTES)
        r = make_chunk(bytes - made < CHUNK_BYTES ? bytes - made : CHUNK_BYTES);
    return r;
}

/* True when no room that maps the chunk is in use. Checks all rooms: trimming is rare. */
static bool is_idle(const struct address_chunk *c) {
    for (struct address_range *r = rooms.all; r; r = r->next)
        for (uint32_t i = 0; i < r->count; i++)
            if (r->chunks[i] == c && (r->entered || r->live || !uses_done(&r->uses))) return false;
    return true;
}

static void hide_everywhere(const struct address_chunk *c) {
    for (struct address_range *r = rooms.all; r; r = r->next)
        for (uint32_t i = 0; i < r->count; i++)
            if (r->chunks[i] == c) empty(r);
}

static struct address_chunk *take_idle(void) {
    for (struct address_chunk **at = &rooms.chunks, *c; (c = *at); at = &c->next) {
        if (!is_idle(c)) continue;
        hide_everywhere(c);
        *at = c->next;
        count(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, c->bytes, false);
        return c;
    }
    return NULL;
}

void address_range_trim(void) {
    struct address_chunk *c;
    do {
        lock_enter(&graph_lock);
        c = take_idle();
        lock_leave(&graph_lock);
        if (c) allocation_release(c->handle);
        free(c);
    } while (c);
    mem_tell();
}

/* ---- life ------------------------------------------------------------------------------------ */

struct address_range *address_range_create(uint64_t bytes) {
    uint64_t granule = state.conn.device.granularity_bytes;
    if (mem_is_beyond(bytes)) return NULL;
    struct address_range *r = calloc(1, sizeof(*r));
    if (!r) return NULL;
    r->bytes = (bytes + granule - 1) / granule * granule;
    if (mem_reserve(MEM_EPHEMERAL, r->bytes, 0, 0, &r->addr)) {
        free(r);
        return NULL;
    }
    r->holders = 1;
    r->next = rooms.all;
    rooms.all = r;
    return r;
}

void address_range_hold(struct address_range *r) {
    r->holders++;
}

void address_range_drop(struct address_range *r) {
    struct address_range **at = &rooms.all;
    if (--r->holders) return;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    empty(r);
    mem_unreserve(r->addr, r->bytes);
    uses_finish(&r->uses);
    free(r);
}
