/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs' events for the scheduler.
 */
#ifndef DAEMON_SIM_RUN_SIM_JOB_H
#define DAEMON_SIM_RUN_SIM_JOB_H

#include "daemon/sim/run/sim_state.h"

/* Adds the events of this moment. Returns 0 or -ENOMEM. */
int sim_gather(struct sim *s);
/* Adds the jobs' immediate answers to the actions. Returns 0 or -ENOMEM. */
int sim_answer(struct sim *s, const struct sched_actions *actions);
uint64_t sim_duration(const struct sim *s, uint32_t job);
/* Ends the jobs that are still present when the run stops. */
void sim_cut(struct sim *s);

#endif
