/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to place a job on a GPU: (7) to (10).
 *
 * Owner: none, it only looks. Thread: the owner's of what it looks at.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_COST_H
#define DAEMON_PLACE_ASSIGNMENT_COST_H

#include "daemon/place/state/place_state.h"

/* (8): the part of the GPU's memory that is used then. */
double cost_memory(const struct place *p, const struct demand *d, const struct gpu *gpu);
/* (9) of (10): by how much jobs on it are slowed down then. */
double cost_util(const struct place *p, const struct demand *d, const struct gpu *gpu);
/* (7). */
double cost_of(const struct place *p, const struct demand *d, const struct gpu *gpu);

/* No GPU of a branch costs less. */
double cost_memory_least(const struct place *p, const struct demand *d,
                         const struct index_kind *kind, const struct gpus_span *span);
double cost_least(const struct place *p, const struct demand *d, const struct index_kind *kind,
                  const struct gpus_span *span);

#endif
