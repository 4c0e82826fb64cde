/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the events of the placer's next step.
 *
 * Owner: fleet_run. Thread: its owner's.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_GATHER_H
#define DAEMON_SIM_PLACE_FLEET_GATHER_H

#include "daemon/sim/place/fleet_state.h"

/* Appends an event. NULL if memory is short. */
struct place_event *fleet_gather(struct fleet *f, enum place_event_kind kind, uint64_t id);
/* Collect the events that are due now. Return 0 or -ENOMEM. */
int fleet_gather_ends(struct fleet *f);
int fleet_gather_measures(struct fleet *f);
int fleet_gather_arrivals(struct fleet *f);
/* Schedules a measurement of the job for when its speed has been constant for a while. Returns 0 or
 * -ENOMEM. */
int fleet_gather_later(struct fleet *f, uint32_t job);
int64_t fleet_arrival_ns(const struct fleet *f, uint32_t job);

#endif
