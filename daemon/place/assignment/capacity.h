/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a job fits: (4) to (6). CPU and memory of nodes are counted by task (nodes_hold), GPUs
 * one by one.
 *
 * Owner: none, it only looks. Thread: the owner's of what it looks at.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_CAPACITY_H
#define DAEMON_PLACE_ASSIGNMENT_CAPACITY_H

#include "daemon/place/state/place_state.h"

/* Memory that is used on a GPU with this job on it as well. */
uint64_t capacity_after(const struct gpus_use *use, const struct demand *d);
/* No GPU of a branch would have less, or more. */
uint64_t capacity_least_after(const struct gpus_span *span, const struct demand *d);
uint64_t capacity_most_after(const struct gpus_span *span, const struct demand *d);

/* Whether nobody can come to it, whoever that is. */
bool capacity_closed(const struct place *p, const struct gpu *gpu);
/* Whether a GPU that is not closed can have the job; its node's labels, CPU and memory aside. */
bool capacity_fits(const struct place *p, const struct demand *d, const struct gpu *gpu);
/* False: no GPU of a branch can. */
bool capacity_may(const struct place *p, const struct demand *d, const struct index_kind *kind,
                  const struct gpus_span *span);

/* Whether nodes of this kind may have it at all: labels, and the side of policy separate. */
bool capacity_allows(const struct place *p, const struct demand *d, uint64_t labels,
                     enum place_kind side);

#endif
