/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of ONNX, written: messages of its schema, packed by protobuf-c. What it makes is its own
 * until its end; a failure ends the test. Not thread-safe.
 */
#ifndef TEST_LIB_PREDICT_ONNXMAKE_H
#define TEST_LIB_PREDICT_ONNXMAKE_H

#include <onnx.pb-c.h>
#include <stdbool.h>

#include "common/arena.h"
#include "common/buf.h"

#define ONNXMAKE_MAX 4096 /* of each kind */

struct onnxmake {
    struct arena *arena;
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    uint32_t named; /* names that were made up */
};

void onnxmake_init(struct onnxmake *m);
void onnxmake_finish(struct onnxmake *m);
/* Appends the file. */
void onnxmake_bytes(struct onnxmake *m, struct buf *out);

/* Sizes as "N,3,224,224": what is no number is a name. Types are those of TensorProto. */
const char *onnxmake_input(struct onnxmake *m, const char *name, int type, const char *sizes);
void onnxmake_output(struct onnxmake *m, const char *name, int type, const char *sizes);
void onnxmake_info(struct onnxmake *m, const char *name, int type, const char *sizes);

/* Weights without their elements, as if they were kept beside; and with them. The name. */
const char *onnxmake_weight(struct onnxmake *m, const char *sizes);
Onnx__TensorProto *onnxmake_tensor(struct onnxmake *m, const char *name, int type,
                                   const char *sizes);
const char *onnxmake_ints(struct onnxmake *m, int count, const int64_t *ints);
const char *onnxmake_int(struct onnxmake *m, int64_t number); /* a scalar */

/* A node: its inputs as a list of words ("" in it: none), and one output of that name, or of one
 * that is made up where it is NULL. The output's name. */
const char *onnxmake_node(struct onnxmake *m, const char *op, const char *output,
                          const char *const *inputs, int count);
#define ONNXMAKE_NODE(m, op, ...)                                      \
    onnxmake_node((m), (op), NULL, (const char *const[]){__VA_ARGS__}, \
                  (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))
/* Another output of the last node; what it says beside. */
const char *onnxmake_more(struct onnxmake *m);
void onnxmake_attr_int(struct onnxmake *m, const char *name, int64_t i);
void onnxmake_attr_ints(struct onnxmake *m, const char *name, const char *list);
void onnxmake_attr_text(struct onnxmake *m, const char *name, const char *text);
void onnxmake_attr_graph(struct onnxmake *m, const char *name, Onnx__GraphProto *g);
void onnxmake_attr_tensor(struct onnxmake *m, const char *name, Onnx__TensorProto *t);
/* In a function: what the node that calls it says under that name. */
void onnxmake_attr_ref(struct onnxmake *m, const char *name, const char *of_caller);
Onnx__NodeProto *onnxmake_last(struct onnxmake *m);

/* The last `nodes` nodes are taken out of the graph and are a function; what it takes and gives are
 * lists of names with commas. To call it is a node of that operator. */
void onnxmake_function(struct onnxmake *m, const char *name, const char *inputs,
                       const char *outputs, int nodes);

#endif
