/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests whether a job fits: conditions (4) to (6). CPU and memory of nodes are counted per task
 * (nodes_hold), GPUs one by one.
 *
 * Owner: none, only reads. Thread: the owner's of what it reads.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_CAPACITY_H
#define DAEMON_PLACE_ASSIGNMENT_CAPACITY_H

#include "daemon/place/state/place_state.h"

/* Memory in use on a GPU once this job is on it as well. */
uint64_t capacity_after(const struct gpus_use *use, const struct demand *d);
/* Lower and upper bound of capacity_after for all GPUs of a branch. */
uint64_t capacity_least_after(const struct gpus_span *span, const struct demand *d);
uint64_t capacity_most_after(const struct gpus_span *span, const struct demand *d);

/* Tests whether no further job, whatever it wants, can be placed on the GPU. */
bool capacity_closed(const struct place *p, const struct gpu *gpu);
/* Tests whether a GPU that is not closed can take the job; ignores its node's labels, CPU and
 * memory. */
bool capacity_fits(const struct place *p, const struct demand *d, const struct gpu *gpu);
/* If false, no GPU of a branch can take the job; if true, one may. */
bool capacity_may(const struct place *p, const struct demand *d, const struct index_kind *kind,
                  const struct gpus_span *span);

/* Tests whether nodes of this kind may run the job at all: labels, and the side of policy
 * separate. */
bool capacity_allows(const struct place *p, const struct demand *d, uint64_t labels,
                     enum place_kind side);

#endif
