/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits on what clients may use. A plain value of the front's creator.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_LIMITS_H
#define DAEMON_SERVE_HTTP_FRONT_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct front_limits {
    uint32_t connections;
    size_t body_bytes;   /* limit of one request; a larger one gets status 413 */
    size_t bodies_bytes; /* limit of all requests together; above this, status 503 */
    /* Limits of a connection's idle time, of receiving a request, and of sending a response. */
    uint64_t idle_ns, receive_ns, send_ns;
};

/* 2,048 connections; bodies of 64 MiB each and 512 MiB together; 75 s, 30 s and 60 s. */
struct front_limits front_default_limits(void);

#endif
