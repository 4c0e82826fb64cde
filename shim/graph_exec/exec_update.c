/* SPDX-License-Identifier: Apache-2.0
 *
 * Updates an executable graph with the parameters of a graph of the same shape.
 */
#include "shim/graph_exec/exec_update.h"

#include <stdlib.h>

/* A node of the executable graph, and the node whose parameters it gets. */
struct pair {
    struct graph_node *old;
    const struct graph_node *new;
    struct params params;
};

/* A pair of graphs, of which the old one gets the new one's conditions. */
struct words {
    struct graph *old;
    const struct graph *new;
    struct condition *list;
};

struct pairing {
    struct pair *pairs;
    struct words *words;
    uint32_t pair_count, word_count;
    CUgraphExecUpdateResultInfo *info;
};

static CUgraphExecUpdateResult fail(CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult why,
                                    const struct graph_node *n, const struct graph_node *from) {
    info->result = why;
    info->errorNode = n ? n->handle : NULL;
    info->errorFromNode = from ? from->handle : NULL;
    return why;
}

/* True when both nodes depend on the nodes of the same numbers. Nodes are numbered in their order.
 */
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

/* Counts the nodes and graphs inside, at any depth. */
static void count_inside(const struct graph *g, uint32_t *nodes, uint32_t *graphs) {
    struct list *pos;
    ++*graphs;
    list_each(pos, &g->nodes) {
        const struct params *p = &list_entry(pos, struct graph_node, link)->params;
        ++*nodes;
        if (p->type == CU_GRAPH_NODE_TYPE_GRAPH) count_inside(p->child, nodes, graphs);
        if (p->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) continue;
        for (uint32_t i = 0; i < p->choice.count; i++)
            count_inside(p->choice.bodies[i], nodes, graphs);
    }
}

static CUgraphExecUpdateResult match(struct pairing *p, struct graph *old, const struct graph *new);

static CUgraphExecUpdateResult match_bodies(struct pairing *p, const struct params_choice *old,
                                            const struct graph_node *n) {
    const struct params_choice *new = &n->params.choice;
    CUgraphExecUpdateResult r = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    if (old->type != new->type || old->count != new->count)
        return fail(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, n, NULL);
    for (uint32_t i = 0; !r && i < old->count; i++)
        r = match(p, old->bodies[i], new->bodies[i]);
    return r;
}

static CUgraphExecUpdateResult match_nodes(struct pairing *p, struct graph_node *old,
                                           const struct graph_node *new) {
    CUgraphNodeType type = new->params.type;
    if (old->params.type != type)
        return fail(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, new, NULL);
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return fail(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, new, NULL);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL &&
        (old->params.kernel.changing || new->params.kernel.changing))
        return fail(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, new, NULL);
    if (!same_edges(old, new))
        return fail(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new,
                    new->before.count ? new->before.list[0].node : NULL);
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) return match(p, old->params.child, new->params.child);
    p->pairs[p->pair_count++] = (struct pair){.old = old, .new = new};
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) return match_bodies(p, &old->params.choice, new);
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* Finds the pairs, including those in child graphs and bodies. */
static CUgraphExecUpdateResult match(struct pairing *p, struct graph *old,
                                     const struct graph *new) {
    const struct list *a = &old->nodes, *b = &new->nodes;
    CUgraphExecUpdateResult r = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    if (old->count != new->count)
        return fail(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    p->words[p->word_count++] = (struct words){.old = old, .new = new};
    number_nodes(old);
    number_nodes(new);
    for (uint32_t i = 0; !r && i < old->count; i++) {
        struct graph_node *o = list_entry(a->next, struct graph_node, link);
        const struct graph_node *n = list_entry(b->next, struct graph_node, link);
        r = match_nodes(p, o, n);
        a = &o->link;
        b = &n->link;
    }
    return r;
}

/* Clones the new parameters. A conditional node keeps its bodies. */
static CUresult clone_pair(struct pair *p) {
    const struct params *from = &p->new->params;
    if (from->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return graph_clone_params(from, false, &p->params);
    p->params = p->old->params;
    p->params.choice.handle = from->choice.handle;
    return CUDA_SUCCESS;
}

static void drop_pair(struct pair *p) {
    if (p->params.type != CU_GRAPH_NODE_TYPE_CONDITIONAL) graph_free_params(&p->params);
}

static void swap(struct pairing *p) {
    for (uint32_t i = 0; i < p->pair_count; i++) {
        struct params old = p->pairs[i].old->params;
        p->pairs[i].old->params = p->pairs[i].params;
        p->pairs[i].params = old;
    }
    for (uint32_t i = 0; i < p->word_count; i++) {
        struct condition *old = p->words[i].old->conditions;
        p->words[i].old->conditions = p->words[i].list;
        p->words[i].list = old;
    }
}

static CUresult replace(struct pairing *p) {
    CUresult r = CUDA_SUCCESS;
    uint32_t made = 0;
    for (; !r && made < p->pair_count; made += !r)
        r = clone_pair(&p->pairs[made]);
    for (uint32_t i = 0; !r && i < p->word_count; i++)
        r = condition_share(p->words[i].new->conditions, &p->words[i].list);
    if (!r) swap(p);
    for (uint32_t i = 0; i < made; i++)
        drop_pair(&p->pairs[i]);
    for (uint32_t i = 0; i < p->word_count; i++)
        condition_free(p->words[i].list);
    return r;
}

CUresult exec_update(struct exec *e, struct graph *part, const struct graph *from,
                     CUgraphExecUpdateResultInfo *info) {
    uint32_t nodes = 0, graphs = 0;
    count_inside(part, &nodes, &graphs);
    struct pairing p = {.pairs = malloc((nodes + 1u) * sizeof(*p.pairs)),
                        .words = malloc(graphs * sizeof(*p.words)),
                        .info = info};
    CUresult r = p.pairs && p.words ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    if (!r && match(&p, part, from)) r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    if (!r) r = replace(&p);
    free(p.pairs);
    free(p.words);
    if (!r) exec_changed(e);
    return r;
}
