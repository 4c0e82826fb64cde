/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds ONNX models: messages of its schema, packed by protobuf-c. The builder owns all memory
 * that it allocates; a failure ends the test. Not thread-safe.
 */
#ifndef TEST_LIB_PREDICT_ONNXMAKE_H
#define TEST_LIB_PREDICT_ONNXMAKE_H

#include <onnx.pb-c.h>
#include <stdbool.h>

#include "common/arena.h"
#include "common/buf.h"

#define ONNXMAKE_MAX 4096 /* limit for each kind */

struct onnxmake {
    struct arena *arena;
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    uint32_t named; /* number of names that were generated */
};

void onnxmake_init(struct onnxmake *m);
void onnxmake_finish(struct onnxmake *m);
/* Appends the model file. */
void onnxmake_bytes(struct onnxmake *m, struct buf *out);

/* Sizes as in "N,3,224,224"; a size that is no number is a name. Types are those of TensorProto. */
const char *onnxmake_input(struct onnxmake *m, const char *name, int type, const char *sizes);
void onnxmake_output(struct onnxmake *m, const char *name, int type, const char *sizes);
void onnxmake_info(struct onnxmake *m, const char *name, int type, const char *sizes);

/* Adds float weights without elements, as if an external file held them; returns their name. */
const char *onnxmake_weight(struct onnxmake *m, const char *sizes);
/* A tensor without elements, which is not added to the graph. */
Onnx__TensorProto *onnxmake_tensor(struct onnxmake *m, const char *name, int type,
                                   const char *sizes);
/* Adds a constant with its elements, a vector or a scalar; returns its name. */
const char *onnxmake_ints(struct onnxmake *m, int count, const int64_t *ints);
const char *onnxmake_int(struct onnxmake *m, int64_t number);

/* Adds a node: its inputs as a list of words ("" in it: no input), and one output with that
 * name, or a generated name where it is NULL. Returns the output's name. */
const char *onnxmake_node(struct onnxmake *m, const char *op, const char *output,
                          const char *const *inputs, int count);
#define ONNXMAKE_NODE(m, op, ...)                                      \
    onnxmake_node((m), (op), NULL, (const char *const[]){__VA_ARGS__}, \
                  (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))
/* Adds another output to the last node and returns its name. The functions after it add
 * attributes. */
const char *onnxmake_more(struct onnxmake *m);
void onnxmake_attr_int(struct onnxmake *m, const char *name, int64_t i);
void onnxmake_attr_ints(struct onnxmake *m, const char *name, const char *list);
void onnxmake_attr_text(struct onnxmake *m, const char *name, const char *text);
void onnxmake_attr_graph(struct onnxmake *m, const char *name, Onnx__GraphProto *g);
void onnxmake_attr_tensor(struct onnxmake *m, const char *name, Onnx__TensorProto *t);
/* In a function: the last node's attribute takes the value of the caller's attribute
 * `of_caller`. */
void onnxmake_attr_ref(struct onnxmake *m, const char *name, const char *of_caller);
Onnx__NodeProto *onnxmake_last(struct onnxmake *m);

/* Moves the graph's last `nodes` nodes into a function; its inputs and outputs are
 * comma-separated lists of names. A node with that operator calls it. */
void onnxmake_function(struct onnxmake *m, const char *name, const char *inputs,
                       const char *outputs, int nodes);

#endif
