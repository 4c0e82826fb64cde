/* SPDX-License-Identifier: Apache-2.0
 *
 * slurmctld, asked and told through libslurm. Needs the rights of SlurmUser, or of an operator.
 *
 * Owner: the placer. Thread: its one, which waits for answers.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_CTLD_H
#define DAEMON_PLACE_SLURM_PLACER_CTLD_H

#include "common/arena.h"
#include "daemon/place/slurm/placer/fresh.h"
#include "daemon/place/slurm/placer/world.h"

struct ctld_config {
    const char *gres;
    int64_t stale_ns; /* a report that has not changed for so long is none */
};

/* A moment of it, all in `memory`. 0, -ENOMEM, or -EIO with the reason in `why`. Of a node that
 * reports nonsense it says so in the log, once. */
int ctld_look(const struct ctld_config *config, struct fresh *fresh, struct arena *memory,
              struct world *w, char *why, size_t cap);

/* The job, or that task of an array (WORLD_NO_TASK: it is none), has this note, must run on note's
 * node (or, where that has none, anywhere), and begins at `begins` (s since 1970). All of it or,
 * where the job has begun or ended meanwhile, nothing: -EIO with Slurm's reason. */
int ctld_set_job(uint32_t id, uint32_t task, const struct note *note, int64_t begins, char *why,
                 size_t cap);

/* The job, which has ended, is queued again, as it was submitted. 0, or -EIO as above. */
int ctld_requeue(uint32_t id, char *why, size_t cap);

#endif
