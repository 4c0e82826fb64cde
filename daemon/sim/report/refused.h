/* SPDX-License-Identifier: Apache-2.0
 *
 * Explains why a run refused a job, in the daemon's words.
 */
#ifndef DAEMON_SIM_REPORT_REFUSED_H
#define DAEMON_SIM_REPORT_REFUSED_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

#define REFUSED_BYTES 192
#define REFUSED_LINES 20u /* further jobs are only counted */

/* Returns false with an empty text if the job was not refused. */
bool refused_why(const struct workload *w, const struct sim_job_result *r, uint32_t job,
                 char out[REFUSED_BYTES]);
/* Writes one line per job. */
void refused_lines(const struct workload *w, const struct sim_result *r, const char *policy,
                   FILE *out);

#endif
