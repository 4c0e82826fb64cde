/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of all of it.
 */
#include "shim/graph/graph_memory.h"

#include <stdlib.h>

#include "common/atomics.h"
#include "shim/connection/submit.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"

static struct {
    struct graph_memory *all;
    uint64_t counts[CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH + 1];
    _Atomic uint32_t unheld; /* how many nobody holds and that are not live */
} memory;

static void count(CUgraphMem_attribute current, CUgraphMem_attribute high,
                  const struct graph_memory *m, bool more) {
    uint64_t *c = memory.counts;
    if (!graph_memory_on_device(m)) return;
    c[current] = more ? c[current] + m->bytes : c[current] - m->bytes;
    if (c[current] > c[high]) c[high] = c[current];
}

static void count_used(const struct graph_memory *m, bool more) {
    count(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, m, more);
}

static void count_reserved(const struct graph_memory *m, bool more) {
    count(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, m, more);
}

static CUresult take(struct graph_memory *m) {
    const struct mem_place place = {.window = MEM_EPHEMERAL};
    return graph_memory_on_device(m)
               ? mem_take_device(&place, MEM_GRAPH, m->owner, 0, m->bytes, &m->addr)
               : mem_take(MEM_GRAPH, m->owner, 0, m->bytes, &m->addr);
}

CUresult graph_memory_create(uint32_t owner, const CUmemLocation *place, uint64_t bytes,
                             struct graph_memory **out) {
    struct graph_memory *m = calloc(1, sizeof(*m));
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct graph_memory){.bytes = bytes, .place = *place, .owner = owner, .holders = 1};
    CUresult r = take(m);
    if (r) {
        free(m);
        return r;
    }
    lock_enter(&graph_lock);
    m->next = memory.all;
    memory.all = m;
    count_reserved(m, true);
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

void graph_memory_rest(const struct graph_memory *m) {
    if (graph_memory_on_device(m)) mem_rest(m->addr, m->bytes);
}

void graph_memory_set(struct graph_memory *m, bool live) {
    if (m->live == live) return;
    m->live = live;
    count_used(m, live);
}

static CUresult end(uint64_t addr, uint32_t stream, uint64_t seq) {
    struct graph_memory *m = graph_memory_find(addr);
    if (!m || !m->live || m->gone) return CUDA_ERROR_INVALID_VALUE;
    graph_memory_set(m, false);
    m->last.stream = stream;
    m->last.seq = seq;
    graph_memory_rest(m);
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

uint64_t graph_memory_count(CUgraphMem_attribute attr) {
    return memory.counts[attr];
}

void graph_memory_reset(CUgraphMem_attribute attr) {
    memory.counts[attr] = memory.counts[attr - 1];
}

/* Takes one off the list that nothing uses any more. */
static struct graph_memory *take_done(void) {
    for (struct graph_memory **at = &memory.all, *m; (m = *at); at = &m->next) {
        if (!is_unheld(m) || !submit_done(m->last.stream, m->last.seq)) continue;
        *at = m->next;
        count_reserved(m, false);
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
        if (!m->gone) mem_give(m->addr);
        free(m);
    } while (true);
}

void graph_memory_release(uint32_t owner) {
    lock_enter(&graph_lock);
    for (struct graph_memory *m = memory.all; m; m = m->next) {
        if (m->owner != owner || m->gone) continue;
        if (m->live) graph_memory_rest(m);
        if (m->live && m->holders == 0) atom_add_relaxed(&memory.unheld, 1);
        graph_memory_set(m, false);
        m->gone = true;
    }
    lock_leave(&graph_lock);
    mem_tell();
}
