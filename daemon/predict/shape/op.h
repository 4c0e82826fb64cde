/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of shape functions: a node, access to its inputs, and setters for its outputs. A
 * shape function returns false if the known inputs do not determine the sizes; its outputs are then
 * ignored. The struct is a value of the caller's, for one call.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_H
#define DAEMON_PREDICT_SHAPE_OP_H

#include "daemon/predict/onnx/attribute.h"
#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

/* Values of ONNX's TensorProto.DataType that operators set themselves. */
#define OP_TYPE_SAME (-1) /* the type of the first input */
#define OP_TYPE_FLOAT 1
#define OP_TYPE_INT64 7
#define OP_TYPE_BOOL 9

struct op_call {
    struct netgraph *g;
    const struct node *n;
    struct complaint *why;
    int64_t batch, batch_was; /* batch_was is 0 if no size of the file was replaced */
    int err;                  /* the model is invalid, or memory is short */
};

/* NULL if there is no such input or its shape is not known. */
const struct shape *op_in(const struct op_call *c, uint32_t i);
int32_t op_type(const struct op_call *c, uint32_t i);
/* op_has tests whether the input is present. op_numbers returns its elements if they are known. */
bool op_has(const struct op_call *c, uint32_t i);
bool op_numbers(const struct op_call *c, uint32_t i, const double **out, uint32_t *count);
/* Reads integers from an input, or from an attribute if the input is omitted; false if neither is
 * known. More than `max` make the model invalid. */
bool op_ints(struct op_call *c, uint32_t i, const char *name, int64_t *out, uint32_t max,
             uint32_t *count);

/* Sets an output's shape. Returns false and sets c->err for an impossible shape. An output that the
 * node omits is ignored. */
bool op_out(struct op_call *c, uint32_t i, const struct shape *s, int32_t type);
bool op_unsound(struct op_call *c, const struct shape *s);

/* Resolves an axis that may be counted from the end; false if out of range. */
bool op_axis(int64_t axis, uint32_t rank, uint32_t *out);
/* Broadcasts as numpy does; false if the shapes do not match. */
bool op_broadcast(const struct shape *a, const struct shape *b, struct shape *out);
/* Converts a double to an integer, clamped to the range of int64_t; NaN becomes 0. */
int64_t op_whole(double v);

#endif
