/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of a node. A missing attribute, or one of the wrong type, counts as omitted. A number
 * of the right type without a value is 0, the default of proto3.
 */
#ifndef DAEMON_PREDICT_ONNX_ATTRIBUTE_H
#define DAEMON_PREDICT_ONNX_ATTRIBUTE_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

bool attribute_is(const struct node *n, const char *name);
/* Tests whether the node refers to an attribute that the caller omits and for which the function
 * has a default. Defaults of functions (IR 9) are not read, and the operator's own defaults may
 * differ. Single floats are not checked, because no size depends on one. */
bool attribute_open(const struct node *n);
int64_t attribute_int(const struct node *n, const char *name, int64_t otherwise);
/* The list belongs to the graph. NULL and count 0 if there is none. */
const int64_t *attribute_ints(const struct node *n, const char *name, uint32_t *count);
const float *attribute_floats(const struct node *n, const char *name, uint32_t *count);
/* Tests whether the attribute is exactly this text. */
bool attribute_says(const struct node *n, const char *name, const char *text);
/* Copies at most `cap` bytes including the NUL; "" if the attribute is missing. */
void attribute_text(const struct node *n, const char *name, char *out, size_t cap);
float attribute_float(const struct node *n, const char *name, float otherwise);

/* Reads the sizes and elements of a tensor into a value. Returns 0, -ENOENT, or -EINVAL or -ENOMEM
 * with the reason in `why`. */
int attribute_tensor(struct netgraph *g, const struct node *n, const char *name, struct value *out,
                     struct complaint *why);

#endif
