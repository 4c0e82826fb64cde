/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections by their phase and the time since when. Each phase has a time limit, which slowly
 * arriving bytes do not extend. Owner: the front. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_CONN_H
#define DAEMON_SERVE_HTTP_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

/* A connection idle for less than this is not closed for a new one, because its request may be in
 * flight. */
#define CONN_GRACE_NS 1000000000u

enum conn_phase {
    CONN_IDLE,      /* no byte of a request since the last response */
    CONN_RECEIVING, /* from a request's first byte to the end of its body */
    CONN_WAITING,   /* waits for the server of models; no time limit */
    CONN_SENDING,
    CONN_LEAVING, /* the last response is sent; the client is expected to hang up */
    CONN_PHASES
};

struct conn {
    struct list link; /* in its phase's list, the oldest first */
    enum conn_phase phase;
    uint64_t since_ns;
    bool surplus; /* above the limit: its requests are rejected */
};

struct conns {
    struct list phases[CONN_PHASES];
    uint64_t limit_ns[CONN_PHASES]; /* 0: none */
    uint32_t count, limit;
    void (*shut)(struct conn *c); /* called when a time limit passed; must call conn_close() */
};

void conns_init(struct conns *all, uint32_t limit, void (*shut)(struct conn *c));

/* Adds a new connection. If there are too many, the one idle for longest is closed; if none has
 * been idle for long enough, the new one is marked as surplus. */
void conn_open(struct conns *all, struct conn *c, uint64_t now_ns);
void conn_close(struct conns *all, struct conn *c);
void conn_enter(struct conns *all, struct conn *c, enum conn_phase phase, uint64_t now_ns);

/* Close connections that exceeded their phase's limit, or all idle ones. */
void conns_expire(struct conns *all, uint64_t now_ns);
void conns_shut_idle(struct conns *all);

#endif
