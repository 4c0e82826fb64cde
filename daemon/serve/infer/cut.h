/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of a request without its tensors' data: what is left is small whatever the tensors are,
 * and shallow, so that a general parser may have it; the data is read by values.h, straight into
 * bytes, and without a number that goes through a double. Pure; not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_CUT_H
#define DAEMON_SERVE_INFER_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "daemon/serve/infer/refusal.h"

#define CUT_MAX_NESTING 16
#define CUT_MAX_INPUTS 64
#define CUT_MAX_BYTES 65536 /* of what is left */

struct cut_span {
    const char *text; /* NULL: there is none */
    size_t bytes;
};

struct cut {
    struct buf rest; /* a 0 stands where data was */
    /* Of inputs[i].data, with its brackets, in the text that was cut. */
    struct cut_span data[CUT_MAX_INPUTS];
};

/* 0, or -EINVAL and why; then too the caller finishes it. That the rest is JSON is not checked;
 * that all is UTF-8, that strings end and have no control characters is. Keys are without escapes,
 * strings outside of data without a NUL. */
int cut_json(struct cut *c, const char *text, size_t bytes, struct refusal *why);
void cut_finish(struct cut *c);

#endif
