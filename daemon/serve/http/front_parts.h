/* SPDX-License-Identifier: Apache-2.0
 *
 * The front's state, for the files of this directory. Owner: front.c. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_PARTS_H
#define DAEMON_SERVE_HTTP_FRONT_PARTS_H

#include <uv.h>

#include "daemon/serve/http/conn.h"
#include "daemon/serve/http/front_limits.h"
#include "daemon/serve/http/front_ops.h"
#include "daemon/serve/http/message/date.h"
#include "daemon/serve/http/message/head.h"

struct front {
    struct front_limits limits;
    const struct front_ops *ops;
    void *arg;
    uint16_t port;
    struct conns conns;
    size_t bodies_bytes; /* size of all requests' bodies in memory */
    bool stopping;
    void (*done)(void *arg);
    void *done_arg;

    uv_tcp_t listener;
    uv_tcp_t unwanted; /* a connection being closed because memory is short */
    uv_timer_t sweep;  /* finds connections that exceeded a time limit or hung up unnoticed */
    uv_timer_t again;  /* runs the connections in `behind` */
    int open_handles;  /* number of open handles: listener, `unwanted`, timers, connections */
    bool turning_away; /* `unwanted` is being closed */
    bool one_waits;    /* another connection waits until `unwanted` is closed */
    bool closing;
    /* Connections whose next request has arrived and waits for the loop's next turn. */
    struct list behind;
    void (*left)(struct front *f); /* called when a connection is closed */

    struct date date;
    /* Read buffer, shared by all connections, used by one at a time. */
    unsigned char scratch[HEAD_MAX_BYTES];
};

#endif
