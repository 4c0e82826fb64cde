/* SPDX-License-Identifier: Apache-2.0
 *
 * The step of a served model: passes events to the scheduler and carries out its actions.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_STEP_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_STEP_H

#include "daemon/serve/gateway/served/served_state.h"

/* Runs steps until no new events follow. */
void served_step(struct served *s);
/* The timer's callback. */
void served_step_due(uv_timer_t *timer);

#endif
