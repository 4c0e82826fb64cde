/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on the GPUs of a fleet, and their memory.
 *
 * Owner: fleet_run. Thread: its owner's.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_PLACEMENT_H
#define DAEMON_SIM_PLACE_FLEET_PLACEMENT_H

#include "daemon/sim/place/fleet_state.h"

/* Returns 0 or -ENOMEM. */
int fleet_placement_take(struct fleet *f, uint32_t job, uint32_t gpu);
void fleet_placement_leave(struct fleet *f, uint32_t job);
/* True if the GPU has enough memory for all its jobs that are not certain to run out of memory. */
bool fleet_placement_fits(const struct fleet *f, uint32_t gpu);

#endif
