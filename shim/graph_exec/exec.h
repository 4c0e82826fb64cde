/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs: a copy of a graph, and the program that it is at present. Changing a node of
 * it makes another program before the next launch.
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
    struct graph *graph;         /* its nodes know of which they are copies */
    struct program *program;     /* NULL: to be made */
    bool stale;                  /* what kernels change may have to be written */
    struct program_point latest; /* the end of its latest launch, of whatever program */
};

/* ---- with graph_lock held -------------------------------------------------------------------- */

struct exec *exec_find(CUgraphExec handle);
/* The program is no longer what the graph says. */
void exec_changed(struct exec *e);

/* ---- without it ------------------------------------------------------------------------------ */

CUresult exec_create(CUgraph graph, uint64_t flags, CUgraphExec *out);
CUresult exec_destroy(CUgraphExec handle);
CUresult exec_launch(CUgraphExec handle, struct stream *s);
/* The worker has its program afterwards. */
CUresult exec_upload(CUgraphExec handle);

#endif
