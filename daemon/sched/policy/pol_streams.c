/* SPDX-License-Identifier: Apache-2.0
 *
 * Two baselines of the Orion paper (section 6.1) that have no rule of their own: whatever may run
 * goes, in order of arrival over all jobs that have a turn, up to each job's in-flight cap.
 */
#include "daemon/sched/policy/policy.h"

/* As if each job had streams of its own. */
const struct policy pol_streams = {.name = "streams"};

/* "Time-slices the GPU by executing one job's request at a time, while prioritizing the
 * high-priority job": that is what turns do when there is one for the whole device, for a higher
 * priority gets it first. */
const struct policy pol_temporal = {.name = "temporal", .exclusive = true};
