/* SPDX-License-Identifier: Apache-2.0
 *
 * Errands: what takes too long for the loop runs beside it, on threads of its own, while everybody
 * else's operations go on. There are two lines with a thread each, so that what is short never
 * waits for what is long; within a line they run in the order in which they were given. Whoever
 * gives has one under way for each client at most: so a line is as long as there are clients, and
 * they take turns.
 *
 * Owner: the worker, whose thread makes all calls here. `run` alone is called on another, and
 * touches nothing but what its errand was given.
 */
#ifndef DAEMON_WORKER_ERRAND_ERRAND_H
#define DAEMON_WORKER_ERRAND_ERRAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

enum errand_line { ERRAND_SHORT, ERRAND_LONG, ERRAND_LINES };

/* Embedded in what it is about. From errand_give to errand_take it is not the caller's. */
struct errand {
    struct list link;
    void (*run)(struct errand *e);
    bool last; /* it does not come back: `run` ends it */
};

struct errand_thread {
    struct errands *all;
    struct list waiting;
    pthread_cond_t more;
    pthread_t thread;
    bool started;
};

struct errands {
    pthread_mutex_t lock; /* over all that follows but what says otherwise; never held in `run` */
    struct errand_thread lines[ERRAND_LINES];
    struct list done;
    bool stopping, armed;
    _Atomic bool any_done; /* lets the loop look without the lock */
    int event_fd;          /* readable from when one is done that errand_arm waited for until all
                              that are done are taken */
    uint32_t away;         /* given and not taken, but the last ones; the worker's alone */
};

/* 0, or -errno with nothing started. */
int errand_start(struct errands *all);
/* None is away. What still waits and does not come back is run before. */
void errand_stop(struct errands *all);

void errand_give(struct errands *all, struct errand *e, enum errand_line line);
/* It is done as it is, if it does not run yet. It comes back in either case. */
void errand_cancel(struct errands *all, struct errand *e);
/* Much was freed, or is freed by what waits: beside, and behind that, the rest of the heap goes
 * back to the system. */
void errand_trim(struct errands *all);
/* One that is done, or NULL. */
struct errand *errand_take(struct errands *all);
/* The caller is about to sleep on event_fd. False: one is done already. */
bool errand_arm(struct errands *all);

#endif
