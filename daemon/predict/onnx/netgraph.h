/* SPDX-License-Identifier: Apache-2.0
 *
 * A model as a computation graph. Nodes are in execution order. The bodies of If, Loop and Scan
 * stand right before their node, and the nodes of a function replace the node that calls it. Each
 * value is defined once, by an input, a weight or a node. The readers included here check the
 * file's bytes; code above this floor sees no protobuf message.
 *
 * Owner: the caller. Not thread-safe.
 */
#ifndef DAEMON_PREDICT_ONNX_NETGRAPH_H
#define DAEMON_PREDICT_ONNX_NETGRAPH_H

#include "daemon/predict/onnx/bounded.h"
#include "daemon/predict/onnx/shape.h"

#define NETGRAPH_NONE UINT32_MAX /* an omitted input of a node */
#define NETGRAPH_DATA_MAX 1024u  /* most elements of a value whose numbers are stored */
#define NETGRAPH_BODIES_MAX 16u  /* nesting depth */
#define NETGRAPH_CALLS_MAX 32u   /* nesting depth of function calls */

enum value_kind { VALUE_INPUT, VALUE_WEIGHT, VALUE_MADE };

struct value {
    const char *name;
    enum value_kind kind;
    bool in_body; /* in the body of If, Loop or Scan */
    int32_t type; /* ONNX's TensorProto.DataType; 0: not known */
    struct shape shape;
    double *data; /* the elements; NULL: not known */
    uint32_t data_count;
    const void *declared; /* the file's declaration of the shape, read by declared.h */
};

/* A function call. Nodes within the function resolve their attributes here. */
struct call {
    const void *message;      /* the node that calls */
    const void *function;     /* the called function */
    const struct call *outer; /* the call that contains this one; NULL: not within a function */
};

struct node {
    const char *name, *op;
    const void *message;
    const struct call *call; /* the call whose function contains the node; NULL: none */
    /* Indices in netgraph.refs, which has the numbers of values. */
    uint32_t inputs, inputs_count, outputs, outputs_count;
    uint32_t body, body_count; /* outputs of its first body */
    bool has_body;             /* the body may use values that are not inputs of the node */
};

struct netgraph {
    struct bounded memory; /* allocator of all following members */
    void *message;
    struct value *values;
    struct node *nodes;
    uint32_t *refs;
    struct call *calls;
    uint32_t values_count, nodes_count, refs_count, calls_count;
};

/* Frees a graph that model.h read, or one of zeroes. */
void netgraph_finish(struct netgraph *g);

/* The i-th input or output value of a node; NULL if it is omitted. */
struct value *netgraph_input(const struct netgraph *g, const struct node *n, uint32_t i);
struct value *netgraph_output(const struct netgraph *g, const struct node *n, uint32_t i);

/* Bytes of an element; 0 for a type without a fixed size or an unknown type. */
uint32_t netgraph_type_bytes(int32_t type);

#endif
