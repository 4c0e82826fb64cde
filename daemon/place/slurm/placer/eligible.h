/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the nodes on which a job may be placed: nodes of its partitions that are not excluded,
 * have its features and were not tried without success. This only narrows the choice: Slurm rejects
 * what it forbids otherwise. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_ELIGIBLE_H
#define DAEMON_PLACE_SLURM_PLACER_ELIGIBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/place/slurm/placer/world.h"

/* Tests for supported features: words joined by '&', or words joined by '|'. For others (counts,
 * brackets) job_submit.lua leaves the choice to Slurm. */
bool eligible_understands(const char *features);

/* Sets out[i] per node and returns the number of eligible nodes. If all were tried without success,
 * all are eligible again. */
size_t eligible_nodes(const struct world *w, const struct world_job *job, bool *out);

/* Tests quickly whether two jobs surely have the same eligible nodes; most jobs resemble others. */
bool eligible_alike(const struct world_job *a, const struct world_job *b);

#endif
