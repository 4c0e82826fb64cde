/* SPDX-License-Identifier: Apache-2.0
 *
 * The Open Inference Protocol over HTTP/1.1 in a libuv loop, without a thread of its own. Created
 * and used in the loop's thread. No client blocks others: time limits close slow and silent
 * connections, and the one idle for longest makes way for a new one.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_H
#define DAEMON_SERVE_HTTP_FRONT_H

#include "daemon/serve/http/front_limits.h"
#include "daemon/serve/http/front_ops.h"

struct uv_loop_s;
struct front;

struct front_config {
    const char *address; /* a numeric IPv4 or IPv6 address; NULL: 127.0.0.1 */
    uint16_t port;       /* 0: any free port */
    struct front_limits limits;
    const struct front_ops *ops; /* the caller's; valid until the front is destroyed */
    void *arg;
};

/* Listens from now on. Returns 0, or -errno with the reason in `why`. */
int front_create(struct front **out, struct uv_loop_s *loop, const struct front_config *config,
                 char *why, size_t cap);

uint16_t front_port(const struct front *f);

/* Accepts no new connections and requests, and finishes pending requests. Then closes everything
 * and calls done(arg) from the loop; the front may be destroyed within that call. */
void front_stop(struct front *f, void (*done)(void *arg), void *arg);

/* Called after done(); accepts NULL. */
void front_destroy(struct front *f);

#endif
