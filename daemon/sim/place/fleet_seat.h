/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on the GPUs of a fleet, and their memory.
 *
 * Owner: fleet_run. Thread: its owner's.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_SEAT_H
#define DAEMON_SIM_PLACE_FLEET_SEAT_H

#include "daemon/sim/place/fleet_state.h"

/* Returns 0 or -ENOMEM. */
int fleet_seat_take(struct fleet *f, uint32_t job, uint32_t gpu);
void fleet_seat_leave(struct fleet *f, uint32_t job);
/* True if the GPU has enough memory for all its jobs that are not certain to run out of memory. */
bool fleet_seat_fits(const struct fleet *f, uint32_t gpu);

#endif
