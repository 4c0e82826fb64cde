/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a request.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_END_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_END_H

#include "daemon/serve/gateway/served/served_state.h"

/* The request has its end. A reason that is NULL was answered, or nobody waits. */
void served_end(struct served *s, struct asked *asked, enum served_end end,
                const struct refusal *why);

#endif
