/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts a tensor's data between JSON text and bytes without a tree of values, because the text
 * may be as long as a body. Nested arrays are read as if flat, as the protocol allows. Pure.
 */
#ifndef DAEMON_SERVE_INFER_VALUES_H
#define DAEMON_SERVE_INFER_VALUES_H

#include <stddef.h>

#include "common/buf.h"
#include "daemon/serve/infer/tensor.h"

/* Reads `text`, a UTF-8 array with its brackets, as t->elements elements of t->type, and appends
 * their bytes to `out`. Returns 0, or -EINVAL or -ENOMEM with the error in `why`. */
int values_read(const struct tensor *t, const char *text, size_t bytes, struct buf *out,
                struct refusal *why);

/* Writes a checked tensor as a flat array. Returns 0, or -EINVAL with the error in `why` for a
 * value without a JSON form. Lack of memory sets the buffer's own flag. */
int values_write(struct buf *json, const struct tensor *t, struct refusal *why);

#endif
