/* SPDX-License-Identifier: Apache-2.0
 *
 * The conditional node that stands at a stream's cursor: its bodies are read one after the other
 * (body.h).
 *
 * Owner: the stream. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_CONDITIONAL_H
#define DAEMON_WORKER_STREAM_CONDITIONAL_H

#include "daemon/worker/stream/body.h"

struct choice {
    struct body body; /* the latest */
    uint64_t turns;   /* bodies that were begun */
};

/* The operation at the cursor is one, and it is its turn. 0 or -ENOMEM. */
int conditional_begin(struct stream *s);

/* The node that a body is of which no kernel launched. */
static inline struct choice *conditional_of(struct body *b) {
    return list_entry(b, struct choice, body);
}
/* This body. 0 or -ENOMEM. */
int conditional_enter(struct choice *c, struct graph *body);

#endif
