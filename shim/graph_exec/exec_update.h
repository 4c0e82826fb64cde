/* SPDX-License-Identifier: Apache-2.0
 *
 * An executable graph takes over the parameters of a graph of the same shape.
 */
#ifndef SHIM_GRAPH_EXEC_EXEC_UPDATE_H
#define SHIM_GRAPH_EXEC_EXEC_UPDATE_H

#include "shim/graph_exec/exec.h"

/* With graph_lock held. Nodes of `from` stand for those of `part`, which is its graph or a child in
 * it, in the order in which they were added; conditional nodes take over the new ones' conditions.
 * All or nothing: CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, and why. */
CUresult exec_update(struct exec *e, struct graph *part, const struct graph *from,
                     CUgraphExecUpdateResultInfo *info);

#endif
