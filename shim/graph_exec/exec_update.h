/* SPDX-License-Identifier: Apache-2.0
 *
 * Updates an executable graph with the parameters of a graph of the same shape.
 */
#ifndef SHIM_GRAPH_EXEC_EXEC_UPDATE_H
#define SHIM_GRAPH_EXEC_EXEC_UPDATE_H

#include "shim/graph_exec/exec.h"

/* The caller holds graph_lock. `part` is the executable graph's graph or a child in it. Nodes of
 * `from` match those of `part` in the order in which they were added. Conditional nodes get the
 * conditions of the new ones. All or nothing: CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, with the reason
 * in `info`. */
CUresult exec_update(struct exec *e, struct graph *part, const struct graph *from,
                     CUgraphExecUpdateResultInfo *info);

#endif
