/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations in queues. Guarded by the pool's lock unless stated otherwise.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_TASK_H
#define DAEMON_DEVICE_SOFT_DEV_TASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"
#include "daemon/device/soft/dev/allowance.h"
#include "daemon/device/soft/memory/transfer.h"
#include "daemon/device/soft/runtime/family.h"

struct dev_space;

struct dev_queue {
    struct dev_space *space;
    struct launch_memory *memory; /* the space's, for its operations */
    struct list space_link;
    struct list tasks; /* first: the one that is ready or running */
    /* Link in pool.failed, from an operation's failure until the worker has seen it. */
    struct list failed;
    uint32_t level;
    struct allowance allowance; /* share of the device for its kernels */
    bool still;                 /* no thread takes its kernels */
};

enum task_kind { TASK_LAUNCH, TASK_TRANSFER, TASK_SPEND };

/* An operation that only takes time, without computing (timeline.h). */
struct spend {
    uint64_t ns;
    /* time from which the task could begin; 0: it is not the first of its queue yet */
    uint64_t ready_ns;
    uint32_t sms;
};

/* An operation in a queue. Owned by the queue until it completes. */
struct task {
    struct list queue_link, ready_link;
    struct dev_queue *queue;
    struct dev_op *op;
    enum task_kind kind;
    bool exclusive; /* at most one thread may run the task: true for transfers */
    bool idle;      /* no other thread can help at the moment */
    bool done;
    _Atomic bool cancelled; /* set under the lock, read without it */
    uint32_t inside;        /* threads that run the task now */
    uint32_t asked;         /* consecutive slices in which the task only polled (family_asked) */
    /* Time with any thread inside. kernel_timeout counts it, so that neighbours cannot use it up.
     */
    uint64_t active_since_ns, active_ns;
    struct family family;
    union { /* selected by `kind` */
        struct transfer transfer;
        struct spend spend;
    };
    struct ranges *ranges;
    size_t room_bytes;
    struct launch_config launch;
    unsigned char room[]; /* parameters of a launch */
};

/* Creates a task and resets the operation's result. `ranges`: what it may touch, referenced while
 * the task lives. `room_bytes`: size of `room`, zeroed, from the queue's memory. Returns NULL when
 * out of memory. */
struct task *task_create(struct dev_queue *q, enum task_kind kind, struct dev_op *op,
                         struct ranges *ranges, size_t room_bytes);
void task_free(struct task *t);

static inline struct task *task_first(const struct dev_queue *q) {
    return list_empty(&q->tasks) ? NULL : list_entry(q->tasks.next, struct task, queue_link);
}

#endif
