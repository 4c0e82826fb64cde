/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel nodes that kernels change: their grid, parameters, and whether they run. Their state is in
 * the host window (wire_node): kernels write it, and the worker reads it when the node runs. The
 * handle that kernels have is its address. Settings that the program makes for a node of an
 * executable graph are written there by the next launch or upload. The caller holds graph_lock.
 */
#ifndef SHIM_GRAPH_EXEC_NODE_UPDATE_H
#define SHIM_GRAPH_EXEC_NODE_UPDATE_H

#include <stdbool.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/graph/params.h"

struct graph;

/* Allows kernels to change the node, if the attribute says so, and writes the node's handle into
 * the attribute. This cannot be revoked. */
CUresult node_update_allow(struct params_kernel *k, CUlaunchAttributeValue *value);
/* True when settings must be written; no launch of the graph may be in flight then. */
bool node_update_stale(const struct graph *g);
void node_update_write(struct graph *g);

#endif
