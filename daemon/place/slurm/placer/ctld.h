/* SPDX-License-Identifier: Apache-2.0
 *
 * Access to slurmctld through libslurm. Needs the rights of SlurmUser or of an operator.
 *
 * Owner: the placer. Thread: its only one, which waits for answers.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_CTLD_H
#define DAEMON_PLACE_SLURM_PLACER_CTLD_H

#include "common/arena.h"
#include "daemon/place/slurm/placer/report_age.h"
#include "daemon/place/slurm/placer/world.h"

struct ctld_config {
    const char *gres;
    int64_t stale_ns; /* a report unchanged for longer than this is ignored */
};

/* Reads the cluster's state; all data is in `memory`. Returns 0, -ENOMEM, or -EIO with the reason
 * in `why`. A node with a malformed report is logged once. */
int ctld_look(const struct ctld_config *config, struct report_age *fresh, struct arena *memory,
              struct world *w, char *why, size_t cap);

/* Sets a job's note, its required node (the note's node, or any if the note has none) and its begin
 * time (s since 1970). `task` selects one task of an array; WORLD_NO_TASK selects the job. All is
 * set or, if the job has begun or ended meanwhile, nothing: then -EIO with Slurm's reason. */
int ctld_set_job(uint32_t id, uint32_t task, const struct note *note, int64_t begins, char *why,
                 size_t cap);

/* Queues an ended job again as it was submitted. Returns 0, or -EIO as above. */
int ctld_requeue(uint32_t id, char *why, size_t cap);

#endif
