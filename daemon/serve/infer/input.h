/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses one input of a request: its JSON, and the location of its bytes. Pure; not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_INPUT_H
#define DAEMON_SERVE_INFER_INPUT_H

#include "daemon/serve/infer/field.h"
#include "daemon/serve/infer/request_split.h"
#include "daemon/serve/infer/tensor.h"

/* The bytes after the JSON of a body; inputs take theirs in order. */
struct input_rest {
    const unsigned char *at;
    size_t bytes;
};

/* `data` is the array that was cut from the JSON; `own` receives its bytes. Returns 0, or -EINVAL
 * or -ENOMEM with the error in `why`. */
int input_parse(struct tensor *t, const cJSON *item, uint32_t index, const struct split_span *data,
                struct input_rest *rest, struct buf *own, struct refusal *why);

#endif
