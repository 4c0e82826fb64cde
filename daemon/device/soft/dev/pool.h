/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's threads, and the lists in which ready tasks wait for them: one list for each level.
 * Tasks that only take time need no thread; if there are such tasks, one additional thread watches
 * the clock.
 *
 * Locks: one lock guards lists, tasks and completions. No thread holds it while it runs a kernel or
 * a copy.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_POOL_H
#define DAEMON_DEVICE_SOFT_DEV_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/soft/dev/completion.h"
#include "daemon/device/soft/dev/rotation.h"
#include "daemon/device/soft/dev/task.h"
#include "daemon/device/soft/dev/timeline.h"

#define POOL_LEVELS TIMELINE_LEVELS /* levels of dispatch: the higher goes first */
#define POOL_SLICE_INSTS 32768u     /* warp-instructions of a slice */
#define POOL_SLICE_NS 160000u       /* approximate time of a slice on one thread */
#define POOL_SLICE_BYTES (1u << 20) /* bytes of a copy in a slice: about 100 us */

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list ready[POOL_LEVELS]; /* first tasks of queues; threads rotate through each list */
    struct completions done;
    struct list failed;         /* dev_queue.failed of queues with a failed operation */
    uint64_t kernel_timeout_ns; /* 0: none */
    bool in_order;              /* each space's tasks take turns (rotation.h) */
    struct list paused;         /* rotation.paused of spaces whose tasks are all stalled */
    bool stopping;
    pthread_t *threads;
    uint32_t thread_count, wanted; /* threads that run; threads of the device */
    struct timeline timeline;
    pthread_cond_t spent; /* the timeline has something new for its thread */
    pthread_t clock;      /* the thread that watches the timeline */
    bool has_clock;
};

/* Starts `threads` threads. Tasks that only take time share `sms` multiprocessors. `in_order`: one
 * thread at a time for each space. Returns 0, -ENOMEM or -errno; after an error the pool is as if
 * stopped. */
int pool_start(struct pool *p, uint32_t threads, uint32_t sms, bool in_order,
               uint64_t kernel_timeout_ns);
void pool_stop(struct pool *p);

/* Permits tasks that only take time. Returns 0 or -errno; a second call does nothing. */
int pool_start_clock(struct pool *p);

/* Needs the lock. Puts the first task of a queue into the ready list of its queue's level, also
 * from another list; or into its space's rotation (`in_order`), or into the timeline (TASK_SPEND).
 * After an operation of the queue has failed, and until the worker has seen that, the tasks added
 * are cancelled: a GPU does not continue then, and a reader of memory that is written last believes
 * that all earlier operations were done. */
void pool_add(struct pool *p, struct task *task);
/* Needs the lock. Records that an operation of the queue has failed. */
void pool_failed(struct pool *p, struct dev_queue *q);
/* Needs the lock. Called when the worker has taken the completed operations. */
void pool_seen(struct pool *p);
/* Returns how many tasks of the space stall, that is, only poll; 0 while one has the turn. */
uint32_t pool_stalled(struct pool *p, const struct rotation *r);
/* Returns the device time so far of an operation in flight. */
uint64_t pool_busy(struct pool *p, const struct dev_op *op);

#endif
