/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of all memory that graphs allocate.
 */
#include "shim/graph/graph_memory.h"

#include <stdlib.h>

#include "common/atomics.h"
#include "shim/connection/submit.h"
#include "shim/graph/address_range.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"
#include "shim/memory/identity.h"
#include "shim/memory/mem.h"
#include "shim/memory/placed.h"

static struct {
    struct graph_memory *all;
    _Atomic uint32_t unheld; /* entries without a holder that are not live */
} memory;

CUresult graph_memory_create(uint32_t owner, const CUmemLocation *place, uint64_t bytes,
                             struct graph_memory **out) {
    struct graph_memory *m = calloc(1, sizeof(*m));
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct graph_memory){.bytes = bytes, .place = *place, .owner = owner, .holders = 1};
    CUresult r =
        graph_memory_on_device(m) ? CUDA_SUCCESS : mem_take(MEM_GRAPH, owner, 0, bytes, &m->addr);
    if (r) {
        free(m);
        return r;
    }
    lock_enter(&graph_lock);
    m->next = memory.all;
    memory.all = m;
    lock_leave(&graph_lock);
    *out = m;
    return CUDA_SUCCESS;
}

struct graph_memory *graph_memory_find(uint64_t addr) {
    struct graph_memory *m = memory.all;
    while (m && m->addr != addr)
        m = m->next;
    return m;
}

static bool is_unheld(const struct graph_memory *m) {
    return m->holders == 0 && !m->live;
}

void graph_memory_hold(struct graph_memory *m) {
    m->holders++;
}

void graph_memory_drop(struct graph_memory *m) {
    m->holders--;
    if (is_unheld(m)) atom_add_relaxed(&memory.unheld, 1);
}

void graph_memory_set(struct graph_memory *m, bool live) {
    if (m->live == live) return;
    m->live = live;
    if (live) identity_forget(m->addr, m->bytes); /* each launch allocates the memory anew */
    if (m->room) m->room->live += live ? 1 : -1u;
}

void graph_memory_rest(struct graph_memory *m) {
    graph_memory_set(m, false);
    if (m->room) mem_rest(m->addr, m->bytes);
}

static CUresult end(uint64_t addr, uint32_t stream, uint64_t seq) {
    struct graph_memory *m = graph_memory_find(addr);
    if (!m || !m->live || m->changing || m->gone) return CUDA_ERROR_INVALID_VALUE;
    graph_memory_rest(m);
    if (m->room) uses_add(&m->room->uses, stream, seq);
    m->last.stream = stream;
    m->last.seq = seq;
    if (is_unheld(m)) atom_add_relaxed(&memory.unheld, 1);
    return CUDA_SUCCESS;
}

CUresult graph_memory_free(uint64_t addr, uint32_t stream, uint64_t seq) {
    lock_enter(&graph_lock);
    CUresult r = end(addr, stream, seq);
    lock_leave(&graph_lock);
    mem_tell();
    graph_memory_reap();
    return r;
}

/* Leaves the memory's room. The last one removes the lookup of all addresses in the room. */
static void leave_room(const struct graph_memory *m) {
    if (!m->room) return;
    if (m->room->holders == 1) placed_remove(m->room->addr, m->room->bytes);
    address_range_drop(m->room);
}

/* Takes an entry off the list that no graph or launch uses any more. */
static struct graph_memory *take_done(void) {
    for (struct graph_memory **at = &memory.all, *m; (m = *at); at = &m->next) {
        if (!is_unheld(m) || !submit_done(m->last.stream, m->last.seq)) continue;
        *at = m->next;
        leave_room(m);
        return m;
    }
    return NULL;
}

void graph_memory_reap(void) {
    struct graph_memory *m;
    if (!atom_load_relaxed(&memory.unheld)) return;
    do {
        lock_enter(&graph_lock);
        m = take_done();
        lock_leave(&graph_lock);
        if (!m) break;
        atom_sub_relaxed(&memory.unheld, 1);
        if (!m->gone && !graph_memory_on_device(m)) mem_give(m->addr);
        free(m);
    } while (true);
    mem_tell();
}

void graph_memory_release(uint32_t owner) {
    lock_enter(&graph_lock);
    for (struct graph_memory *m = memory.all; m; m = m->next) {
        if (m->owner != owner || m->gone) continue;
        if (m->live && m->holders == 0) atom_add_relaxed(&memory.unheld, 1);
        if (m->live) graph_memory_rest(m);
        m->gone = true;
    }
    lock_leave(&graph_lock);
    mem_tell();
    address_range_trim();
}
