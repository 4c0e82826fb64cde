/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the addresses of a graph's allocations. An allocation reuses the address of an earlier
 * one of the same graph, if a node that comes before it freed that one; otherwise it gets a new
 * address. The caller holds graph_lock.
 */
#ifndef SHIM_GRAPH_ADDRESS_CHOICE_H
#define SHIM_GRAPH_ADDRESS_CHOICE_H

#include <stddef.h>

#include "proto/cuda/cuda_abi.h"

struct graph;
struct graph_node;
struct params;

/* Works like graph_add. A node that allocates then has an address; nodes after one that frees may
 * reuse its address. */
CUresult address_choice_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data,
                            size_t count, struct params *params, struct graph_node **out);

#endif
