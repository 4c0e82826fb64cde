/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node of a graph does, as a value that owns its memory.
 */
#ifndef SHIM_GRAPH_PARAMS_H
#define SHIM_GRAPH_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/transfer/transfer.h"

struct condition;
struct graph;
struct graph_memory;

#define PARAMS_ATTRIBUTES 8 /* of one launch, that programs can ask for again */

struct params_kernel {
    struct wire_launch launch; /* func, stream and number are filled in when it becomes a record */
    CUfunction function;
    unsigned char *values;      /* launch.param_bytes, laid out as the kernel declares them */
    void **pointers;            /* to each of these, for programs that ask; made when needed */
    struct condition *changing; /* where kernels change it (changing.h); NULL: they may not */
    bool written; /* that is as it was told last, or as kernels have changed it since */
    uint32_t attribute_count;
    CUlaunchAttribute attributes[PARAMS_ATTRIBUTES];
};

struct params_copy {
    struct transfer transfer; /* not checked: memory may come and go until the graph is launched */
    unsigned int flags;       /* TRANSFER_* */
    CUDA_MEMCPY3D shown;      /* as the program said it, or could have */
};

struct params_choice {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    uint32_t count;
    struct graph **bodies; /* the node's, as the list of their handles for the program is */
    CUgraph *handles;
};

struct params_values {
    unsigned int count;
    CUstreamBatchMemOpParams *list; /* the node's */
    CUcontext ctx;                  /* as the program said it */
};

struct params {
    CUgraphNodeType type;
    union {
        struct params_kernel kernel;
        struct params_copy copy;
        CUDA_MEMSET_NODE_PARAMS fill;
        CUDA_HOST_NODE_PARAMS host;
        struct {
            struct graph *child;
            bool borrowed; /* the program's own, until a node has it */
        };
        CUevent event;
        struct params_choice choice;
        struct params_values values;
        struct graph_memory *memory; /* held */
    };
};

/* A second one with the same values: CUDA_ERROR_OUT_OF_MEMORY. */
CUresult params_clone_kernel(struct params_kernel *to, const struct params_kernel *from);
void params_free_kernel(struct params_kernel *k);
CUresult params_clone_values(struct params_values *to, const struct params_values *from);

/* Pointers to the values of a kernel's parameters; NULL when it has none, or there is no memory. */
void **params_pointers(struct params_kernel *k);

/* NULL when the launch has no such attribute. */
const CUlaunchAttributeValue *params_attribute(const struct params_kernel *k,
                                               CUlaunchAttributeID id);
/* `to` is what a node is from now on that was `from`, and that kernels go on changing if they did.
 */
CUresult params_keep_changing(struct params_kernel *to, struct params_kernel *from);
/* In place of its own. */
void params_copy_attributes(struct params_kernel *to, const struct params_kernel *from);
/* False when there are too many. */
bool params_set_attribute(struct params_kernel *k, CUlaunchAttributeID id,
                          const CUlaunchAttributeValue *value);

#endif
