/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's threads, and the lines in which tasks wait for them: one for each level. Tasks that
 * only take time need none of these: where there are such, one thread more watches the clock.
 *
 * Locks: one, over lines, tasks and completions; never held while a kernel or a copy runs.
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

#define POOL_LEVELS TIMELINE_LEVELS /* of dispatch: the higher goes first */
#define POOL_SLICE_INSTS 32768u     /* warp-instructions */
#define POOL_SLICE_NS 160000u       /* what they take one thread, more or less */
#define POOL_SLICE_BYTES (1u << 20) /* of a copy: some 100 us */

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list ready[POOL_LEVELS]; /* tasks of queues' heads; threads rotate through each */
    struct completions done;
    struct list failed;         /* dev_queue.failed */
    uint64_t kernel_timeout_ns; /* 0: none */
    bool in_order;              /* each space's tasks take turns (rotation.h) */
    struct list paused;         /* rotation.paused, of spaces whose tasks all stand still */
    bool stopping;
    pthread_t *threads;
    uint32_t thread_count, wanted;
    struct timeline timeline;
    pthread_cond_t spent; /* it has something new for its thread */
    pthread_t clock;      /* that thread */
    bool has_clock;
};

/* `threads`: how many; `sms`: that tasks which only take time share; `in_order`: one thread at a
 * time for each space. 0, -ENOMEM or -errno, and then the pool is as if it had been stopped. */
int pool_start(struct pool *p, uint32_t threads, uint32_t sms, bool in_order,
               uint64_t kernel_timeout_ns);
void pool_stop(struct pool *p);

/* There may be tasks that only take time from now on. 0 or -errno; again: nothing. */
int pool_start_clock(struct pool *p);

/* Called with the lock held. Into the line of its queue's level, also from another line. Behind an
 * operation that failed nothing runs until the worker has seen that: no GPU goes on there, and who
 * looks at memory that is written last believes that all before it was done. */
void pool_add(struct pool *p, struct task *task);
/* The same: this operation of the queue has failed. */
void pool_failed(struct pool *p, struct dev_queue *q);
/* The worker has what was complete. */
void pool_seen(struct pool *p);
/* How many of the space's tasks stand still, all of them; 0: at least one goes on. */
uint32_t pool_stalled(struct pool *p, const struct rotation *r);
/* Of an operation in flight: device time so far. */
uint64_t pool_busy(struct pool *p, const struct dev_op *op);

#endif
