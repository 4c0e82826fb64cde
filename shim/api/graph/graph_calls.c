/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about whole graphs, and about their edges.
 */
#include <stdio.h>
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/graph/dot.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"

/* Every call about a graph enters here and takes graph_lock. After CUDA_SUCCESS the call ends with
 * leave. */
static CUresult enter(void) {
    CUresult r = ctx_enter_device();
    if (!r) lock_enter(&graph_lock);
    return r;
}

static CUresult leave(CUresult r) {
    lock_leave(&graph_lock);
    return r;
}

static CUresult enter_graph(CUgraph handle, struct graph **g) {
    CUresult r = enter();
    if (r) return r;
    *g = graph_find(handle);
    return *g ? CUDA_SUCCESS : leave(CUDA_ERROR_INVALID_VALUE);
}

static CUresult enter_node(CUgraphNode handle, struct graph_node **n) {
    CUresult r = enter();
    if (r) return r;
    *n = graph_find_node(handle);
    return *n ? CUDA_SUCCESS : leave(CUDA_ERROR_INVALID_VALUE);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags) {
    CUresult r = enter();
    if (r) return r;
    if (!phGraph || flags) return leave(CUDA_ERROR_INVALID_VALUE);
    const struct graph *g = graph_create(true);
    if (g) *phGraph = g->handle;
    return leave(g ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuGraphDestroy(CUgraph hGraph) {
    struct graph *g;
    CUresult r = enter_graph(hGraph, &g);
    if (r) return r;
    if (g->owned) return leave(CUDA_ERROR_INVALID_VALUE);
    if (g->capturing) return leave(CUDA_ERROR_ILLEGAL_STATE);
    graph_free(g);
    leave(CUDA_SUCCESS);
    user_object_destroy_unheld();
    graph_memory_reap();
    return CUDA_SUCCESS;
}

/* Refuses graphs that allocate or free memory, or have conditional nodes or nodes that kernels
 * change, for the calls that do not support them. */
static CUresult check_plain(const struct graph *g) {
    return graph_is_bound(g) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph) {
    struct graph *g, *copy = NULL;
    CUresult r = enter_graph(originalGraph, &g);
    if (r) return r;
    if (!phGraphClone) return leave(CUDA_ERROR_INVALID_VALUE);
    r = check_plain(g);
    if (!r) r = graph_clone(g, true, &copy);
    if (!r) *phGraphClone = copy->handle;
    return leave(r);
}

CUresult cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                CUgraph hClonedGraph) {
    struct graph *g;
    CUresult r = enter_graph(hClonedGraph, &g);
    if (r) return r;
    const struct graph_node *n = phNode ? graph_find_copy(g, hOriginalNode) : NULL;
    if (n) *phNode = n->handle;
    return leave(n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
    struct graph_node *n;
    CUresult r = enter_node(hNode, &n);
    if (r) return r;
    r = check_plain(n->graph);
    if (r) return leave(r);
    graph_remove(n);
    leave(CUDA_SUCCESS);
    user_object_destroy_unheld();
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type) {
    struct graph_node *n;
    CUresult r = enter_node(hNode, &n);
    if (r) return r;
    if (!type) return leave(CUDA_ERROR_INVALID_VALUE);
    *type = n->params.type;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetContainingGraph(CUgraphNode hNode, CUgraph *phGraph) {
    struct graph_node *n;
    CUresult r = enter_node(hNode, &n);
    if (r) return r;
    if (!phGraph) return leave(CUDA_ERROR_INVALID_VALUE);
    *phGraph = n->graph->handle;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph) {
    struct graph_node *n;
    CUresult r = enter_node(hNode, &n);
    if (r) return r;
    if (!phGraph || n->params.type != CU_GRAPH_NODE_TYPE_GRAPH)
        return leave(CUDA_ERROR_INVALID_VALUE);
    *phGraph = n->params.child->handle;
    return leave(CUDA_SUCCESS);
}

/* ---- numbers --------------------------------------------------------------------------------- */

CUresult cuGraphGetId(CUgraph hGraph, unsigned int *graphId) {
    struct graph *g;
    CUresult r = enter_graph(hGraph, &g);
    if (r) return r;
    if (!graphId) return leave(CUDA_ERROR_INVALID_VALUE);
    *graphId = g->id;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetLocalId(CUgraphNode hNode, unsigned int *nodeId) {
    struct graph_node *n;
    CUresult r = enter_node(hNode, &n);
    if (r) return r;
    if (!nodeId) return leave(CUDA_ERROR_INVALID_VALUE);
    *nodeId = n->id;
    return leave(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetToolsId(CUgraphNode hNode, unsigned long long *toolsNodeId) {
    struct graph_node *n;
    CUresult r = enter_node(hNode, &n);
    if (r) return r;
    if (!toolsNodeId) return leave(CUDA_ERROR_INVALID_VALUE);
    *toolsNodeId = (unsigned long long)n->graph->id << 32 | n->id;
    return leave(CUDA_SUCCESS);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* The flag for the runtime's names of types, which the runtime adds to every request. */
#define DOT_RUNTIME_TYPES (1u << 1)

/* Any other flag asks for more detail about each node. */
CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags) {
    struct graph *g;
    CUresult r = enter_graph(hGraph, &g);
    if (r) return r;
    FILE *out = path ? fopen(path, "we") : NULL;
    if (out) dot_write(out, g, (flags & ~DOT_RUNTIME_TYPES) != 0);
    bool good = out && !ferror(out);
    if (out && fclose(out)) good = false;
    return leave(good ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* A list that goes into the program's arrays, which may be NULL and hold `room` items. Where fewer
 * items come, the rest of the arrays is set to NULL. */
struct listing {
    CUgraphNode *first, *second;
    CUgraphEdgeData *data;
    size_t room, count;
    bool lossy; /* an item was dropped because the caller passed no array for it */
};

static void list_item(struct listing *l, CUgraphNode first, CUgraphNode second,
                      const CUgraphEdgeData *data) {
    static const CUgraphEdgeData plain;
    size_t i = l->count++;
    if (data && !l->data && memcmp(data, &plain, sizeof(plain)) != 0) l->lossy = true;
    if (i >= l->room) return;
    if (l->first) l->first[i] = first;
    if (l->second) l->second[i] = second;
    if (l->data && data) l->data[i] = *data;
}

static CUresult list_end(struct listing *l, size_t *count) {
    for (size_t i = l->count; i < l->room; i++) {
        if (l->first) l->first[i] = NULL;
        if (l->second) l->second[i] = NULL;
    }
    if (l->lossy && (l->first || l->second)) return CUDA_ERROR_LOSSY_QUERY;
    *count = l->first || l->second ? (l->count < l->room ? l->count : l->room) : l->count;
    return CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph hGraph, CUgraphNode *nodes, size_t *count, bool roots) {
    struct graph *g;
    struct list *pos;
    CUresult r = enter_graph(hGraph, &g);
    if (r) return r;
    if (!count) return leave(CUDA_ERROR_INVALID_VALUE);
    struct listing l = {.first = nodes, .room = nodes ? *count : 0};
    list_each(pos, &g->nodes) {
        const struct graph_node *n = list_entry(pos, struct graph_node, link);
        if (!roots || n->before.count == 0) list_item(&l, n->handle, NULL, NULL);
    }
    return leave(list_end(&l, count));
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes) {
    return list_nodes(hGraph, nodes, numNodes, false);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes) {
    return list_nodes(hGraph, rootNodes, numRootNodes, true);
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edgeData, size_t *numEdges) {
    struct graph *g;
    struct list *pos;
    CUresult r = enter_graph(hGraph, &g);
    if (r) return r;
    if (!numEdges || !from != !to) return leave(CUDA_ERROR_INVALID_VALUE);
    struct listing l = {from, to, edgeData, from ? *numEdges : 0, 0, false};
    list_each(pos, &g->nodes) {
        const struct graph_node *n = list_entry(pos, struct graph_node, link);
        for (uint32_t i = 0; i < n->after.count; i++)
            list_item(&l, n->handle, n->after.list[i].node->handle, &n->after.list[i].data);
    }
    return leave(list_end(&l, numEdges));
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges) {
    return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

static CUresult list_edges(CUgraphNode hNode, bool before, CUgraphNode *nodes,
                           CUgraphEdgeData *data, size_t *count) {
    struct graph_node *n;
    CUresult r = enter_node(hNode, &n);
    if (r) return r;
    if (!count) return leave(CUDA_ERROR_INVALID_VALUE);
    const struct graph_edges *edges = before ? &n->before : &n->after;
    struct listing l = {nodes, NULL, data, nodes ? *count : 0, 0, false};
    for (uint32_t i = 0; i < edges->count; i++)
        list_item(&l, edges->list[i].node->handle, NULL, &edges->list[i].data);
    return leave(list_end(&l, count));
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                       CUgraphEdgeData *edgeData, size_t *numDependencies) {
    return list_edges(hNode, true, dependencies, edgeData, numDependencies);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                    size_t *numDependencies) {
    return list_edges(hNode, true, dependencies, NULL, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                         CUgraphEdgeData *edgeData, size_t *numDependentNodes) {
    return list_edges(hNode, false, dependentNodes, edgeData, numDependentNodes);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                      size_t *numDependentNodes) {
    return list_edges(hNode, false, dependentNodes, NULL, numDependentNodes);
}

/* ---- edges ----------------------------------------------------------------------------------- */

typedef CUresult change_edge(struct graph_node *from, struct graph_node *to,
                             const CUgraphEdgeData *data);

static CUresult change_edges(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *data, size_t count, change_edge *change) {
    struct graph *g;
    CUresult r = enter_graph(hGraph, &g);
    if (r) return r;
    if (count && (!from || !to)) return leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; !r && i < count; i++) {
        struct graph_node *a = graph_find_node(from[i]), *b = graph_find_node(to[i]);
        bool inside = a && b && a->graph == g && b->graph == g;
        r = inside ? change(a, b, data ? &data[i] : NULL) : CUDA_ERROR_INVALID_VALUE;
    }
    return leave(r);
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edgeData, size_t numDependencies) {
    return change_edges(hGraph, from, to, edgeData, numDependencies, graph_link);
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t numDependencies) {
    return change_edges(hGraph, from, to, NULL, numDependencies, graph_link);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                      const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                      size_t numDependencies) {
    return change_edges(hGraph, from, to, edgeData, numDependencies, graph_unlink);
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t numDependencies) {
    return change_edges(hGraph, from, to, NULL, numDependencies, graph_unlink);
}
