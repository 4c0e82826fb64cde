/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a tensor between the text of JSON and bytes, without a tree of values: text may be as
 * long as a body. Nested arrays are read as if they were flat, as the protocol allows. Pure.
 */
#ifndef DAEMON_SERVE_INFER_VALUES_H
#define DAEMON_SERVE_INFER_VALUES_H

#include <stddef.h>

#include "common/buf.h"
#include "daemon/serve/infer/tensor.h"

/* Reads `text`, an array with its brackets in UTF-8, as t->elements elements of t->type, and
 * appends their bytes to `out`. 0; -EINVAL or -ENOMEM and why. */
int values_read(const struct tensor *t, const char *text, size_t bytes, struct buf *out,
                struct refusal *why);

/* A flat array of a tensor that was checked. 0, or -EINVAL where JSON has no such value, and why.
 * A buffer that did not grow says so by itself. */
int values_write(struct buf *json, const struct tensor *t, struct refusal *why);

#endif
