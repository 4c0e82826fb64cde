/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs: a copy of a graph, and its current program. After a change of a node, the next
 * launch builds another program.
 */
#ifndef SHIM_GRAPH_EXEC_EXEC_H
#define SHIM_GRAPH_EXEC_EXEC_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/graph/graph.h"
#include "shim/graph_exec/program.h"

struct stream;

struct exec {
    CUgraphExec handle;
    uint64_t flags;
    struct graph *graph;         /* a copy, whose nodes store the originals' handles */
    struct program *program;     /* NULL: must be built */
    bool stale;                  /* settings of nodes that kernels change may have to be written */
    struct program_point latest; /* the end of the latest launch, of any program */
};

/* ---- called with graph_lock held ------------------------------------------------------------- */

struct exec *exec_find(CUgraphExec handle);
/* Drops the program, because it no longer matches the graph. */
void exec_changed(struct exec *e);

/* ---- called without the lock ----------------------------------------------------------------- */

CUresult exec_create(CUgraph graph, uint64_t flags, CUgraphExec *out);
CUresult exec_destroy(CUgraphExec handle);
CUresult exec_launch(CUgraphExec handle, struct stream *s);
/* Sends the program to the worker. */
CUresult exec_upload(CUgraphExec handle);

#endif
