/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out the scheduler's actions like a worker.
 */
#ifndef DAEMON_SIM_RUN_SIM_ACTION_H
#define DAEMON_SIM_RUN_SIM_ACTION_H

#include "daemon/sim/run/sim_state.h"

/* Returns 0, or -EPROTO if an action breaks a rule. */
int sim_carry_out(struct sim *s, const struct sched_actions *actions);

#endif
