/* SPDX-License-Identifier: Apache-2.0
 *
 * Queued events for the scheduler, and the timer of its next step.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_EVENTS_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_EVENTS_H

#include "daemon/serve/gateway/served/served_state.h"

/* Appends an event for the scheduler with only its kind set; the caller fills in the rest. */
struct plan_event *served_event(struct served *s, enum plan_event_kind kind);
/* True if there is space for one more event that does not come from a worker. False only after a
 * longer lack of memory. */
bool served_has_room(const struct served *s);

/* Sets the timer for wake_ns and again_ns. */
void served_events_rearm(struct served *s);
/* Schedules a retry because memory or descriptors were short. */
void served_again(struct served *s);
/* Counts down `stopping`; after the last, closes the timer and calls `done`. */
void served_one_less(struct served *s);

#endif
