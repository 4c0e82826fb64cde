/* SPDX-License-Identifier: Apache-2.0
 *
 * Advances a connection when bytes arrive, a response is ready, or its socket has space. Thread:
 * the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_ADVANCE_H
#define DAEMON_SERVE_HTTP_ADVANCE_H

#include "daemon/serve/http/conn.h"

struct exchange;
struct front;

/* Accepts the next connection of the front's listener. Returns 0, or -ENOMEM if it was not
 * accepted. */
int advance_accept(struct front *f);

/* Called when a waiting request has its response. The client's next request is handled in the
 * loop's next turn, so that the server of models is not called back within its own call. */
void advance_answered(struct exchange *x);

/* Finds waiting clients that hung up after sending more than is read; the loop does not notice
 * these. To be called periodically. */
void advance_look(struct front *f);

/* Closes a connection and tells the server of models if it has the request. A callback for
 * conns. */
void advance_shut(struct conn *c);

#endif
