/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations pushed and completed.
 */
#include "daemon/worker/operations/progress.h"

#include "daemon/worker/requests/deferred_request.h"
#include "daemon/worker/residency/savepoint_writer.h"

void progress_retire(struct client *c, struct stream *s) {
    struct op *op = stream_retire(s);
    uint64_t count = 0;
    if (!op) return;
    for (struct op *next; op; op = next, count++) {
        next = op->next;
        if (!s->parent)
            boundary_completed(&c->boundary, op->iteration, &c->worker->boundaries.passing);
        progress_drop(c, op);
    }
    if (s->parent) body_retired(s, count);
    if (c->streams.completed == c->streams.pushed)
        iteration_returned(c->boundary.detector, c->worker->now_ns);
    if (c->streams.deferred) deferred_request_run(c);
    savepoint_writer_look(c);
}

void progress_end_aside(struct client *c, struct stream *s) {
    struct op *op = stream_at(s, s->cursor);
    op->state = OP_DONE;
    op->dev.end_ns = c->worker->now_ns;
    s->state = STREAM_READY;
    progress_retire(c, s);
}
