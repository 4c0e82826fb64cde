/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of a client's requests that take effect one after the other
 * (requests/deferred_request.h). While one waits, operations sent after it do not start.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_DEFERRED_H
#define DAEMON_WORKER_STREAM_DEFERRED_H

#include <stdbool.h>

#include "daemon/worker/stream/stream.h"

/* Appends a record behind all operations pushed so far. */
void deferred_add(struct stream_set *set, struct op *op);
/* Takes the first record off the list, because it is due. */
struct op *deferred_take(struct stream_set *set);
/* True when all operations pushed before the first record are complete. */
static inline bool deferred_due(const struct stream_set *set) {
    return set->completed >= set->deferred->number;
}

#endif
