/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that a file declares for a value: numbers, names of sizes that are given later, or neither.
 */
#ifndef DAEMON_PREDICT_ONNX_DECLARED_H
#define DAEMON_PREDICT_ONNX_DECLARED_H

#include "daemon/predict/onnx/netgraph.h"

struct declared {
    int64_t size;       /* -1: not a number */
    const char *symbol; /* NULL: not a name */
};

/* Number of declared sizes; -1 if the file declares none. */
int64_t declared_rank(const struct value *v);
struct declared declared_size(const struct value *v, uint32_t axis);

#endif
