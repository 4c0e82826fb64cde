/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file says of a value's sizes: numbers, names for sizes that are given later, or nothing.
 */
#ifndef DAEMON_PREDICT_ONNX_DECLARED_H
#define DAEMON_PREDICT_ONNX_DECLARED_H

#include "daemon/predict/onnx/netgraph.h"

struct declared {
    int64_t size;       /* -1: not a number */
    const char *symbol; /* NULL: no name either */
};

/* How many sizes; -1: it says nothing. */
int64_t declared_rank(const struct value *v);
struct declared declared_size(const struct value *v, uint32_t axis);

#endif
