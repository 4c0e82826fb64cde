/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the invariants of lanes by recomputing them from the members. For tests and checked
 * builds: costs O(jobs + lanes), and O(n^2) in the members of a group. Owner and thread: those of
 * lane.h.
 */
#ifndef DAEMON_SCHED_LANES_LANE_CHECK_H
#define DAEMON_SCHED_LANES_LANE_CHECK_H

struct lanes;

/* Returns NULL or the first invariant that fails. */
const char *lanes_check(const struct lanes *l);

#endif
