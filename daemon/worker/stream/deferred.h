/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that take effect only when everything the client sent before them is complete. While one
 * waits, what the client sent after it does not start, so that nothing of the client is on the
 * device when it takes effect.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_DEFERRED_H
#define DAEMON_WORKER_STREAM_DEFERRED_H

#include <stdbool.h>

#include "daemon/worker/stream/stream.h"

/* Behind all that was pushed so far. */
void deferred_add(struct stream_set *set, struct op *op);
/* Takes the first off the list: its turn has come. */
struct op *deferred_take(struct stream_set *set);
/* All that was pushed before the first of the list is complete. */
static inline bool deferred_due(const struct stream_set *set) {
    return set->completed >= set->deferred->number;
}

#endif
