/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node says beside its inputs. An attribute that is missing or of another kind is as one
 * that was left out; a number of the right kind that is not there is 0, as who writes proto3 has
 * it.
 */
#ifndef DAEMON_PREDICT_ONNX_ATTRIBUTE_H
#define DAEMON_PREDICT_ONNX_ATTRIBUTE_H

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

bool attribute_is(const struct node *n, const char *name);
/* Whether it asks its caller for what the caller does not say and the function has a default for:
 * defaults of functions (IR 9) are not read, and the operator's own are others. Single floats are
 * not looked at, for no size depends on one. */
bool attribute_open(const struct node *n);
int64_t attribute_int(const struct node *n, const char *name, int64_t otherwise);
/* The list, which is the graph's; NULL and 0: there is none. */
const int64_t *attribute_ints(const struct node *n, const char *name, uint32_t *count);
const float *attribute_floats(const struct node *n, const char *name, uint32_t *count);
/* Whether it says exactly this. */
bool attribute_says(const struct node *n, const char *name, const char *text);
/* Text of at most `cap` bytes with its NUL; "": there is none. */
void attribute_text(const struct node *n, const char *name, char *out, size_t cap);
float attribute_float(const struct node *n, const char *name, float otherwise);

/* A tensor's sizes and elements into a value: 0, -ENOENT, or -EINVAL, -ENOMEM and why. */
int attribute_tensor(struct netgraph *g, const struct node *n, const char *name, struct value *out,
                     struct complaint *why);

#endif
