/* SPDX-License-Identifier: Apache-2.0
 *
 * The step of a served model: the scheduler is told events, and its actions are carried out.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_STEP_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_STEP_H

#include "daemon/serve/gateway/served/served_state.h"

/* Tells the scheduler what happened, until nothing more follows. */
void served_step(struct served *s);
/* The timer's callback. */
void served_step_due(uv_timer_t *timer);

#endif
