/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph that allocates only ever gains edges, so a node that comes after another one stays after
 * it. Of the allocations that had one address, each comes after the free of the one before: only
 * the latest has to be checked.
 */
#include "shim/graph/address_choice.h"

#include <stdlib.h>

#include "shim/connection/state.h"
#include "shim/graph/address_range.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/memory/placed.h"
#include "shim/memory/vmem.h"

/* ---- predecessors ---------------------------------------------------------------------------- */

static void push_before(const struct graph_node *n, struct graph_node **stack, uint32_t *count) {
    for (uint32_t i = 0; i < n->before.count; i++) {
        struct graph_node *b = n->before.list[i].node;
        if (b->mark) continue;
        b->mark = 1;
        stack[(*count)++] = b;
    }
}

/* Marks all nodes that come before `n`, directly or not. False when out of memory. */
static bool mark_before(const struct graph_node *n) {
    struct graph_node **stack = malloc(n->graph->count * sizeof(*stack));
    struct list *pos;
    uint32_t count = 0;
    if (!stack) return false;
    list_each(pos, &n->graph->nodes) list_entry(pos, struct graph_node, link)->mark = 0;
    push_before(n, stack, &count);
    while (count) {
        const struct graph_node *b = stack[--count];
        push_before(b, stack, &count);
    }
    free(stack);
    return true;
}

/* ---- the address ----------------------------------------------------------------------------- */

/* Returns the bytes to take: large allocations get a room of their own, small ones share one. */
static uint64_t capacity_of(uint64_t bytes) {
    uint64_t granule = state.conn.device.granularity_bytes;
    uint64_t unit = bytes > granule / 2 ? granule : VMEM_ALIGN;
    return (bytes + unit - 1) / unit * unit;
}

static struct graph_memory *allocated_by(const struct list *pos) {
    const struct params *p = &list_entry(pos, struct graph_node, link)->params;
    return p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && p->memory->room ? p->memory : NULL;
}

/* Finds the smallest earlier allocation that is large enough and was freed before this node. */
static struct graph_memory *find_place(const struct graph *g, uint64_t capacity) {
    struct graph_memory *best = NULL, *m;
    struct list *pos;
    list_each(pos, &g->nodes) {
        if (!(m = allocated_by(pos)) || m->replaced || !m->freed_by || !m->freed_by->mark) continue;
        if (m->capacity < capacity || (best && m->capacity >= best->capacity)) continue;
        best = m;
    }
    return best;
}

/* Finds a room of the graph with enough bytes left. */
static struct address_range *find_room(const struct graph *g, uint64_t capacity) {
    const struct graph_memory *m;
    struct list *pos;
    list_each(pos, &g->nodes) {
        m = allocated_by(pos);
        if (m && m->room->bytes - m->room->filled >= capacity) return m->room;
    }
    return NULL;
}

static CUresult take_new(struct graph_memory *m, const struct graph *g, uint64_t capacity) {
    struct address_range *r = find_room(g, capacity);
    if (r)
        address_range_hold(r);
    else
        r = address_range_create(capacity);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult err = placed_add(r->addr + r->filled, m->bytes, m->owner);
    if (err) {
        address_range_drop(r);
        return err;
    }
    m->room = r;
    m->addr = r->addr + r->filled;
    m->capacity = capacity;
    r->filled += capacity;
    return CUDA_SUCCESS;
}

static void take_over(struct graph_memory *m, struct graph_memory *from) {
    from->replaced = true;
    m->room = from->room;
    m->addr = from->addr;
    m->capacity = from->capacity;
    address_range_hold(m->room);
}

static CUresult place(const struct graph_node *n) {
    struct graph_memory *m = n->params.memory;
    uint64_t capacity = capacity_of(m->bytes);
    if (mem_is_beyond(m->bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    struct graph_memory *from = mark_before(n) ? find_place(n->graph, capacity) : NULL;
    m->graph = n->graph->id;
    if (!from) return take_new(m, n->graph, capacity);
    take_over(m, from);
    return CUDA_SUCCESS;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Called for a node that frees: later nodes may reuse the address. */
static void leave_place(const struct graph_node *n) {
    struct graph_memory *m = n->params.memory;
    if (m->room && m->graph == n->graph->id && !m->freed_by) m->freed_by = n;
}

CUresult address_choice_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data,
                            size_t count, struct params *params, struct graph_node **out) {
    CUresult r = graph_add(g, before, data, count, params, out);
    if (r) return r;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE) leave_place(*out);
    if (params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || !graph_memory_on_device(params->memory))
        return CUDA_SUCCESS;
    r = place(*out);
    if (r) {
        (*out)->params.type =
            CU_GRAPH_NODE_TYPE_EMPTY; /* the parameters still belong to the caller */
        graph_remove(*out);
    }
    return r;
}
