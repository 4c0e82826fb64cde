/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation in a queue, and the pool that it comes from. The pool grows in blocks, so that an
 * operation costs no allocation in the steady state.
 *
 * Owner: all queues of the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_TASK_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/queue/cuda_subgrid.h"

/* The number of a task of which the driver lacks some parts. */
#define CUDA_TASK_PARTLY UINT64_MAX

enum task_kind { TASK_LAUNCH, TASK_COPY, TASK_MEMSET };

struct task {
    struct task *next; /* in its queue, or in the pool */
    struct dev_op *op;
    uint64_t number; /* the stream writes it when the task is complete */
    uint64_t issued_ns;
    CUevent began, ended; /* NULL: not requested, or the driver gives no times */
    enum task_kind kind;
    bool issued;    /* the driver has it, or its first part */
    bool signalled; /* a completion signal is directly behind it */
    bool stood;     /* it was suspended before its last part was given */
    int end;        /* launch in parts: result once the given parts have completed; 0 */
    struct cuda_parts parts;
    uint64_t before;   /* the number before that of the first part */
    uint64_t idle_ns;  /* since when the driver has completed all given parts; 0 */
    uint64_t stood_ns; /* sum of such times that are over */
    union {
        struct dev_launch launch;
        struct dev_copy copy;
        struct dev_memset memset;
    };
    struct task_params *params; /* copy for a waiting launch; NULL: the caller's */
};

#define CUDA_TASK_PARAMS 24u /* sizes of parameter blocks: from 256 bytes, doubling */

struct tasks {
    struct task *free;
    struct task_block *blocks;
    struct task_params *params[CUDA_TASK_PARAMS]; /* free, by size */
};

/* True when the driver has some of its parts, and lacks others. */
static inline bool cuda_task_is_partly_given(const struct task *t) {
    return t->issued && t->number == CUDA_TASK_PARTLY;
}

/* Time since it began in which none of its parts was in progress. */
static inline uint64_t cuda_task_stood_ns(const struct task *t, uint64_t now_ns) {
    return t->stood_ns + (t->idle_ns ? now_ns - t->idle_ns : 0);
}

/* Frees every task. All were given back before. */
void cuda_tasks_finish(struct tasks *pool);

/* A task of this kind, everything else zero; NULL when out of memory. */
struct task *cuda_task_take(struct tasks *pool, enum task_kind kind, struct dev_op *op);
void cuda_task_give(struct tasks *pool, struct task *t);
/* Copies a launch's parameters, which the caller keeps only until submission. 0 or -ENOMEM. */
int cuda_task_keep_params(struct tasks *pool, struct task *t);

#endif
