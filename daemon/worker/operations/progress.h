/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's records of an operation: pushed, complete, freed. Owner: the client. Thread: the
 * worker's.
 */
#ifndef DAEMON_WORKER_OPERATIONS_PROGRESS_H
#define DAEMON_WORKER_OPERATIONS_PROGRESS_H

#include "daemon/worker/client.h"
#include "daemon/worker/stream/body.h"

/* Takes the stream's completed operations off its head, and resumes streams and deferred requests
 * that waited for them. */
void progress_retire(struct client *c, struct stream *s);

/* Appends it to its stream. 0 or -ENOMEM, with `op` still the caller's. */
static inline int progress_push(struct client *c, struct stream *s, struct op *op) {
    int err = stream_push(s, op);
    if (err) return err;
    boundary_pushed(&c->boundary, op, &c->worker->boundaries.passing);
    if (client_dead(c)) progress_retire(c, s);
    return 0;
}

/* Appends a graph body's operation to its inner stream likewise. It counts in the iteration of the
 * operation that entered the body. */
static inline int progress_push_inner(struct client *c, struct stream *lane, struct op *op) {
    int err = body_push(lane, op);
    if (!err && client_dead(c)) progress_retire(c, lane);
    return err;
}

/* Completes the operation at the stream's cursor, which the device does not run: a conditional
 * node, or the end of a graph whose kernels launch others. */
void progress_end_aside(struct client *c, struct stream *s);

/* Gives an operation, which is complete or was not pushed, back to the client's pool, and drops
 * what it holds. */
static inline void progress_drop(struct client *c, struct op *op) {
    launch_profile_drop(c->worker->profiles.kernels, op);
    if (op->kind == WIRE_GRAPH_CHOICE) graph_drop_choice(&op->choice);
    op_give(&c->pool, op);
}

#endif
