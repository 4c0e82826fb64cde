/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that the scheduler has not been told, and the timer for when it is to be asked.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_EVENTS_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_EVENTS_H

#include "daemon/serve/gateway/served/served_state.h"

/* One more event, for the scheduler to be told. */
struct plan_event *served_event(struct served *s, enum plan_event_kind kind);
/* True if there is room for one more event that is not a worker's. There is none where memory was
 * wanting for some time. */
bool served_has_room(const struct served *s);

/* Sets the timer for wake_ns and again_ns. */
void served_events_rearm(struct served *s);
/* Retries later when memory or descriptors are wanting. */
void served_again(struct served *s);
/* One of `stopping` has stopped: after the last, the timer is closed and `done` called. */
void served_one_less(struct served *s);

#endif
