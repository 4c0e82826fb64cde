/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals: events that all clients of one user can share (CUDA's interprocess events). Recording a
 * signal stores a point of a stream; waiting for the signal means waiting for that point. A point
 * outlives its signal, the client that recorded it, and its waiters.
 *
 * A wait is read after its point, and the point after everything that it waits for. So no two
 * streams wait for each other, even streams of different clients.
 *
 * Owner: signals have holders, points have references. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_SIGNAL_H
#define DAEMON_WORKER_STREAM_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct stream;

struct point {
    uint32_t refs;
    bool done;
    bool broken;            /* the client ended first: the point is done, but earlier work is not */
    struct stream *waiters; /* streams that continue once it is done */
};

struct signal {
    struct list link;     /* in the list of all signals */
    struct point *latest; /* NULL: never recorded, or no wait is needed any more */
    uint32_t holders, uid;
    uint64_t key[2]; /* a secret: clients of this user that know it may open the signal */
};

/* Signals of a client, by numbers that the client chooses. */
struct signals {
    struct signal **table;
    uint32_t room;
};

void signal_finish(struct signals *s);
/* make: creates a signal. open: finds the one with this key of a client of this user. -EEXIST: the
 * number is in use; -ENOENT: there is no such signal; -ENOMEM; -EAGAIN: no key could be drawn. */
int signal_make(struct signals *s, uint32_t id, uint32_t uid, struct list *all);
int signal_open(struct signals *s, uint32_t id, uint32_t uid, const uint64_t *key,
                const struct list *all);
/* Closes the signal; -ENOENT. */
int signal_close(struct signals *s, uint32_t id);
struct signal *signal_find(const struct signals *s, uint32_t id); /* NULL: none */

/* A point for an operation that records the signal; NULL: no memory. */
struct point *signal_put(struct signal *s);
/* The point for an operation that waits for the signal; NULL: none. */
struct point *signal_latest(struct signal *s);

/* The waiting operation is over and drops its reference. */
void point_drop(struct point *m);
/* The operation that recorded the point is complete, dropped, or was never sent, and drops its
 * reference. The caller kicks the waiters, which continue then. */
static inline void point_done(struct point *m, bool broken) {
    m->done = true;
    m->broken = broken;
    point_drop(m);
}

#endif
