/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns nodes into records. A node comes after a place in the lanes; its records are consecutive in
 * one lane, and its dependents come after the place behind them.
 *
 * A conditional node is one record, and each of its bodies is a part of its own. A graph that
 * kernels launch is a part as well, which holds nothing that belongs to one launch.
 */
#ifndef SHIM_GRAPH_EXEC_COMPILE_H
#define SHIM_GRAPH_EXEC_COMPILE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/graph/graph.h"
#include "shim/graph_exec/part.h"

struct function;

/* Memory that a graph allocates or frees. */
struct compile_effect {
    struct graph_memory *memory;
    bool before, after; /* allocated before and after the launch */
};

struct compile {
    struct part *first;   /* all parts: bodies before the part that contains them */
    struct part *current; /* the part that is being written */
    struct compile_effect *effects;
    uint32_t effect_count;
    struct condition *
        conditions; /* conditions that the graph reads and sets; they live as long as the program */
    uint64_t handle;      /* handle by which kernels may launch the graph; 0: they may not */
    struct part *offered; /* the part that kernels launch */
    uint32_t depth;       /* nesting of bodies, and of graphs that kernels launch */
    bool settles;         /* the graph's kernels launch graphs */
    uint32_t calls;       /* WIRE_CALLS_* that the graph's kernels may make */
    struct function *ask; /* kernel that the worker must be asked about first; NULL: none */
};

/* The caller holds graph_lock, and frees the result, also after an error. `out` is empty except for
 * the handle. CUDA_ERROR_INVALID_VALUE: the edges form a cycle; other errors come from a node. */
CUresult compile_graph(struct graph *g, struct compile *out);
void compile_free(struct compile *c); /* also called with graph_lock held */

#endif
