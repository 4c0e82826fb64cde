/* SPDX-License-Identifier: Apache-2.0
 *
 * Simulates each job of a workload alone, with the same random numbers, as the reference for
 * slowdowns. All runs form one result: each job has its own times, and the totals treat the runs as
 * sequential.
 *
 * Owner: the caller.
 */
#ifndef DAEMON_SIM_REPORT_ALONE_H
#define DAEMON_SIM_REPORT_ALONE_H

#include "daemon/sim/run/sim.h"

#define ALONE_JOBS 1000u /* for more jobs, times alone are not computed */

/* Lane policy, parameters, seed and contention are those of `config`; the kernel policy is streams.
 * Returns 0, or an error of sim_run with its sentence in `why`. sim_result_finish frees the
 * result. */
int alone_run(struct sim_result *out, const struct workload *w, const struct sim_config *config,
              char *why);

/* Time of the job relative to alone: of a request for a server, else of the same number of
 * iterations. 0: one of the two runs completed nothing. */
double alone_slowdown(const struct sim_result *alone, const struct sim_result *r,
                      const struct workload *w, uint32_t job);

#endif
