/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients may take of the front. A value of whoever creates it.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_LIMITS_H
#define DAEMON_SERVE_HTTP_FRONT_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct front_limits {
    uint32_t connections;
    size_t body_bytes;   /* of one request; what is above is answered 413 */
    size_t bodies_bytes; /* of all that are there at a time; above it 503 */
    /* How long a connection may stand still between requests; how long a request may take to come,
     * and an answer to be taken. */
    uint64_t idle_ns, receive_ns, send_ns;
};

/* 2,048 connections, bodies of 64 MiB and 512 MiB together; 75 s, 30 s, 60 s. */
struct front_limits front_default_limits(void);

#endif
