/* SPDX-License-Identifier: Apache-2.0
 *
 * Separates the tensors' data from the JSON of a request. The rest is small and shallow, so that a
 * general parser can read it. values.h converts the data directly into bytes, without passing
 * numbers through a double. Pure; not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_REQUEST_SPLIT_H
#define DAEMON_SERVE_INFER_REQUEST_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "daemon/serve/infer/refusal.h"

#define SPLIT_MAX_NESTING 16
#define SPLIT_MAX_INPUTS 64
#define SPLIT_MAX_BYTES 65536 /* limit of the JSON without the tensors' data */

struct split_span {
    const char *text; /* NULL: none */
    size_t bytes;
};

struct cut {
    struct buf rest; /* the JSON with a 0 in place of each data array */
    /* Per input: its data array including brackets, within the original text. */
    struct split_span data[SPLIT_MAX_INPUTS];
};

/* Returns 0, or -EINVAL or -ENOMEM with the error in `why`; the caller finishes the struct in
 * either case. Does not check that the rest is valid JSON, but checks that all text is UTF-8, and
 * that strings end and have no control characters. Keys must have no escapes, and strings outside
 * of data no NUL. */
int request_split_json(struct cut *c, const char *text, size_t bytes, struct refusal *why);
void request_split_finish(struct cut *c);

#endif
