/* SPDX-License-Identifier: Apache-2.0
 *
 * One waiting job is tried: it starts, is refused, or waits on. What cannot have changed since it
 * was tried last is not looked at again.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_QUEUE_ATTEMPT_H
#define DAEMON_PLACE_QUEUE_ATTEMPT_H

#include "daemon/place/state/place_state.h"

/* Whether it waits on. */
bool attempt_run(struct place *p, uint32_t job);

/* Whether it might find a place that was not there when it was tried last. */
static inline bool attempt_is_worth(const struct place *p, uint32_t job) {
    return p->jobs.at[job].tried != p->changes;
}

#endif
