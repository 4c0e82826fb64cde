/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the size of a model with every function call expanded, so that every array of a graph is
 * allocated once. Functions that call others twice can turn a short file into a graph of any size;
 * therefore each function is counted once, and no call is expanded here. Look-ups are counted too,
 * because a node with many attributes or long names costs as much as many nodes. Owner: the caller.
 */
#ifndef DAEMON_PREDICT_ONNX_AMOUNTS_H
#define DAEMON_PREDICT_ONNX_AMOUNTS_H

#include "daemon/predict/onnx/functions.h"

#define AMOUNTS_MOST ((uint64_t)1 << 32) /* limit of each count; counts saturate here */
#define AMOUNTS_ATTRIBUTES_MAX 256u      /* per node */
#define AMOUNTS_NAME_BYTES 4096u         /* limit of one node's strings */
/* Limits for models that call functions: */
#define AMOUNTS_NODES_MAX (1u << 20)
#define AMOUNTS_LOOKS_MAX (1u << 29)

struct amounts {
    uint64_t values, nodes, refs, calls;
    uint64_t binds; /* names that are bound to a value */
    uint64_t asks;  /* attributes that refer to an attribute of the caller */
    uint64_t looks; /* bytes of names compared to build the nodes, plus LOOK per name */
};

/* Returns 0, -ENOMEM, or -EINVAL with the reason in `why`: a function calls itself, or the model or
 * a node is too large. */
int amounts_count(struct amounts *out, const struct functions *f, const Onnx__GraphProto *top,
                  struct bounded *memory, struct complaint *why);

#endif
