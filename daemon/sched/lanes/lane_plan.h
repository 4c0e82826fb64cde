/* SPDX-License-Identifier: Apache-2.0
 *
 * "Reorganize lane assignments to existing jobs to reduce the size of ephemeral region" (Salus,
 * section 3.3.2, third bullet; "an open question" there). Here: the least number of lanes is
 * emptied into the others, the smallest first, so that the waiting job gets in.
 *
 * A plan is only a set of lanes that drain; where each job goes is decided when it moves, in any
 * order, by best fit. That is sound: members that exclude one another (a group) take distinct
 * lanes, the lanes large enough for one are among those large enough for a smaller one, and best
 * fit then ends with the same lanes taken whatever the order, as in linear probing. So a plan is
 * tried by rehearsing it in one order. A lane counts as what it keeps after its next boundary
 * where jobs are to move into it, and as what it has now where memory is summed up: boundaries
 * between the moves spoil nothing.
 *
 * Owner and thread: those of lane.h.
 */
#ifndef DAEMON_SCHED_LANES_LANE_PLAN_H
#define DAEMON_SCHED_LANES_LANE_PLAN_H

#include "daemon/sched/lanes/lane_state.h"

/* Marks lanes as draining so that a job that needs this gets in once they are closed. */
void lane_plan(struct lanes *l, const struct lane_need *need);

#endif
