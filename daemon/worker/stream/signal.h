/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals: events that clients of one user see alike (CUDA's interprocess events). Recording
 * one remembers a point of a stream; waiting for it is waiting for that point. A point outlives its
 * signal, the client that put it, and those that wait.
 *
 * What waits for a point was read after it, and the point after all that it waits for: so no two
 * streams wait for each other, whosever they are.
 *
 * Owner: signals their holders, points whoever refers to them. Thread: the worker's.
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
    bool broken;            /* its client ended first: it is done, but what was before it is not */
    struct stream *waiters; /* that go on once it is done */
};

struct signal {
    struct list link;     /* of all that there are */
    struct point *latest; /* NULL: never recorded, or nobody need wait any more */
    uint32_t holders, uid;
    uint64_t key[2]; /* a secret: who has it, and is of this user, may open it */
};

/* Those of a client, by numbers that it chooses. */
struct signals {
    struct signal **table;
    uint32_t room;
};

void signal_finish(struct signals *s);
/* A new one, or that with this key of a client of this user. -EEXIST: the number is in use.
 * -ENOENT; -ENOMEM. */
int signal_make(struct signals *s, uint32_t id, uint32_t uid, struct list *all);
int signal_open(struct signals *s, uint32_t id, uint32_t uid, const uint64_t *key,
                const struct list *all);
/* -ENOENT. */
int signal_close(struct signals *s, uint32_t id);
struct signal *signal_find(const struct signals *s, uint32_t id); /* NULL: none */

/* A point for an operation that records the signal; NULL: no memory. */
struct point *signal_put(struct signal *s);
/* The point that an operation which waits for the signal has to wait for; NULL: none. */
struct point *signal_latest(struct signal *s);

/* The operation that waited for it is over. */
void point_drop(struct point *m);
/* The operation that recorded it is complete, or dropped, or was never sent, and refers to it no
 * longer. Who waits may go on: the caller has woken him. */
static inline void point_done(struct point *m, bool broken) {
    m->done = true;
    m->broken = broken;
    point_drop(m);
}

#endif
