/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that may wait for one another because they belong to one run: those with the same SALUS_RUN,
 * and those whose process descends from another's. The scheduler admits or refuses them together
 * (docs/scheduling.md). Owner: struct attachments. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_JOBS_RUNS_H
#define DAEMON_BROKER_JOBS_RUNS_H

#include <stdbool.h>

#include "daemon/broker/jobs/ancestry.h"
#include "daemon/broker/jobs/attachments.h"

/* Sets the name of the job's run among those of its user: the run of a job from whose process it
 * descends, else from its SALUS_RUN, else from its process; empty if that is unknown. No group that
 * a job can name has such a name. */
void runs_name(const struct attachments *as, const struct job *job, const struct ancestry *ancestry,
               char out[GROUPS_NAME_BYTES]);

/* A job of its user and of that run is attached. */
bool runs_has(const struct attachments *as, const struct job *job,
              const char name[GROUPS_NAME_BYTES]);

#endif
