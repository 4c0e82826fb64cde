/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: nodes, and edges that order them. The caller holds graph_lock (registry.h).
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
    CUgraphNode handle; /* NULL in a graph that the program cannot see */
    uint32_t id;        /* unique in the graph, and never reused */
    struct graph *graph;
    struct list link;   /* link in graph.nodes, in the order in which they were added */
    CUgraphNode origin; /* the node that this one was copied from */
    bool disabled;      /* does nothing; in executable graphs only */
    uint32_t mark;      /* scratch value for walks of the graph */
    struct graph_edges before, after;
    struct params params;
};

struct graph {
    CUgraph handle; /* NULL: the program cannot see the graph */
    CUgraph origin;
    uint32_t id; /* unique in the process, and never reused */
    uint32_t next_node;
    struct list nodes;
    uint32_t count;
    bool owned;     /* a node owns the graph: the program cannot destroy it */
    bool capturing; /* a capture adds nodes: the program cannot destroy the graph either */
    struct user_objects objects;
    struct condition *conditions;
};

/* Copies a node's parameters, or gives CUDA_ERROR_OUT_OF_MEMORY. `visible`: programs can have
 * handles of the nodes of a child graph in them. The caller frees parameters that it does not give
 * to a node. */
CUresult graph_clone_params(const struct params *from, bool visible, struct params *to);
void graph_free_params(struct params *p);

/* Returns NULL when out of memory. */
struct graph *graph_create(bool visible);
void graph_free(struct graph *g); /* accepts NULL */
struct graph *graph_find(CUgraph handle);
CUresult graph_clone(const struct graph *from, bool visible, struct graph **out);

struct graph_node *graph_find_node(CUgraphNode handle);
/* Finds the copy of that node, in the graph or in a child of it; NULL: there is none. */
struct graph_node *graph_find_copy(const struct graph *g, CUgraphNode origin);

/* Adds a node that depends on `count` others of its graph. Takes the params over unless it fails.
 * `data`: of the edges, NULL: all default. */
CUresult graph_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data,
                   size_t count, struct params *params, struct graph_node **out);
void graph_remove(struct graph_node *n);
/* Changes the parameters of a node, which keeps its attributes. Takes the params over unless it
 * fails. CUDA_ERROR_INVALID_VALUE: the kind or the contained graph differs, or the node is
 * conditional. */
CUresult graph_change(struct graph_node *n, struct params *params);

/* Creates the bodies of a conditional node: c->count empty graphs that a node owns. `visible`: the
 * program gets handles of them. */
CUresult graph_make_bodies(struct params_choice *c, bool visible);

/* Returns graph `i` inside of a node: a child graph, or a conditional node's body; NULL: no more.
 */
struct graph *graph_inside(const struct params *p, uint32_t i);

/* True when the graph has nodes that allocate or free memory, nodes that kernels change, or
 * conditional nodes. Such a graph is copied only for an executable graph. */
bool graph_is_bound(const struct graph *g);
/* graph_is_claimed: true when an executable graph uses some of its memory, or of its nodes that
 * kernels change. graph_claim sets or clears that. */
bool graph_is_claimed(const struct graph *g);
void graph_claim(const struct graph *g, bool claimed);

/* Adds an edge, which must not exist yet. A node has no edge to itself. */
CUresult graph_link(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data);
/* Removes an edge. CUDA_ERROR_INVALID_VALUE when there is no such edge; CUDA_ERROR_NOT_SUPPORTED
 * when the graph allocates or frees memory, because the choice of addresses may depend on it. */
CUresult graph_unlink(struct graph_node *from, struct graph_node *to, const CUgraphEdgeData *data);

/* Returns an order in which each node comes after those it depends on: graph.count nodes, which the
 * caller frees. CUDA_ERROR_INVALID_VALUE: the edges form a cycle. */
CUresult graph_order(struct graph *g, struct graph_node ***out);

#endif
