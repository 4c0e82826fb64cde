/* SPDX-License-Identifier: Apache-2.0
 *
 * An iteration as a request of a client that waits for it: its start and its latency.
 */
#ifndef DAEMON_SCHED_DISPATCH_REQUEST_H
#define DAEMON_SCHED_DISPATCH_REQUEST_H

#include "daemon/sched/state.h"

/* Begins the request when the first operation of the job's current iteration arrives. */
static inline void request_begin(struct sched_state *st, struct sched_job *j) {
    if (j->requested) return;
    j->requested = true;
    j->request_at_ns = st->now_ns;
}
/* Ends the request at a boundary. Returns whether there was one; its request_ns is set then. */
bool request_end(struct sched_state *st, struct sched_job *j);
/* Called before the set of operations on the device changes: records that jobs shared it until now.
 */
static inline void request_mixed(struct sched_state *st) {
    if (st->active > 1) st->mixed_ns = st->now_ns;
}

#endif
