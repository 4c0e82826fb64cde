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
    CONN_IDLE,      /* nothing of a request since the last answer */
    CONN_RECEIVING, /* from a request's first byte to the end of its body */
    CONN_WAITING,   /* for whoever serves the model: no limit of ours */
    CONN_SENDING,
    CONN_LEAVING, /* its last answer has gone: it is to hang up */
    CONN_PHASES
};

struct conn {
    struct list link; /* of its phase, the longest there first */
    enum conn_phase phase;
    uint64_t since_ns;
    bool surplus; /* one too many: its requests are turned away */
};

struct conns {
    struct list phases[CONN_PHASES];
    uint64_t limit_ns[CONN_PHASES]; /* 0: none */
    uint32_t count, limit;
    void (*shut)(struct conn *c); /* its time is over: conn_close() within the call */
};

void conns_init(struct conns *all, uint32_t limit, void (*shut)(struct conn *c));

/* A connection that is new. Where there are too many the longest idle one is shut; where none is
 * idle for long enough this one is a surplus. */
void conn_open(struct conns *all, struct conn *c, uint64_t now_ns);
void conn_close(struct conns *all, struct conn *c);
void conn_enter(struct conns *all, struct conn *c, enum conn_phase phase, uint64_t now_ns);

/* Shuts those that were too long where they are, or idle ones whatever their time. */
void conns_expire(struct conns *all, uint64_t now_ns);
void conns_shut_idle(struct conns *all);

#endif
