/* SPDX-License-Identifier: Apache-2.0
 *
 * From nodes to records. A node comes after a place; its records stand one behind the other in one
 * lane, and the place behind them is what its dependents come after.
 *
 * A conditional node is one record, and each of its bodies a part of its own. So is what kernels
 * launch, which has nothing in it that belongs to one launch.
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
    bool before, after; /* whether it is allocated */
};

struct compile {
    struct part *first;   /* all of them: bodies before what they are bodies of */
    struct part *current; /* the one that is being written */
    struct compile_effect *effects;
    uint32_t effect_count;
    struct condition *conditions; /* that it reads and sets: they live as long as it is launched */
    uint64_t handle;              /* by which kernels may launch the graph; 0: they may not */
    struct part *offered;         /* it, for these */
    uint32_t depth;               /* of bodies in bodies, and in what kernels launch */
    bool settles;                 /* its kernels launch graphs */
    uint32_t calls;               /* WIRE_CALLS_* that its kernels may make */
    struct function *ask;         /* of this kernel the worker has to be asked first; NULL */
};

/* With graph_lock held. What was written is the caller's to free, also after an error:
 * CUDA_ERROR_INVALID_VALUE when the edges make a circle; what is wrong with a node. `out` is
 * empty but for the handle. */
CUresult compile_graph(struct graph *g, struct compile *out);
void compile_free(struct compile *c); /* with it, too */

#endif
