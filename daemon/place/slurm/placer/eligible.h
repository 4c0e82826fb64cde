/* SPDX-License-Identifier: Apache-2.0
 *
 * On which nodes a job may be put: those of its partitions that are not excluded, have its features
 * and were not tried in vain. It only narrows: what Slurm forbids beside that, it refuses. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_ELIGIBLE_H
#define DAEMON_PLACE_SLURM_PLACER_ELIGIBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/place/slurm/placer/world.h"

/* Whether job's features can be understood here: words joined by '&', or one with '|'s. Of others
 * (counts, brackets) Slurm's own choice decides, as job_submit.lua has it. */
bool eligible_understands(const char *features);

/* For each node; how many there are. Where all were tried in vain, they all are again. */
size_t eligible_nodes(const struct world *w, const struct world_job *job, bool *out);

/* Whether two jobs surely have the same nodes, without a look at them: most jobs are like others.
 */
bool eligible_alike(const struct world_job *a, const struct world_job *b);

#endif
