/* SPDX-License-Identifier: Apache-2.0
 *
 * One input of a request: what its JSON says, and where its bytes are. Pure; not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_INPUT_H
#define DAEMON_SERVE_INFER_INPUT_H

#include "daemon/serve/infer/cut.h"
#include "daemon/serve/infer/field.h"
#include "daemon/serve/infer/tensor.h"

/* What follows the JSON of a body: inputs take theirs in their order. */
struct input_rest {
    const unsigned char *at;
    size_t bytes;
};

/* `data` is what was cut from it, `own` gets the bytes of what was JSON. 0, -EINVAL or -ENOMEM and
 * why. */
int input_parse(struct tensor *t, const cJSON *item, uint32_t index, const struct cut_span *data,
                struct input_rest *rest, struct buf *own, struct refusal *why);

#endif
