/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a graph's node, as a value that owns its memory.
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

#define PARAMS_ATTRIBUTES 8 /* attributes of one launch that programs can query */

struct params_kernel {
    struct wire_launch launch; /* func, stream and number are set when it becomes a record */
    CUfunction function;
    unsigned char *values; /* launch.param_bytes, laid out as the kernel declares them */
    void **pointers; /* pointers to the parameter values, for programs that query them; created when
                        needed */
    struct condition *changing; /* set if kernels may change the node (node_update.h), else NULL */
    bool written;               /* the shared copy is current, or kernels have changed it since */
    uint32_t attribute_count;
    CUlaunchAttribute attributes[PARAMS_ATTRIBUTES];
};

struct params_copy {
    struct transfer transfer; /* not checked: memory may come and go until the graph is launched */
    unsigned int flags;       /* TRANSFER_* */
    CUDA_MEMCPY3D shown;      /* the copy as the program described it, or could have */
};

struct params_choice {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    uint32_t count;
    struct graph **bodies; /* owned by the node, and so is the list of their handles */
    CUgraph *handles;
};

struct params_values {
    unsigned int count;
    CUstreamBatchMemOpParams *list; /* owned by the node */
    CUcontext ctx;                  /* the context as the program named it */
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
            bool borrowed; /* owned by the program, until a node takes it */
        };
        CUevent event;
        struct params_choice choice;
        struct params_values values;
        struct graph_memory *memory; /* the node holds it */
    };
};

/* Copies a kernel's parameters, or gives CUDA_ERROR_OUT_OF_MEMORY. */
CUresult params_clone_kernel(struct params_kernel *to, const struct params_kernel *from);
void params_free_kernel(struct params_kernel *k);
CUresult params_clone_values(struct params_values *to, const struct params_values *from);

/* Pointers to the values of a kernel's parameters; NULL when it has none, or when out of memory. */
void **params_pointers(struct params_kernel *k);

/* Returns NULL when the launch has no such attribute. */
const CUlaunchAttributeValue *params_attribute(const struct params_kernel *k,
                                               CUlaunchAttributeID id);
/* Prepares `to` as the new parameters of the node that had `from`. If kernels could change the
 * node, they still can. */
CUresult params_keep_changing(struct params_kernel *to, struct params_kernel *from);
/* Replaces the attributes of `to`. */
void params_copy_attributes(struct params_kernel *to, const struct params_kernel *from);
/* Returns false when there are too many. */
bool params_set_attribute(struct params_kernel *k, CUlaunchAttributeID id,
                          const CUlaunchAttributeValue *value);

#endif
