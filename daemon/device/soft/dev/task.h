/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on their way through queues. Guarded by the pool's lock, but for what says otherwise.
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
    struct list tasks;  /* first: the one that is ready or running */
    struct list failed; /* pool.failed, from when one of its operations fails until that is seen */
    uint32_t level;
    struct allowance allowance; /* of its kernels */
    bool still;                 /* no thread takes its kernels */
};

enum task_kind { TASK_LAUNCH, TASK_TRANSFER, TASK_SPEND };

/* What is not computed: timeline.h. */
struct spend {
    uint64_t ns;
    uint64_t ready_ns; /* since when it could begin; 0: it is not its queue's first yet */
    uint32_t sms;
};

/* An operation on its way through a queue. Owned by the queue until it completes. */
struct task {
    struct list queue_link, ready_link;
    struct dev_queue *queue;
    struct dev_op *op;
    enum task_kind kind;
    bool exclusive; /* at most one thread inside: transfers, and grids being created */
    bool idle;      /* nobody else can help at the moment */
    bool done;
    _Atomic bool cancelled; /* set under the lock, looked at without it */
    uint32_t inside;        /* threads */
    uint32_t asked;         /* slices in a row in which it only asked (family_asked) */
    /* Time with any thread inside: what kernel_timeout counts, so that neighbours cannot use it up.
     */
    uint64_t active_since_ns, active_ns;
    struct family family;
    union { /* by its kind */
        struct transfer transfer;
        struct spend spend;
    };
    struct ranges *ranges;
    size_t room_bytes;
    struct launch_config launch;
    unsigned char room[]; /* for its parameters */
};

/* Begins the operation's result anew. `ranges`: what it may touch, referenced while the task lives.
 * With so many zeroed bytes of room, in the queue's memory. NULL when out of memory.
 */
struct task *task_create(struct dev_queue *q, enum task_kind kind, struct dev_op *op,
                         struct ranges *ranges, size_t room_bytes);
void task_free(struct task *t);

static inline struct task *task_first(const struct dev_queue *q) {
    return list_empty(&q->tasks) ? NULL : list_entry(q->tasks.next, struct task, queue_link);
}

#endif
