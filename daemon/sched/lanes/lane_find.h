/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the lane for a job that arrives or has to leave its own: FINDLANE (Salus, Algorithm 1,
 * lines 21-39). Moves no job and changes no size. Owner and thread: those of lane.h.
 */
#ifndef DAEMON_SCHED_LANES_LANE_FIND_H
#define DAEMON_SCHED_LANES_LANE_FIND_H

#include "daemon/sched/lanes/lane_state.h"

struct lane_choice {
    enum lane_how how;
    uint32_t lane; /* set for FITTED and REPLACED */
};

/* Increments the stamp and puts it on every lane with a member of `group`. */
void lanes_bar(struct lanes *l, uint32_t group);
/* FINDLANE. Changes nothing but stamps. */
struct lane_choice lanes_find(struct lanes *l, const struct lane_need *need);
/* Returns the lane to which a member of a draining lane can move, or LANE_NONE. Changes nothing but
 * stamps. */
uint32_t lanes_target(struct lanes *l, uint32_t job);
/* Marks a lane as draining or not. A draining lane takes no job. */
void lanes_mark(struct lanes *l, uint32_t lane, bool draining);

#endif
