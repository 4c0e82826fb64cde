/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts Slurm's job records to world_job: a waiting array becomes one job per next task, and a
 * running job of several nodes one per node.
 *
 * Owner: ctld. Thread: its only one.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_RECORDS_H
#define DAEMON_PLACE_SLURM_PLACER_RECORDS_H

#include <slurm/slurm.h>

#include "common/arena.h"
#include "daemon/place/slurm/placer/world.h"

struct records {
    const job_info_msg_t *jobs;
    const char *gres;
    struct arena *memory;     /* allocator of the results */
    struct world_node *nodes; /* the CPUs of jobs that are not ours are subtracted from `cpus` */
    struct world *w;          /* input: the nodes; output: the jobs */
};

/* Returns 0 or -ENOMEM. */
int records_take(struct records *r);

/* Converts pairs of first and last index, ended by -1, to one flag per node. NULL if memory is
 * short. */
bool *records_nodes(struct arena *memory, const int32_t *pairs, size_t node_count);

/* A copy in `memory`; "" for NULL or if memory is short. */
const char *records_text(struct arena *memory, const char *text);

#endif
