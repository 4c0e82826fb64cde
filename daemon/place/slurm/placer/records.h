/* SPDX-License-Identifier: Apache-2.0
 *
 * Slurm's records of jobs, as the world's: an array that waits is a job for each of its next tasks,
 * and a job of several nodes one for each node that it runs on.
 *
 * Owner: ctld. Thread: its one.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_RECORDS_H
#define DAEMON_PLACE_SLURM_PLACER_RECORDS_H

#include <slurm/slurm.h>

#include "common/arena.h"
#include "daemon/place/slurm/placer/world.h"

struct records {
    const job_info_msg_t *jobs;
    const char *gres;
    struct arena *memory;     /* of all that is taken */
    struct world_node *nodes; /* the CPUs of jobs that are not ours are taken off */
    struct world *w;          /* whose nodes are there; its jobs are filled in */
};

/* 0 or -ENOMEM. */
int records_take(struct records *r);

/* Pairs of first and last, ended by -1: a mark for each of so many nodes. NULL: out of memory. */
bool *records_nodes(struct arena *memory, const int32_t *pairs, size_t node_count);

/* A copy that lasts as long as `memory`; "" of NULL, and where there is no memory. */
const char *records_text(struct arena *memory, const char *text);

#endif
