/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes are kept for a job that was passed by too often: nobody else goes there until it has
 * started. The paper has "reservation for starving jobs" and no word on how. Here it is for the
 * job that waits longest of those that the open nodes could hold: once `patience` jobs that came
 * later have started before it, it gets the nodes of the fewest tasks that would do if they were
 * empty. It may start elsewhere, too. One job at a time: every other one is the longest waiting one
 * day.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_KEEP_H
#define DAEMON_PLACE_ASSIGNMENT_KEEP_H

#include "daemon/place/state/place_state.h"

/* Behind a pass over those that wait. */
void keep_judge(struct place *p);
/* Nobody has nodes kept. */
void keep_release(struct place *p);

/* This job does not wait any more, or wants something else. */
static inline void keep_forget(struct place *p, uint32_t job) {
    if (p->kept_for == job) keep_release(p);
}

#endif
