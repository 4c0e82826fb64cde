/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies events one by one.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_QUEUE_EVENTS_H
#define DAEMON_PLACE_QUEUE_EVENTS_H

#include "daemon/place/state/place_state.h"

/* Returns NULL, or why the event is invalid; an invalid event changes nothing. Memory must be
 * reserved (place_step.c). */
const char *events_take(struct place *p, const struct place_event *e);

#endif
