/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation's way through its client's books: pushed, complete, freed. Owner: the client.
 * Thread: the worker's.
 */
#ifndef DAEMON_WORKER_OPERATIONS_PROGRESS_H
#define DAEMON_WORKER_OPERATIONS_PROGRESS_H

#include "daemon/worker/client.h"
#include "daemon/worker/stream/body.h"

/* What is complete of the stream is freed, and what waited for it goes on. */
void progress_retire(struct client *c, struct stream *s);

/* Appends it to its stream. 0 or -ENOMEM, with `op` still the caller's. */
static inline int progress_push(struct client *c, struct stream *s, struct op *op) {
    int err = stream_push(s, op);
    if (err) return err;
    boundary_pushed(&c->boundary, op, &c->worker->boundaries.passing);
    if (client_dead(c)) progress_retire(c, s);
    return 0;
}

/* The same, of a body's to its inner stream: the iteration is that of whose place it has. */
static inline int progress_push_inner(struct client *c, struct stream *lane, struct op *op) {
    int err = body_push(lane, op);
    if (!err && client_dead(c)) progress_retire(c, lane);
    return err;
}

/* What has begun at the stream's cursor and is no affair of the device is complete: a conditional
 * node, or what ends a graph whose kernels launch others. */
void progress_end_aside(struct client *c, struct stream *s);

/* An operation that was not pushed is freed. */
static inline void progress_drop(struct client *c, struct op *op) {
    launch_profile_drop(c->worker->profiles.kernels, op);
    if (op->kind == WIRE_GRAPH_CHOICE) graph_drop_choice(&op->choice);
    op_give(&c->pool, op);
}

#endif
