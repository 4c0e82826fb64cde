/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations pushed and completed.
 */
#include "daemon/worker/engine/progress.h"

#include "daemon/worker/client.h"
#include "daemon/worker/engine/defer.h"

int progress_push(struct client *c, struct stream *s, struct op *op) {
    int err = stream_push(s, op);
    if (err) return err;
    boundary_pushed(&c->boundary, op, &c->worker->passing);
    if (client_dead(c)) progress_retire(c, s);
    return 0;
}

void progress_drop(struct client *c, struct op *op) {
    profiling_drop(c->worker->kernels, op);
    op_give(&c->pool, op);
}

void progress_retire(struct client *c, struct stream *s) {
    struct op *op = stream_retire(s);
    if (!op) return;
    for (struct op *next; op; op = next) {
        next = op->next;
        boundary_completed(&c->boundary, op->iteration, &c->worker->passing);
        progress_drop(c, op);
    }
    if (c->streams.deferred) defer_run(c);
}
