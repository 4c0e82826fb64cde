/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operator's shape function sees: a node, what is known of its inputs, and where it says of
 * its outputs. It returns false where their sizes do not follow from what is known; what was said
 * is then void. A value of the caller's, for one call.
 */
#ifndef DAEMON_PREDICT_SHAPE_OP_H
#define DAEMON_PREDICT_SHAPE_OP_H

#include "daemon/predict/onnx/attribute.h"
#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

/* Of ONNX's TensorProto.DataType, those that operators name themselves. */
#define OP_TYPE_SAME (-1) /* the first input's */
#define OP_TYPE_FLOAT 1
#define OP_TYPE_INT64 7
#define OP_TYPE_BOOL 9

struct op_call {
    struct netgraph *g;
    const struct node *n;
    struct complaint *why;
    int64_t batch, batch_was; /* was 0: no size of the file's was replaced */
    int err;                  /* the model is wrong, or memory is short */
};

/* NULL: there is no such input, or its shape is not known. */
const struct shape *op_in(const struct op_call *c, uint32_t i);
int32_t op_type(const struct op_call *c, uint32_t i);
/* Whether the input is there; its elements where they are known. */
bool op_has(const struct op_call *c, uint32_t i);
bool op_numbers(const struct op_call *c, uint32_t i, const double **out, uint32_t *count);
/* Whole numbers from an input, or where it is not there from an attribute; false: from neither.
 * At most `max`, beyond which the model is wrong. */
bool op_ints(struct op_call *c, uint32_t i, const char *name, int64_t *out, uint32_t max,
             uint32_t *count);

/* An output's shape; false where it can be no tensor's, and c->err says so. An output that the node
 * does not have is none. */
bool op_out(struct op_call *c, uint32_t i, const struct shape *s, int32_t type);
bool op_unsound(struct op_call *c, const struct shape *s);

/* An axis counted from either end: false where there is none. */
bool op_axis(int64_t axis, uint32_t rank, uint32_t *out);
/* As numpy broadcasts; false where it does not. */
bool op_broadcast(const struct shape *a, const struct shape *b, struct shape *out);
/* A double as a whole number, as far as there is one. */
int64_t op_whole(double v);

#endif
