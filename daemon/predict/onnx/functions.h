/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that a file defines (ModelProto.functions), found by the domain and operator that nodes
 * use to call them. A function of the file takes precedence over a built-in operator. Owner: the
 * caller. Not thread-safe.
 */
#ifndef DAEMON_PREDICT_ONNX_FUNCTIONS_H
#define DAEMON_PREDICT_ONNX_FUNCTIONS_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/bounded.h"
#include "daemon/predict/onnx/complaint.h"

#define FUNCTIONS_NONE UINT32_MAX

struct functions {
    const Onnx__FunctionProto **at; /* sorted; the messages belong to the model */
    uint32_t count;
};

/* Returns 0, or -EINVAL or -ENOMEM with the reason in `why`; the caller finishes the set in either
 * case. */
int functions_take(struct functions *f, struct bounded *memory, const Onnx__ModelProto *m,
                   struct complaint *why);
void functions_finish(struct functions *f, struct bounded *memory);

/* Index of the function that a node calls; FUNCTIONS_NONE if the node calls none. */
uint32_t functions_called(const struct functions *f, const Onnx__NodeProto *n);

#endif
