/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a graph's allocations go: in the place of an earlier one of the same graph, if that was
 * freed by a node that this one comes behind; or beside the others. With graph_lock held.
 */
#ifndef SHIM_GRAPH_PLACING_H
#define SHIM_GRAPH_PLACING_H

#include <stddef.h>

#include "proto/cuda/cuda_abi.h"

struct graph;
struct graph_node;
struct params;

/* As graph_add; what the node allocates has an address afterwards, and who comes behind one that
 * frees may have its place. */
CUresult placing_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data,
                     size_t count, struct params *params, struct graph_node **out);

#endif
