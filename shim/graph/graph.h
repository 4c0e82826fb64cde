/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: nodes, and edges between them that say which comes before which. All of it with
 * graph_lock (registry.h) held.
 */
#ifndef SHIM_GRAPH_GRAPH_H
#define SHIM_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "proto/cuda/cuda_abi.h"
#include "shim/graph/condition.h"
#include "shim/graph/params.h"
#include "shim/graph/user_object.h"

struct graph_edge {
    struct graph_node *node;
    CUgraphEdgeData data;
};

struct graph_edges {
    struct graph_edge *list;
    uint32_t count, cap;
};

struct graph_node {
    CUgraphNode handle; /* NULL in a graph that no program sees */
    uint32_t id;        /* no other node of the graph ever has it */
    struct graph *graph;
    struct list link;   /* graph.nodes, in the order in which they were added */
    CUgraphNode origin; /* of which it is a copy */
    bool disabled;      /* in an executable graph: does nothing */
    uint32_t mark;      /* of whoever walks the graph */
    struct graph_edges before, after;
    struct params params;
};

struct graph {
    CUgraph handle; /* NULL: no program sees it */
    CUgraph origin;
    uint32_t id; /* no other graph of the process ever has it */
    uint32_t next_node;
    struct list nodes;
    uint32_t count;
    bool owned;     /* by a node: the program cannot destroy it */
    bool capturing; /* nor while it is captured to */
    struct user_objects objects;
    struct condition *conditions;
};

/* What a node does, a second time: CUDA_ERROR_OUT_OF_MEMORY. `visible`: programs can have handles
 * of the nodes of a child graph in it. What is not given to a node is freed. */
CUresult graph_clone_params(const struct params *from, bool visible, struct params *to);
void graph_free_params(struct params *p);

/* NULL when there is no memory. */
struct graph *graph_create(bool visible);
void graph_free(struct graph *g); /* accepts NULL */
struct graph *graph_find(CUgraph handle);
CUresult graph_clone(const struct graph *from, bool visible, struct graph **out);

struct graph_node *graph_find_node(CUgraphNode handle);
/* The copy of that node, in the graph or in a child of it; NULL: there is none. */
struct graph_node *graph_find_copy(const struct graph *g, CUgraphNode origin);

/* A node behind `count` others of its graph; takes the params over unless it fails. `data`: of the
 * edges, NULL: all default. */
CUresult graph_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data,
                   size_t count, struct params *params, struct graph_node **out);
void graph_remove(struct graph_node *n);
/* It does this from now on, with the attributes that it had; takes the params over unless it fails.
 * CUDA_ERROR_INVALID_VALUE: of another kind, or a graph in it, or a conditional one. */
CUresult graph_change(struct graph_node *n, struct params *params);

/* A conditional node's bodies: `count` empty graphs. Without a handle until they are a node's. */
CUresult graph_make_bodies(struct params_choice *c, bool visible);

/* What is inside of a node: a child graph, or a conditional node's bodies; NULL: no more. */
struct graph *graph_inside(const struct params *p, uint32_t i);

/* Whether there are nodes in it that allocate or free, or that kernels change, or conditional ones:
 * it has no copies then but for one that is launched. */
bool graph_is_bound(const struct graph *g);
/* Whether an executable graph has some of its memory, or of its nodes that kernels change, already;
 * from now on one has, or none. */
bool graph_is_claimed(const struct graph *g);
void graph_claim(const struct graph *g, bool claimed);

/* An edge that is not there yet; no edge of a node to itself. */
CUresult graph_link(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data);
/* CUDA_ERROR_INVALID_VALUE when there is none like that; CUDA_ERROR_NOT_SUPPORTED where allocations
 * have their places by it. */
CUresult graph_unlink(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data);

/* An order in which each comes after what it depends on: graph.count nodes, for the caller to free.
 * CUDA_ERROR_INVALID_VALUE: there is none, for the edges make a circle. */
CUresult graph_order(struct graph *g, struct graph_node ***out);

#endif
