/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the statistics of a run.
 *
 * Owner: fleet_run. Thread: its owner's.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_TALLY_H
#define DAEMON_SIM_PLACE_FLEET_TALLY_H

#include "daemon/sim/place/fleet_state.h"

/* Adds the time up to `to_ns` with the present state. Returns 0 or -ENOMEM. */
int fleet_tally_pass(struct fleet *f, int64_t to_ns);
/* Adds an ended job. */
void fleet_tally_job(struct fleet *f, uint32_t job);
/* Computes the totals at the end. Returns 0 or -ENOMEM. */
int fleet_tally_all(struct fleet *f);

#endif
