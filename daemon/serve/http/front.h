/* SPDX-License-Identifier: Apache-2.0
 *
 * The Open Inference Protocol over HTTP/1.1, in a loop of libuv, without a thread of its own.
 * Created and used in the loop's thread. No client holds up another: whoever is slow, silent or
 * many is closed by time limits, and the longest idle connection gives way to a new one.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_H
#define DAEMON_SERVE_HTTP_FRONT_H

#include "daemon/serve/http/front_limits.h"
#include "daemon/serve/http/front_ops.h"

struct uv_loop_s;
struct front;

struct front_config {
    const char *address; /* of IPv4 or IPv6, in numbers; NULL: 127.0.0.1 */
    uint16_t port;       /* 0: any that is free */
    struct front_limits limits;
    const struct front_ops *ops; /* the caller's, until the front is destroyed */
    void *arg;
};

/* Listens from now on. 0, or -errno and the reason in `why`. */
int front_create(struct front **out, struct uv_loop_s *loop, const struct front_config *config,
                 char *why, size_t cap);

uint16_t front_port(const struct front *f);

/* No new connection and no new request from now on; requests that were begun are answered. Then
 * all is closed, and done(arg) is called in the loop, from where the front may be destroyed. */
void front_stop(struct front *f, void (*done)(void *arg), void *arg);

/* After done(), or NULL. */
void front_destroy(struct front *f);

#endif
