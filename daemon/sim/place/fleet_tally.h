/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of a run of a fleet.
 *
 * Owner: fleet_run. Thread: its.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_TALLY_H
#define DAEMON_SIM_PLACE_FLEET_TALLY_H

#include "daemon/sim/place/fleet_state.h"

/* Time passes, with the fleet as it is. 0 or -ENOMEM. */
int fleet_tally_pass(struct fleet *f, int64_t to_ns);
/* A job is over. */
void fleet_tally_job(struct fleet *f, uint32_t job);
/* The run is over. 0 or -ENOMEM. */
int fleet_tally_all(struct fleet *f);

#endif
