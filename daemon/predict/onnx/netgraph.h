/* SPDX-License-Identifier: Apache-2.0
 *
 * A model as it is computed: nodes in their order, bodies of If, Loop and Scan right before the
 * node that has them, what a function does in place of the node that calls it, and values, each
 * made once, by an input, a weight or a node. What the bytes
 * say is checked here and in what is included here; nobody above sees a message of protobuf's.
 *
 * Owner: the caller. It belongs to one thread.
 */
#ifndef DAEMON_PREDICT_ONNX_NETGRAPH_H
#define DAEMON_PREDICT_ONNX_NETGRAPH_H

#include "daemon/predict/onnx/bounded.h"
#include "daemon/predict/onnx/shape.h"

#define NETGRAPH_NONE UINT32_MAX /* an input that a node does without */
#define NETGRAPH_DATA_MAX 1024u  /* elements of a value that are known as numbers */
#define NETGRAPH_BODIES_MAX 16u  /* within each other */
#define NETGRAPH_CALLS_MAX 32u   /* of functions, within each other */

enum value_kind { VALUE_INPUT, VALUE_WEIGHT, VALUE_MADE };

struct value {
    const char *name;
    enum value_kind kind;
    bool in_body; /* of If, Loop or Scan */
    int32_t type; /* ONNX's TensorProto.DataType; 0: not known */
    struct shape shape;
    double *data; /* its elements, where they are known; NULL: they are not */
    uint32_t data_count;
    const void *declared; /* what the file says of its shape: declared.h */
};

/* A function's call: what its nodes take from there they find here. */
struct call {
    const void *message;      /* of the node that calls */
    const void *function;     /* what it calls */
    const struct call *outer; /* that node's own; NULL: it is no function's */
};

struct node {
    const char *name, *op;
    const void *message;
    const struct call *call; /* whose function it is of; NULL: of none */
    /* Places in refs, where numbers of values are. */
    uint32_t inputs, inputs_count, outputs, outputs_count;
    uint32_t body, body_count; /* what its first body gives */
    bool has_body;             /* it may take values that are none of its inputs */
};

struct netgraph {
    struct bounded memory; /* all that follows */
    void *message;
    struct value *values;
    struct node *nodes;
    uint32_t *refs;
    struct call *calls;
    uint32_t values_count, nodes_count, refs_count, calls_count;
};

/* Of one that model.h read, or of zeros. */
void netgraph_finish(struct netgraph *g);

/* The value that a node takes or gives there; NULL: none. */
struct value *netgraph_input(const struct netgraph *g, const struct node *n, uint32_t i);
struct value *netgraph_output(const struct netgraph *g, const struct node *n, uint32_t i);

/* Bytes of an element; 0: of a type that has no size, or that is not known. */
uint32_t netgraph_type_bytes(int32_t type);

#endif
