/* SPDX-License-Identifier: Apache-2.0
 *
 * Latency targets in a run.
 */
#ifndef DAEMON_SIM_RUN_SIM_SLO_H
#define DAEMON_SIM_RUN_SIM_SLO_H

#include "daemon/sim/run/sim_state.h"

/* Called after each step. */
void sim_note_slos(struct sim *s);

#endif
