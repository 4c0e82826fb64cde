/* SPDX-License-Identifier: Apache-2.0
 *
 * Background tasks: work that takes too long for the loop and runs on threads of its own, while
 * other clients' operations continue. There are two lines with a thread each, so that short work
 * never waits for long work. Within a line, tasks run in the order in which they were given. The
 * caller has at most one task in progress for each client, so a line is at most as long as there
 * are clients, and they take turns.
 *
 * Owner: the worker, whose thread makes all calls here. Only `run` is called on another thread; it
 * touches nothing but the data that its task was given.
 */
#ifndef DAEMON_WORKER_ERRAND_ERRAND_H
#define DAEMON_WORKER_ERRAND_ERRAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

enum errand_line { ERRAND_SHORT, ERRAND_LONG, ERRAND_LINES };

/* Embedded in the caller's task. The caller must not touch it between errand_give and errand_take.
 */
struct errand {
    struct list link;
    void (*run)(struct errand *e);
    bool last; /* the task does not come back: `run` frees it */
};

struct errand_thread {
    struct errands *all;
    struct list waiting;
    pthread_cond_t more;
    pthread_t thread;
    bool started;
};

struct errands {
    pthread_mutex_t lock; /* over all members below except where noted; never held in `run` */
    struct errand_thread lines[ERRAND_LINES];
    struct list done;
    bool stopping, armed;
    _Atomic bool any_done; /* lets the loop look without the lock */
    int event_fd;  /* becomes readable when a task completes that errand_arm waited for, until all
                      completed tasks are taken */
    uint32_t away; /* tasks given and not taken, without the last ones; used by the worker's thread
                      only */
};

/* Returns 0, or -errno with nothing started. */
int errand_start(struct errands *all);
/* No task is in progress. Tasks that wait and do not come back run first. */
void errand_stop(struct errands *all);

void errand_give(struct errands *all, struct errand *e, enum errand_line line);
/* Completes the task without running it, if it has not begun. The task comes back in either case.
 */
void errand_cancel(struct errands *all, struct errand *e);
/* Returns free heap memory to the system, on the lines' threads and after the tasks that wait.
 * Called when much was freed, or waiting tasks will free much. */
void errand_trim(struct errands *all);
/* A completed task, or NULL. */
struct errand *errand_take(struct errands *all);
/* The caller is about to sleep on event_fd. Returns false when a task has already completed. */
bool errand_arm(struct errands *all);

#endif
