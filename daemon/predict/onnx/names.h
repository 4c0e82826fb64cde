/* SPDX-License-Identifier: Apache-2.0
 *
 * All value names of a model, each once. A name's number is its index in the sorted array, so that
 * no choice of names makes the search slow. Owner: the caller. Not thread-safe.
 */
#ifndef DAEMON_PREDICT_ONNX_NAMES_H
#define DAEMON_PREDICT_ONNX_NAMES_H

#include "daemon/predict/onnx/functions.h"

struct names {
    const char **at; /* the strings belong to the model */
    uint32_t count;
};

/* Returns 0, or -ENOMEM with the reason in `why`; the caller finishes the names in either case. */
int names_take(struct names *n, struct bounded *memory, const Onnx__ModelProto *m,
               struct complaint *why);
void names_finish(struct names *n, struct bounded *memory);

/* Number of a name that is in the model; NULL counts as the empty name. */
uint32_t names_find(const struct names *n, const char *name);

#endif
