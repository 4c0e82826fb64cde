/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections by what they are doing and since when: each phase has its limit, which no trickle of
 * bytes puts off. The owner of all is the front. In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_CONN_H
#define DAEMON_SERVE_HTTP_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

/* So long a connection is no idle one that gives way: its request may be on its way. */
#define CONN_GRACE_NS 1000000000u

enum conn_phase {
    CONN_IDLE,      /* no request line since the last answer */
    CONN_RECEIVING, /* from the request line to the end of the body */
    CONN_WAITING,   /* for whoever serves the model: no limit of ours */
    CONN_SENDING,
    CONN_PHASES
};

struct conn {
    struct list link; /* of its phase, the longest there first */
    enum conn_phase phase;
    uint64_t since_ns;
    int fd;       /* libmicrohttpd's */
    bool surplus; /* one too many: its requests are turned away */
    bool hung_up; /* nothing comes any more but what is there */
};

struct conns {
    struct list phases[CONN_PHASES];
    uint64_t limit_ns[CONN_PHASES]; /* 0: none */
    uint32_t count, limit;
};

void conns_init(struct conns *all, uint32_t limit);

/* A connection that is new. Where there are too many the longest idle one is shut; where none is
 * idle for long enough this one is a surplus. */
void conn_open(struct conns *all, struct conn *c, int fd, uint64_t now_ns);
void conn_close(struct conns *all, struct conn *c);
/* Its peer hung up: the library looks again, reads what is left, and sees the end. */
void conn_hang_up(struct conn *c);
void conn_enter(struct conns *all, struct conn *c, enum conn_phase phase, uint64_t now_ns);

/* Shuts those that were too long where they are, or idle ones whatever their time. The library sees
 * their end and closes them. */
void conns_expire(const struct conns *all, uint64_t now_ns);
void conns_shut_idle(const struct conns *all);

#endif
