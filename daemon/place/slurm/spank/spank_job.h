/* SPDX-License-Identifier: Apache-2.0
 *
 * What slurmctld knows of a job, asked from its node: whether it is one of Salus's, and where the
 * placer put it.
 *
 * Owner: the caller. Thread: the caller's, which waits.
 */
#ifndef DAEMON_PLACE_SLURM_SPANK_SPANK_JOB_H
#define DAEMON_PLACE_SLURM_SPANK_SPANK_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/slurm/note.h"

struct job {
    bool shares;      /* it has some of the GRES */
    struct note note; /* NOTE_ANY_GPU and no class where it has none */
    bool noted;
};

/* 0, or -EIO: it could not be asked. */
int spank_job_ask(uint32_t id, const char *gres, struct job *j);

/* A batch job that begins just now: it ends, and is queued again. As its user. 0 or -EIO. */
int spank_job_requeue(uint32_t id);

/* No job starts on this node until somebody resumes it. One that is drained keeps its reason. */
void spank_job_drain_node(const char *node, const char *why);

#endif
