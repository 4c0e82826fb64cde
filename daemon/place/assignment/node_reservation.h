/* SPDX-License-Identifier: Apache-2.0
 *
 * Reserves nodes for a job that was overtaken too often: no other job is placed there until it has
 * started. The paper has "reservation for starving jobs" without details.
 *
 * Here the candidate is the longest waiting job that the open nodes could hold. Once `patience`
 * jobs that came later have started before it, it gets reserved nodes. These are the nodes with the
 * fewest tasks that would suffice if they were empty. The job may also start elsewhere. Only one
 * job at a time has reservations; every other job becomes the longest waiting one eventually.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_NODE_RESERVATION_H
#define DAEMON_PLACE_ASSIGNMENT_NODE_RESERVATION_H

#include "daemon/place/state/place_state.h"

/* Called after a pass over the waiting jobs. */
void node_reservation_judge(struct place *p);
/* Cancels all reservations. */
void node_reservation_release(struct place *p);

/* Cancels the job's reservation because the job no longer waits or its demand changed. */
static inline void node_reservation_forget(struct place *p, uint32_t job) {
    if (p->kept_for == job) node_reservation_release(p);
}

#endif
