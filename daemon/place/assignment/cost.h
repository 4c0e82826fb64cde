/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost of placing a job on a GPU: (7) to (10).
 *
 * Owner: none, only reads. Thread: the owner's of what it reads.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_COST_H
#define DAEMON_PLACE_ASSIGNMENT_COST_H

#include "daemon/place/state/place_state.h"

/* (8): the fraction of the GPU's memory in use with the job. */
double cost_memory(const struct place *p, const struct demand *d, const struct gpu *gpu);
/* (9) at the utilisation (10): slowdown of the jobs on the GPU once the job is there as well. */
double cost_util(const struct place *p, const struct demand *d, const struct gpu *gpu);
/* (7): the total cost. */
double cost_of(const struct place *p, const struct demand *d, const struct gpu *gpu);

/* Lower bounds on the costs of all GPUs of a branch. */
double cost_memory_least(const struct place *p, const struct demand *d,
                         const struct index_kind *kind, const struct gpus_span *span);
double cost_least(const struct place *p, const struct demand *d, const struct index_kind *kind,
                  const struct gpus_span *span);

#endif
