/* SPDX-License-Identifier: Apache-2.0
 *
 * The lane for a job that comes, or that has to leave its own: FINDLANE (Salus, Algorithm 1, lines
 * 21-39). Nothing here moves a job or changes a size. Owner and thread: those of lane.h.
 */
#ifndef DAEMON_SCHED_LANES_LANE_FIND_H
#define DAEMON_SCHED_LANES_LANE_FIND_H

#include "daemon/sched/lanes/lane_state.h"

struct lane_choice {
    enum lane_how how;
    uint32_t lane; /* FITTED, REPLACED */
};

/* Begins a new stamp and puts it on the lanes that hold a member of `group`. */
void lanes_bar(struct lanes *l, uint32_t group);
/* FINDLANE: changes nothing but stamps. */
struct lane_choice lanes_find(struct lanes *l, const struct lane_need *need);
/* The lane to which a member of a draining lane can go, or LANE_NONE. Changes nothing but stamps.
 */
uint32_t lanes_target(struct lanes *l, uint32_t job);
/* Lanes that drain take no job. */
void lanes_mark(struct lanes *l, uint32_t lane, bool draining);

#endif
