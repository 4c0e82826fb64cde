/* SPDX-License-Identifier: Apache-2.0
 *
 * The actions of the scheduler, as a worker would carry them out.
 */
#ifndef DAEMON_SIM_RUN_SIM_ACTION_H
#define DAEMON_SIM_RUN_SIM_ACTION_H

#include "daemon/sim/run/sim_state.h"

/* 0, or -EPROTO when an action breaks a rule. */
int sim_carry_out(struct sim *s, const struct sched_actions *actions);

#endif
