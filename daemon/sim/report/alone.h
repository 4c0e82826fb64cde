/* SPDX-License-Identifier: Apache-2.0
 *
 * What each job of a workload would be alone, with the same draws: what others cost it is held
 * against that. As one result, in which each job's times are its own and those of all of them
 * follow one another.
 */
#ifndef DAEMON_SIM_REPORT_ALONE_H
#define DAEMON_SIM_REPORT_ALONE_H

#include "daemon/sim/run/sim.h"

#define ALONE_JOBS 1000u /* of more, nobody's time alone is worked out */

/* The lane policy, knobs, seed and contention are those of `config`, the kernel policy is streams.
 * 0, or an error as sim_run's with its sentence in `why`. sim_result_finish ends it. */
int alone_run(struct sim_result *out, const struct workload *w, const struct sim_config *config,
              char *why);

/* How much longer the job takes than alone, as a factor: of a server a request, of every other the
 * same number of iterations. 0: one of the two came to nothing. */
double alone_slowdown(const struct sim_result *alone, const struct sim_result *r,
                      const struct workload *w, uint32_t job);

#endif
