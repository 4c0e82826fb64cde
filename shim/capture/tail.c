/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores the nodes and the edge data in two parallel arrays, as the driver's calls pass them.
 */
#include "shim/capture/tail.h"

#include <stdlib.h>
#include <string.h>

#include "shim/graph/graph.h"

void tail_free(struct tail *t) {
    free(t->list);
    free(t->data);
    *t = (struct tail){0};
}

static bool is_plain(const CUgraphEdgeData *data) {
    static const CUgraphEdgeData plain;
    return memcmp(data, &plain, sizeof(plain)) == 0;
}

/* True when the tail has the node already. Of two edges from one node the default edge stays,
 * because it orders more. */
static bool has_node(struct tail *t, CUgraphNode node, const CUgraphEdgeData *data) {
    for (size_t i = 0; i < t->count; i++) {
        if (t->list[i] != node) continue;
        if (!data || is_plain(data)) t->data[i] = (CUgraphEdgeData){0};
        return true;
    }
    return false;
}

CUresult tail_add(struct tail *t, const CUgraphNode *list, const CUgraphEdgeData *data,
                  size_t count) {
    CUgraphNode *more = realloc(t->list, (t->count + count + 1) * sizeof(*more));
    if (more) t->list = more;
    CUgraphEdgeData *edges = realloc(t->data, (t->count + count + 1) * sizeof(*edges));
    if (edges) t->data = edges;
    if (!more || !edges) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (has_node(t, list[i], data ? &data[i] : NULL)) continue;
        t->data[t->count] = data ? data[i] : (CUgraphEdgeData){0};
        t->list[t->count++] = list[i];
    }
    return CUDA_SUCCESS;
}

CUresult tail_wait(struct tail *t, const CUgraphNode *list, CUgraphEdgeData data, size_t count) {
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < count; i++)
        r = tail_add(t, &list[i], &data, 1);
    return r;
}

void tail_make_plain(struct tail *t) {
    for (size_t i = 0; i < t->count; i++)
        if (t->data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
            t->data[i] = (CUgraphEdgeData){0};
}

void tail_tidy(struct tail *t) {
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (!graph_find_node(t->list[i])) continue;
        t->list[kept] = t->list[i];
        t->data[kept++] = t->data[i];
    }
    t->count = kept;
}

void tail_begin_early(struct tail *t) {
    for (size_t i = 0; i < t->count; i++) {
        const struct graph_node *n = graph_find_node(t->list[i]);
        if (n && n->params.type == CU_GRAPH_NODE_TYPE_KERNEL && is_plain(&t->data[i]))
            t->data[i] = (CUgraphEdgeData){.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                           .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    }
}

bool tail_is_plain(const struct tail *t) {
    for (size_t i = 0; i < t->count; i++)
        if (!is_plain(&t->data[i])) return false;
    return true;
}
