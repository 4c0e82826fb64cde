/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes a run from its first event to its last (sim.h).
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_SIM_RUN_SIM_RUN_H
#define DAEMON_SIM_RUN_SIM_RUN_H

#include "daemon/sim/run/sim.h"

/* Returns 0, -EINVAL (configuration), -EPROTO (the scheduler broke a rule, or jobs are stuck),
 * -EOVERFLOW (virtual time) or -ENOMEM, with a sentence in `why` (SIM_WHY_BYTES). */
int sim_run(struct sim_result *out, const struct workload *w, const struct sim_config *config,
            char *why);
void sim_result_finish(struct sim_result *r);

#endif
