/* SPDX-License-Identifier: Apache-2.0
 *
 * libmicrohttpd in a loop of libuv: its descriptor of epoll is one that the loop polls, its next
 * timeout a timer. In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_PUMP_H
#define DAEMON_SERVE_HTTP_PUMP_H

#include "daemon/serve/http/front_parts.h"

/* All of the front's handles are in the loop from now on, until the front is stopping and its last
 * connection is closed: then they are closed, and f->done is called. 0 or -errno; where handles are
 * open then, f->done is called as well. */
int pump_join(struct front *f, uv_loop_t *loop);

/* The library is called in the loop's next turn: after a connection was resumed, of which it hears
 * by no descriptor. */
void pump_wake(struct front *f);

#endif
