/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a model is once each call of a function is what the function does, so that every array
 * of a graph is had once. Functions that call others twice each make a graph of any size from a
 * short file: each is counted once, and nothing is followed here. Owner: the caller.
 */
#ifndef DAEMON_PREDICT_ONNX_AMOUNTS_H
#define DAEMON_PREDICT_ONNX_AMOUNTS_H

#include "daemon/predict/onnx/functions.h"

#define AMOUNTS_MOST ((uint64_t)1 << 32) /* of each: more is as good as that */
#define AMOUNTS_NODES_MAX (1u << 20)     /* where functions are called */

struct amounts {
    uint64_t values, nodes, refs, calls;
    uint64_t binds; /* names that get a value */
};

/* 0; -EINVAL, a function calls itself, or there is too much of them, or -ENOMEM, and why. */
int amounts_count(struct amounts *out, const struct functions *f, const Onnx__GraphProto *top,
                  struct bounded *memory, struct complaint *why);

#endif
