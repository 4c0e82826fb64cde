/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer to a request as bytes: its JSON, and behind it what was asked for as binary data.
 * Pure.
 */
#ifndef DAEMON_SERVE_INFER_ANSWER_H
#define DAEMON_SERVE_INFER_ANSWER_H

#include "daemon/serve/infer/request.h"

/* `outputs` are what the model gave, in any order, with those that nobody asked for. *head_bytes
 * becomes the length of the JSON where binary data follows, and REQUEST_NO_HEADER where none does.
 * 0; -ENOMEM; or -EINVAL: an output is missing or not what the model says of it (status 500), or
 * has no form in JSON (400), and why. */
int answer_write(const struct request *r, const struct tensor *outputs, uint32_t count,
                 struct buf *body, size_t *head_bytes, struct refusal *why);

#endif
