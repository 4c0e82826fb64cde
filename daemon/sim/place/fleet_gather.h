/* SPDX-License-Identifier: Apache-2.0
 *
 * Events for the next step of the placer.
 *
 * Owner: fleet_run. Thread: its.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_GATHER_H
#define DAEMON_SIM_PLACE_FLEET_GATHER_H

#include "daemon/sim/place/fleet_state.h"

/* One more event. NULL: no memory. */
struct place_event *fleet_gather(struct fleet *f, enum place_event_kind kind, uint64_t id);
/* Events of what is due now. 0 or -ENOMEM. */
int fleet_gather_ends(struct fleet *f);
int fleet_gather_measures(struct fleet *f);
int fleet_gather_arrivals(struct fleet *f);
/* Queues a measurement of the job, for when it has gone on like this for a while. 0 or -ENOMEM. */
int fleet_gather_later(struct fleet *f, uint32_t job);
int64_t fleet_arrival_ns(const struct fleet *f, uint32_t job);

#endif
