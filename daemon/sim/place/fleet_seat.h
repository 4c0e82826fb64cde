/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on GPUs of a fleet, and their memory.
 *
 * Owner: fleet_run. Thread: its.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_SEAT_H
#define DAEMON_SIM_PLACE_FLEET_SEAT_H

#include "daemon/sim/place/fleet_state.h"

/* 0 or -ENOMEM. */
int fleet_seat_take(struct fleet *f, uint32_t job, uint32_t gpu);
void fleet_seat_leave(struct fleet *f, uint32_t job);
/* True if the memory of all on this GPU that are not doomed is there. */
bool fleet_seat_fits(const struct fleet *f, uint32_t gpu);

#endif
