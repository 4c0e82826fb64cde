/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends requests of a served model.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_END_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_END_H

#include "daemon/serve/gateway/served/served_state.h"

/* Ends the request and frees `asked`. `why` is sent to the client; NULL if the request was answered
 * or no client waits. */
void served_end(struct served *s, struct asked *asked, enum served_end end,
                const struct refusal *why);

#endif
