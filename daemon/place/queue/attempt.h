/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries one waiting job: it starts, is refused, or keeps waiting. Skips what cannot have changed
 * since it was tried last.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_QUEUE_ATTEMPT_H
#define DAEMON_PLACE_QUEUE_ATTEMPT_H

#include "daemon/place/state/place_state.h"

/* Returns true if the job keeps waiting. */
bool attempt_run(struct place *p, uint32_t job);

/* Tests whether resources were freed since the job was tried last, or the job was never tried. */
static inline bool attempt_is_worth(const struct place *p, uint32_t job) {
    return p->jobs.at[job].tried != p->changes;
}

#endif
