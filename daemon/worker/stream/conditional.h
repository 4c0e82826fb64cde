/* SPDX-License-Identifier: Apache-2.0
 *
 * The conditional node at a stream's cursor: its bodies are read one after the other (body.h).
 *
 * Owner: the stream. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_CONDITIONAL_H
#define DAEMON_WORKER_STREAM_CONDITIONAL_H

#include "daemon/worker/stream/body.h"

struct choice {
    struct body body; /* the latest body */
    uint64_t turns;   /* bodies that were begun */
};

/* Begins the conditional node at the cursor, whose turn it is. 0 or -ENOMEM. */
int conditional_begin(struct stream *s);

/* The node of a body that no kernel launched. */
static inline struct choice *conditional_of(struct body *b) {
    return list_entry(b, struct choice, body);
}
/* Begins this body. 0 or -ENOMEM. */
int conditional_enter(struct choice *c, struct graph *body);

#endif
