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
#ifndef DAEMON_WORKER_BACKGROUND_BACKGROUND_TASK_H
#define DAEMON_WORKER_BACKGROUND_BACKGROUND_TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

enum background_line { BACKGROUND_SHORT, BACKGROUND_LONG, BACKGROUND_LINES };

/* Embedded in the caller's task. The caller must not touch it between background_give and
 * background_take.
 */
struct background_task {
    struct list link;
    void (*run)(struct background_task *e);
    bool last; /* the task does not come back: `run` frees it */
};

struct background_thread {
    struct background_tasks *all;
    struct list waiting;
    pthread_cond_t more;
    pthread_t thread;
    bool started;
};

struct background_tasks {
    pthread_mutex_t lock; /* over all members below except where noted; never held in `run` */
    struct background_thread lines[BACKGROUND_LINES];
    struct list done;
    bool stopping, armed;
    _Atomic bool any_done; /* lets the loop look without the lock */
    int event_fd;  /* readable from the first completion after background_arm until all completed
                      tasks are taken */
    uint32_t away; /* tasks given and not taken, except those with `last`; used by the worker's
                      thread only */
};

/* Returns 0, or -errno with nothing started. */
int background_start(struct background_tasks *all);
/* Called when no task is in progress that comes back. Waiting tasks with `last` run first. */
void background_stop(struct background_tasks *all);

void background_give(struct background_tasks *all, struct background_task *e,
                     enum background_line line);
/* Completes the task without running it, if it has not begun. The task comes back in either case.
 */
void background_cancel(struct background_tasks *all, struct background_task *e);
/* Returns free heap memory to the system, on the lines' threads and after the tasks that wait.
 * Called when much was freed, or waiting tasks will free much. */
void background_trim(struct background_tasks *all);
/* A completed task, or NULL. */
struct background_task *background_take(struct background_tasks *all);
/* The caller is about to sleep on event_fd. Returns false when a task has already completed. */
bool background_arm(struct background_tasks *all);

#endif
