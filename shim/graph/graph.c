/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates, changes and copies graphs.
 */
#include "shim/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"

/* ---- edges ----------------------------------------------------------------------------------- */

static struct graph_edge *find_edge(const struct graph_edges *edges, const struct graph_node *n) {
    for (uint32_t i = 0; i < edges->count; i++)
        if (edges->list[i].node == n) return &edges->list[i];
    return NULL;
}

static bool reserve(struct graph_edges *edges) {
    if (edges->count < edges->cap) return true;
    uint32_t cap = edges->cap ? 2 * edges->cap : 4;
    struct graph_edge *more = realloc(edges->list, cap * sizeof(*more));
    if (!more) return false;
    edges->list = more;
    edges->cap = cap;
    return true;
}

/* Removes an edge; the other edges keep their order. */
static void drop_edge(struct graph_edges *edges, const struct graph_node *n) {
    struct graph_edge *e = find_edge(edges, n);
    if (!e) return;
    edges->count--;
    memmove(e, e + 1, (size_t)(edges->list + edges->count - e) * sizeof(*e));
}

CUresult graph_link(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data) {
    static const CUgraphEdgeData plain;
    if (from->graph != to->graph || from == to || find_edge(&from->after, to))
        return CUDA_ERROR_INVALID_VALUE;
    if (!data) data = &plain;
    if (data->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) return CUDA_ERROR_INVALID_VALUE;
    if (!reserve(&from->after) || !reserve(&to->before)) return CUDA_ERROR_OUT_OF_MEMORY;
    from->after.list[from->after.count++] = (struct graph_edge){to, *data};
    to->before.list[to->before.count++] = (struct graph_edge){from, *data};
    return CUDA_SUCCESS;
}

static bool is_memory(CUgraphNodeType type) {
    return type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static bool has_memory(const struct graph *g) {
    struct list *pos;
    list_each(pos, &g->nodes) if (is_memory(list_entry(pos, struct graph_node, link)
                                                ->params.type)) return true;
    return false;
}

CUresult graph_unlink(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data) {
    const struct graph_edge *e = find_edge(&from->after, to);
    if (!e || (data && memcmp(&e->data, data, sizeof(*data)) != 0)) return CUDA_ERROR_INVALID_VALUE;
    if (has_memory(from->graph)) return CUDA_ERROR_NOT_SUPPORTED;
    drop_edge(&from->after, to);
    drop_edge(&to->before, from);
    return CUDA_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct graph *graph_inside(const struct params *p, uint32_t i) {
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH) return i ? NULL : p->child;
    if (p->type != CU_GRAPH_NODE_TYPE_CONDITIONAL || i >= p->choice.count) return NULL;
    return p->choice.bodies[i];
}

static bool is_changing(const struct params *p) {
    return p->type == CU_GRAPH_NODE_TYPE_KERNEL && p->kernel.changing;
}

bool graph_is_bound(const struct graph *g) {
    struct list *pos;
    list_each(pos, &g->nodes) {
        const struct params *p = &list_entry(pos, struct graph_node, link)->params;
        if (is_memory(p->type) || p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) return true;
        if (p->type == CU_GRAPH_NODE_TYPE_GRAPH && graph_is_bound(p->child)) return true;
        if (is_changing(p)) return true;
    }
    return false;
}

bool graph_is_claimed(const struct graph *g) {
    struct list *pos;
    list_each(pos, &g->nodes) {
        const struct params *p = &list_entry(pos, struct graph_node, link)->params;
        if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && p->memory->claimed) return true;
        if (is_changing(p) && p->kernel.changing->shared->claimed) return true;
        const struct graph *in;
        for (uint32_t i = 0; (in = graph_inside(p, i)); i++)
            if (graph_is_claimed(in)) return true;
    }
    return false;
}

void graph_claim(const struct graph *g, bool claimed) {
    struct list *pos;
    list_each(pos, &g->nodes) {
        const struct params *p = &list_entry(pos, struct graph_node, link)->params;
        if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) p->memory->claimed = claimed;
        if (is_changing(p)) p->kernel.changing->shared->claimed = claimed;
        const struct graph *in;
        for (uint32_t i = 0; (in = graph_inside(p, i)); i++)
            graph_claim(in, claimed);
    }
}

/* ---- parameters of nodes --------------------------------------------------------------------- */

static void free_bodies(struct params_choice *c) {
    for (uint32_t i = 0; c->bodies && i < c->count; i++)
        graph_free(c->bodies[i]);
    free(c->bodies);
    free(c->handles);
}

CUresult graph_make_bodies(struct params_choice *c, bool visible) {
    c->bodies = calloc(c->count, sizeof(struct graph *));
    c->handles = calloc(c->count, sizeof(*c->handles));
    bool made = c->bodies && c->handles;
    for (uint32_t i = 0; made && i < c->count; i++) {
        c->bodies[i] = graph_create(visible);
        made = c->bodies[i] != NULL;
        if (!made) break;
        c->bodies[i]->owned = true;
        c->handles[i] = c->bodies[i]->handle;
    }
    if (made) return CUDA_SUCCESS;
    free_bodies(c);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult clone_bodies(const struct params_choice *from, bool visible,
                             struct params_choice *to) {
    to->bodies = calloc(from->count, sizeof(struct graph *));
    to->handles = calloc(from->count, sizeof(*to->handles));
    CUresult r = to->bodies && to->handles ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; !r && i < from->count; i++) {
        r = graph_clone(from->bodies[i], visible, &to->bodies[i]);
        if (!r) to->bodies[i]->owned = true;
        if (!r) to->handles[i] = to->bodies[i]->handle;
    }
    if (r) free_bodies(to);
    return r;
}

CUresult graph_clone_params(const struct params *from, bool visible, struct params *to) {
    CUresult r = CUDA_SUCCESS;
    *to = *from;
    if (from->type == CU_GRAPH_NODE_TYPE_KERNEL)
        r = params_clone_kernel(&to->kernel, &from->kernel);
    else if (from->type == CU_GRAPH_NODE_TYPE_GRAPH)
        r = graph_clone(from->child, visible, &to->child);
    else if (from->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        r = clone_bodies(&from->choice, visible, &to->choice);
    else if (from->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        r = params_clone_values(&to->values, &from->values);
    else if (is_memory(from->type))
        graph_memory_hold(to->memory);
    if (r) to->type = CU_GRAPH_NODE_TYPE_EMPTY;
    return r;
}

void graph_free_params(struct params *p) {
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) params_free_kernel(&p->kernel);
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH && !p->borrowed) graph_free(p->child);
    if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) free_bodies(&p->choice);
    if (p->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) free(p->values.list);
    if (is_memory(p->type)) graph_memory_drop(p->memory);
    p->type = CU_GRAPH_NODE_TYPE_EMPTY;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void free_node(struct graph_node *n) {
    for (uint32_t i = 0; i < n->before.count; i++)
        drop_edge(&n->before.list[i].node->after, n);
    for (uint32_t i = 0; i < n->after.count; i++)
        drop_edge(&n->after.list[i].node->before, n);
    if (n->handle) registry_remove(HANDLE_NODE, n->handle);
    list_remove(&n->link);
    n->graph->count--;
    graph_free_params(&n->params);
    free(n->before.list);
    free(n->after.list);
    free(n);
}

static struct graph_node *new_node(struct graph *g) {
    struct graph_node *n = calloc(1, sizeof(*n));
    if (!n) return NULL;
    n->graph = g;
    n->params.type = CU_GRAPH_NODE_TYPE_EMPTY;
    if (g->handle) n->handle = registry_add(HANDLE_NODE, n);
    if (g->handle && !n->handle) {
        free(n);
        return NULL;
    }
    n->id = g->next_node++;
    list_append(&g->nodes, &n->link);
    g->count++;
    return n;
}

struct graph_node *graph_find_node(CUgraphNode handle) {
    return registry_find(HANDLE_NODE, handle);
}

static CUresult link_all(struct graph_node *n, const CUgraphNode *before,
                         const CUgraphEdgeData *data, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct graph_node *from = graph_find_node(before[i]);
        CUresult r = from ? graph_link(from, n, data ? &data[i] : NULL) : CUDA_ERROR_INVALID_VALUE;
        if (r) return r;
    }
    return CUDA_SUCCESS;
}

CUresult graph_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data,
                   size_t count, struct params *params, struct graph_node **out) {
    if (count && !before) return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
        !condition_has(g->conditions, params->choice.handle))
        return CUDA_ERROR_INVALID_VALUE;
    struct graph_node *n = new_node(g);
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = link_all(n, before, data, count);
    if (r) {
        free_node(n);
        return r;
    }
    n->params = *params;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        n->params.borrowed = false;
        n->params.child->owned = true;
    }
    *out = n;
    return CUDA_SUCCESS;
}

void graph_remove(struct graph_node *n) {
    free_node(n);
}

CUresult graph_change(struct graph_node *n, struct params *params) {
    if (n->params.type != params->type || params->type == CU_GRAPH_NODE_TYPE_GRAPH ||
        params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL || is_memory(params->type))
        return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        CUresult r = params_keep_changing(&params->kernel, &n->params.kernel);
        if (r) return r;
        params_copy_attributes(&params->kernel, &n->params.kernel);
    }
    graph_free_params(&n->params);
    n->params = *params;
    return CUDA_SUCCESS;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

struct graph *graph_create(bool visible) {
    static uint32_t made;
    struct graph *g = calloc(1, sizeof(*g));
    if (!g) return NULL;
    g->id = ++made;
    list_init(&g->nodes);
    user_objects_init(&g->objects);
    if (visible) g->handle = registry_add(HANDLE_GRAPH, g);
    if (!visible || g->handle) return g;
    free(g);
    return NULL;
}

void graph_free(struct graph *g) {
    struct list *pos, *next;
    if (!g) return;
    list_each_safe(pos, next, &g->nodes) {
        struct graph_node *n = list_entry(pos, struct graph_node, link);
        n->before.count = n->after.count = 0; /* all nodes are freed, so the edges need no update */
        free_node(n);
    }
    if (g->handle) registry_remove(HANDLE_GRAPH, g->handle);
    user_objects_finish(&g->objects);
    condition_free(g->conditions);
    free(g);
}

struct graph *graph_find(CUgraph handle) {
    return registry_find(HANDLE_GRAPH, handle);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static CUresult clone_nodes(const struct graph *from, struct graph *to, struct graph_node **made) {
    struct list *pos;
    uint32_t i = 0;
    list_each(pos, &from->nodes) {
        struct graph_node *n = list_entry(pos, struct graph_node, link), *copy = new_node(to);
        if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = graph_clone_params(&n->params, to->handle != NULL, &copy->params);
        if (r) return r;
        if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH) copy->params.child->owned = true;
        copy->origin = n->handle;
        n->mark = i;
        made[i++] = copy;
    }
    return CUDA_SUCCESS;
}

static CUresult clone_edges(const struct graph *from, struct graph_node **made) {
    struct list *pos;
    list_each(pos, &from->nodes) {
        const struct graph_node *n = list_entry(pos, struct graph_node, link);
        for (uint32_t i = 0; i < n->before.count; i++) {
            const struct graph_edge *e = &n->before.list[i];
            CUresult r = graph_link(made[e->node->mark], made[n->mark], &e->data);
            if (r) return r;
        }
    }
    return CUDA_SUCCESS;
}

CUresult graph_clone(const struct graph *from, bool visible, struct graph **out) {
    struct graph *to = graph_create(visible);
    struct graph_node **made = malloc((from->count + 1u) * sizeof(struct graph_node *));
    CUresult r = to && made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) to->origin = from->handle;
    if (!r) r = clone_nodes(from, to, made);
    if (!r) r = clone_edges(from, made);
    if (!r) r = user_objects_share(&to->objects, &from->objects);
    if (!r) r = condition_share(from->conditions, &to->conditions);
    free(made);
    if (r)
        graph_free(to);
    else
        *out = to;
    return r;
}

static struct graph_node *find_inside(const struct params *p, CUgraphNode origin) {
    struct graph_node *found = NULL;
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH) return graph_find_copy(p->child, origin);
    if (p->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) return NULL;
    for (uint32_t i = 0; !found && i < p->choice.count; i++)
        found = graph_find_copy(p->choice.bodies[i], origin);
    return found;
}

struct graph_node *graph_find_copy(const struct graph *g, CUgraphNode origin) {
    struct list *pos;
    list_each(pos, &g->nodes) {
        struct graph_node *n = list_entry(pos, struct graph_node, link);
        struct graph_node *found = n->origin == origin ? n : find_inside(&n->params, origin);
        if (found) return found;
    }
    return NULL;
}

/* ---- order ----------------------------------------------------------------------------------- */

CUresult graph_order(struct graph *g, struct graph_node ***out) {
    struct graph_node **order = malloc((g->count + 1u) * sizeof(struct graph_node *));
    struct list *pos;
    uint32_t ready = 0;
    if (!order) return CUDA_ERROR_OUT_OF_MEMORY;
    list_each(pos, &g->nodes) {
        struct graph_node *n = list_entry(pos, struct graph_node, link);
        n->mark = n->before.count;
        if (n->mark == 0) order[ready++] = n;
    }
    for (uint32_t i = 0; i < ready; i++)
        for (uint32_t k = 0; k < order[i]->after.count; k++) {
            struct graph_node *n = order[i]->after.list[k].node;
            if (--n->mark == 0) order[ready++] = n;
        }
    if (ready == g->count) {
        *out = order;
        return CUDA_SUCCESS;
    }
    free(order);
    return CUDA_ERROR_INVALID_VALUE;
}
