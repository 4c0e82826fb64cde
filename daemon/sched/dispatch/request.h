/* SPDX-License-Identifier: Apache-2.0
 *
 * What an iteration is to a client that waits for it: when it began, how long it took.
 */
#ifndef DAEMON_SCHED_DISPATCH_REQUEST_H
#define DAEMON_SCHED_DISPATCH_REQUEST_H

#include "daemon/sched/state.h"

/* An operation of the job's current iteration came. */
static inline void request_begin(struct sched_state *st, struct sched_job *j) {
    if (j->requested) return;
    j->requested = true;
    j->request_at_ns = st->now_ns;
}
/* Its iteration is complete: whether that was a request, whose request_ns is known now. */
bool request_end(struct sched_state *st, struct sched_job *j);
/* What is on the device changes now: until this moment, jobs may have shared it. */
static inline void request_mixed(struct sched_state *st) {
    if (st->active > 1) st->mixed_ns = st->now_ns;
}

#endif
