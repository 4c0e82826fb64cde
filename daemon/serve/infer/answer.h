/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the response to a request: its JSON, followed by the outputs requested as binary data.
 * Pure.
 */
#ifndef DAEMON_SERVE_INFER_ANSWER_H
#define DAEMON_SERVE_INFER_ANSWER_H

#include "daemon/serve/infer/request.h"

/* `outputs` are the model's, in any order, including unrequested ones. *head_bytes receives the
 * length of the JSON if binary data follows, else REQUEST_NO_HEADER. Returns 0, -ENOMEM, or -EINVAL
 * with the error in `why`: an output is missing or does not match the model (status 500), or has no
 * JSON form (400). */
int answer_write(const struct request *r, const struct tensor *outputs, uint32_t count,
                 struct buf *body, size_t *head_bytes, struct refusal *why);

#endif
