/* SPDX-License-Identifier: Apache-2.0
 *
 * All names of values in a model, each once: a name's number is its place among them, sorted, so
 * that no choice of names makes it slow to find. Owner: the caller. It belongs to one thread.
 */
#ifndef DAEMON_PREDICT_ONNX_NAMES_H
#define DAEMON_PREDICT_ONNX_NAMES_H

#include "daemon/predict/onnx/functions.h"

struct names {
    const char **at; /* the strings are the model's */
    uint32_t count;
};

/* 0; or -ENOMEM and why. Then too the caller finishes it. */
int names_take(struct names *n, struct bounded *memory, const Onnx__ModelProto *m,
               struct complaint *why);
void names_finish(struct names *n, struct bounded *memory);

/* Of one that is in the model; NULL is the empty one. */
uint32_t names_find(const struct names *n, const char *name);

#endif
