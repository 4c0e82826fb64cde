/* SPDX-License-Identifier: Apache-2.0
 *
 * Two baselines of the Orion paper (section 6.1) without a rule of their own: every operation that
 * may run goes, in order of arrival over all jobs that have a turn, up to each job's in-flight cap.
 */
#include "daemon/sched/policy/policy.h"

/* Behaves as if each job had streams of its own. */
const struct policy pol_streams = {.name = "streams"};

/* "Time-slices the GPU by executing one job's request at a time, while prioritizing the
 * high-priority job": turns do that when the whole device has a single one, since a higher priority
 * gets it first. */
const struct policy pol_temporal = {.name = "temporal", .exclusive = true};
