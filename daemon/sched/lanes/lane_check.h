/* SPDX-License-Identifier: Apache-2.0
 *
 * The invariants of lanes, recomputed from the members. For tests and checked builds: O(jobs +
 * lanes), and the members of a group times each other. Owner and thread: those of lane.h.
 */
#ifndef DAEMON_SCHED_LANES_LANE_CHECK_H
#define DAEMON_SCHED_LANES_LANE_CHECK_H

struct lanes;

/* NULL, or which invariant does not hold. */
const char *lanes_check(const struct lanes *l);

#endif
