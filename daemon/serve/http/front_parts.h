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
#include "daemon/serve/http/hangup.h"

struct MHD_Daemon;

#define FRONT_HANDLES 4

struct front {
    struct front_limits limits;
    const struct front_ops *ops;
    void *arg;
    uint16_t port;
    struct MHD_Daemon *mhd;
    struct conns conns;
    struct hangup hangup;
    size_t bodies_bytes; /* of all requests' bodies that are there or announced */
    bool stopping;
    void (*done)(void *arg);
    void *done_arg;

    uv_poll_t mhd_poll, hangup_poll;
    uv_timer_t run;   /* when the library wants to be called */
    uv_timer_t sweep; /* looks for connections beyond their time */
    int open_handles;
};

#endif
