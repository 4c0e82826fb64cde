/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel nodes that kernels change: their grid, parameters, and whether they run. What they are is
 * in the host window, where kernels write it and the worker reads it when their turn comes
 * (wire_node); the handle that kernels have is its address. What the program says of such a node of
 * an executable graph is written there by the next launch or upload. With graph_lock held.
 */
#ifndef SHIM_GRAPH_EXEC_CHANGING_H
#define SHIM_GRAPH_EXEC_CHANGING_H

#include <stdbool.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/graph/params.h"

struct graph;

/* Kernels may change it from now on, if the attribute says so; its handle is written there. What
 * they may change stays so. */
CUresult changing_allow(struct params_kernel *k, CUlaunchAttributeValue *value);
/* Whether something of it is to be written; no launch of it may be under way then. */
bool changing_stale(const struct graph *g);
void changing_write(struct graph *g);

#endif
