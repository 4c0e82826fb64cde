/* SPDX-License-Identifier: Apache-2.0
 *
 * "Reorganize lane assignments to existing jobs to reduce the size of ephemeral region" (Salus,
 * section 3.3.2, third bullet; "an open question" there). Here as few lanes as possible are emptied
 * into the others, the smallest first, so that the waiting job fits.
 *
 * A plan is only a set of draining lanes. Each job's target is decided when the job moves, in any
 * order, by best fit. That is sound for three reasons. Members of a group, which exclude one
 * another, take distinct lanes. The lanes large enough for one member are among those large enough
 * for a smaller one. Best fit then ends with the same lanes taken in any order, as in linear
 * probing. So it suffices to rehearse a plan in one order.
 *
 * A lane counts with its size after its next boundary when jobs are to move into it, and with its
 * present size when memory is summed up. So boundaries between the moves invalidate nothing.
 *
 * Owner and thread: those of lane.h.
 */
#ifndef DAEMON_SCHED_LANES_LANE_PLAN_H
#define DAEMON_SCHED_LANES_LANE_PLAN_H

#include "daemon/sched/lanes/lane_state.h"

/* Marks lanes as draining so that a job with this need fits once they are closed. */
void lane_plan(struct lanes *l, const struct lane_need *need);

#endif
