/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks slurmctld about a job from its node: whether it uses Salus, and where the placer put it.
 *
 * Owner: the caller. Thread: the caller's, which waits.
 */
#ifndef DAEMON_PLACE_SLURM_SPANK_SPANK_JOB_H
#define DAEMON_PLACE_SLURM_SPANK_SPANK_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/slurm/job_note.h"

struct job {
    bool shares;      /* the job has some of the GRES */
    struct note note; /* without a note: `gpu` is NOTE_ANY_GPU, all other members are 0 */
    bool noted;
};

/* Returns 0, or -EIO if slurmctld did not answer. */
int spank_job_ask(uint32_t id, const char *gres, struct job *j);

/* Ends a batch job that just begins and queues it again, as its user. Returns 0 or -EIO. */
int spank_job_requeue(uint32_t id);

/* Drains the node: no job starts there until it is resumed. A node that is already drained keeps
 * its reason. */
void spank_job_drain_node(const char *node, const char *why);

#endif
