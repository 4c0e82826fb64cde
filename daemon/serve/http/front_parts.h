/* SPDX-License-Identifier: Apache-2.0
 *
 * What the front is made of, for the files of this room. Owned by front.c; in the loop's thread.
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
    size_t bodies_bytes; /* of all requests' bodies that are there */
    bool stopping;
    void (*done)(void *arg);
    void *done_arg;

    uv_tcp_t listener;
    uv_tcp_t unwanted; /* a connection for which there is no memory, while it is closed */
    uv_timer_t sweep;  /* looks for connections beyond their time, or gone unseen */
    uv_timer_t again;  /* for those in `behind` */
    int open_handles;  /* those above, and all connections */
    bool turning_away; /* `unwanted` is being closed */
    bool one_waits;    /* behind it */
    bool closing;
    struct list behind; /* connections whose next request is there: it is looked at in the loop */
    void (*left)(struct front *f); /* a connection has gone */

    struct date date;
    unsigned char scratch[HEAD_MAX_BYTES]; /* into which is read, one connection at a time */
};

#endif
