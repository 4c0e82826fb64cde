/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a run had no place for a job, in the words in which the daemon refuses it.
 */
#ifndef DAEMON_SIM_REPORT_REFUSED_H
#define DAEMON_SIM_REPORT_REFUSED_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

#define REFUSED_BYTES 192
#define REFUSED_LINES 20u /* the others are counted */

/* False, and an empty text: it was not refused. */
bool refused_why(const struct workload *w, const struct sim_job_result *r, uint32_t job,
                 char out[REFUSED_BYTES]);
/* A line a job. */
void refused_lines(const struct workload *w, const struct sim_result *r, const char *policy,
                   FILE *out);

#endif
