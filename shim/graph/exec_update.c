/* SPDX-License-Identifier: Apache-2.0
 *
 * An executable graph takes over the parameters of a graph of the same shape.
 */
#include <stdlib.h>

#include "shim/graph/exec.h"

/* A node of the executable graph, and the one that it is to become. */
struct pair {
    struct graph_node *old;
    const struct graph_node *new;
    struct params params;
};

static CUgraphExecUpdateResult fail(CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult why,
                                    const struct graph_node *n, const struct graph_node *from) {
    info->result = why;
    info->errorNode = n ? n->handle : NULL;
    info->errorFromNode = from ? from->handle : NULL;
    return why;
}

static const struct graph_node *next_of(const struct graph *g, const struct list *pos) {
    return pos->next == &g->nodes ? NULL : list_entry(pos->next, struct graph_node, link);
}

/* Nodes are numbered in their order, and depend on the same numbers. */
static bool same_edges(const struct graph_node *a, const struct graph_node *b) {
    if (a->before.count != b->before.count) return false;
    for (uint32_t i = 0; i < a->before.count; i++) {
        uint32_t k = 0;
        while (k < b->before.count && b->before.list[k].node->mark != a->before.list[i].node->mark)
            k++;
        if (k == b->before.count) return false;
    }
    return true;
}

static void number_nodes(const struct graph *g) {
    struct list *pos;
    uint32_t i = 0;
    list_each(pos, &g->nodes) list_entry(pos, struct graph_node, link)->mark = i++;
}

static uint32_t count_nodes(const struct graph *g) {
    struct list *pos;
    uint32_t count = 0;
    list_each(pos, &g->nodes) {
        const struct graph_node *n = list_entry(pos, struct graph_node, link);
        count +=
            1 + (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH ? count_nodes(n->params.child) : 0);
    }
    return count;
}

/* What the pairs are, those of child graphs among them. */
static CUgraphExecUpdateResult match(const struct graph *old, const struct graph *new,
                                     struct pair *pairs, uint32_t *count,
                                     CUgraphExecUpdateResultInfo *info) {
    const struct list *a = &old->nodes, *b = &new->nodes;
    if (old->count != new->count)
        return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    number_nodes(old);
    number_nodes(new);
    for (uint32_t i = 0; i < old->count; i++) {
        struct graph_node *o = (struct graph_node *)next_of(old, a);
        const struct graph_node *n = next_of(new, b);
        if (o->params.type != n->params.type)
            return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, n, NULL);
        if (n->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
            n->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
            n->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
            return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, n, NULL);
        if (!same_edges(o, n))
            return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, n,
                        n->before.count ? n->before.list[0].node : NULL);
        a = &o->link;
        b = &n->link;
        if (o->params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
            CUgraphExecUpdateResult result =
                match(o->params.child, n->params.child, pairs, count, info);
            if (result) return result;
        } else {
            pairs[(*count)++] = (struct pair){.old = o, .new = n};
        }
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult replace(struct pair *pairs, uint32_t count) {
    CUresult r = CUDA_SUCCESS;
    uint32_t made = 0;
    for (; !r && made < count; made += !r)
        r = graph_clone_params(&pairs[made].new->params, false, &pairs[made].params);
    for (uint32_t i = 0; i < made; i++) {
        if (!r) {
            struct params old = pairs[i].old->params;
            pairs[i].old->params = pairs[i].params;
            pairs[i].params = old;
        }
        graph_free_params(&pairs[i].params);
    }
    return r;
}

CUresult exec_update(struct exec *e, const struct graph *part, const struct graph *from,
                     CUgraphExecUpdateResultInfo *info) {
    struct pair *pairs = malloc((count_nodes(part) + 1u) * sizeof(*pairs));
    uint32_t count = 0;
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    if (!pairs) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = match(part, from, pairs, &count, info) ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
                                                        : replace(pairs, count);
    free(pairs);
    if (!r) exec_changed(e);
    return r;
}
