/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that a file brings along (ModelProto.functions), by the name that nodes call them
 * by: a domain and an operator. What the file says of such an operator goes before what is known of
 * it. Owner: the caller. It belongs to one thread.
 */
#ifndef DAEMON_PREDICT_ONNX_FUNCTIONS_H
#define DAEMON_PREDICT_ONNX_FUNCTIONS_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/bounded.h"
#include "daemon/predict/onnx/complaint.h"

#define FUNCTIONS_NONE UINT32_MAX

struct functions {
    const Onnx__FunctionProto **at; /* sorted; the messages are the model's */
    uint32_t count;
};

/* 0; or -EINVAL, -ENOMEM and why. Then too the caller finishes it. */
int functions_take(struct functions *f, struct bounded *memory, const Onnx__ModelProto *m,
                   struct complaint *why);
void functions_finish(struct functions *f, struct bounded *memory);

/* Which one a node calls; FUNCTIONS_NONE: none of them. */
uint32_t functions_called(const struct functions *f, const Onnx__NodeProto *n);

#endif
