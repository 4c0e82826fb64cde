/* SPDX-License-Identifier: Apache-2.0
 *
 * Which jobs may wait for one another, since they are parts of one run: those with the same
 * SALUS_RUN, and those whose process descends from another one's. The scheduler admits them
 * together or refuses them (docs/scheduling.md). Owner: struct attachments. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_JOBS_RUNS_H
#define DAEMON_BROKER_JOBS_RUNS_H

#include <stdbool.h>

#include "daemon/broker/jobs/ancestry.h"
#include "daemon/broker/jobs/attachments.h"

/* The name of the job's run among its user's: that of a job from whose process it descends, else of
 * its SALUS_RUN, else of its process, and empty where that is not known. No group that a job can
 * name has such a one. */
void runs_name(const struct attachments *as, const struct job *job, const struct ancestry *ancestry,
               char out[GROUPS_NAME_BYTES]);

/* True if a job of its user and of that run is attached. */
bool runs_has(const struct attachments *as, const struct job *job,
              const char name[GROUPS_NAME_BYTES]);

#endif
