/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations pushed and completed.
 */
#include "daemon/worker/engine/progress.h"

#include "daemon/worker/engine/defer.h"

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
