/* SPDX-License-Identifier: Apache-2.0
 *
 * In-order streams of operations. The head of each queue that has any is a task in the pool;
 * finishing it puts the next one there, without the worker's thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/soft/dev/soft.h"

static struct task *task_of(struct list *queue_link) {
    return list_entry(queue_link, struct task, queue_link);
}

int queue_create(struct dev_space *space, int priority, struct dev_queue **out) {
    (void)priority; /* a hint, as in CUDA, and not taken: slices of a level are equal */
    struct dev_queue *q = calloc(1, sizeof *q);
    if (!q) return -ENOMEM;
    q->space = space;
    list_init(&q->tasks);
    pthread_mutex_lock(&space->dev->lock);
    list_append(&space->queues, &q->space_link);
    pthread_mutex_unlock(&space->dev->lock);
    *out = q;
    return 0;
}

void queue_destroy(struct dev_queue *q) {
    if (!q) return;
    pthread_mutex_lock(&q->space->dev->lock);
    list_remove(&q->space_link);
    pthread_mutex_unlock(&q->space->dev->lock);
    free(q);
}

void queue_level(struct dev_queue *q, uint32_t level) {
    struct dev *dev = q->space->dev;
    if (level >= SOFT_LEVELS) level = SOFT_LEVELS - 1;
    pthread_mutex_lock(&dev->lock);
    bool moves = level != q->level && !list_empty(&q->tasks);
    q->level = level;
    if (moves) pool_add(dev, task_of(q->tasks.next));
    pthread_mutex_unlock(&dev->lock);
}

static struct task *task_create(struct dev_queue *q, enum task_kind kind, struct dev_op *op,
                                uint32_t param_bytes) {
    struct task *t = calloc(1, sizeof *t + param_bytes);
    if (!t) return NULL;
    t->queue = q;
    t->kind = kind;
    t->op = op;
    t->ranges = ranges_ref(q->space->ranges);
    list_init(&t->queue_link);
    list_init(&t->ready_link);
    op->result = 0;
    op->start_ns = op->end_ns = op->busy_ns = 0;
    op->thread_insts = op->memory_bytes = 0;
    op->fault_addr = 0;
    op->fault_text[0] = 0;
    return t;
}

static void task_free(struct task *t) {
    grid_destroy(t->grid);
    ranges_unref(t->ranges);
    free(t);
}

static void queue_submit(struct task *t) {
    struct dev *dev = t->queue->space->dev;
    pthread_mutex_lock(&dev->lock);
    bool first = list_empty(&t->queue->tasks);
    list_append(&t->queue->tasks, &t->queue_link);
    if (first) pool_add(dev, t);
    pthread_mutex_unlock(&dev->lock);
}

int queue_launch(struct dev_queue *q, const struct dev_launch *launch, struct dev_op *op) {
    struct task *t = task_create(q, TASK_LAUNCH, op, launch->param_bytes);
    if (!t) return -ENOMEM;
    t->launch = *launch;
    memcpy(t->params, launch->params, launch->param_bytes);
    t->launch.params = t->params;
    queue_submit(t);
    return 0;
}

/* A small transfer on an empty queue is done here and now: waking a thread would cost more. */
static bool queue_try_inline(struct task *t) {
    struct dev_queue *q = t->queue;
    struct dev *dev = q->space->dev;
    if (transfer_bytes(&t->transfer) > SOFT_INLINE_BYTES) return false;
    pthread_mutex_lock(&dev->lock);
    bool idle = list_empty(&q->tasks);
    pthread_mutex_unlock(&dev->lock);
    if (!idle) return false;
    struct dev_op *op = t->op;
    op->start_ns = fdutil_now_ns();
    int r = transfer_step(&t->transfer, t->ranges, UINT64_MAX, &op->fault_addr);
    op->result = r < 0 ? r : 0;
    op->end_ns = fdutil_now_ns();
    op->busy_ns = op->end_ns - op->start_ns;
    if (r < 0)
        snprintf(op->fault_text, sizeof op->fault_text, "copy or fill outside the client's memory");
    task_free(t);
    pthread_mutex_lock(&dev->lock);
    pool_complete(dev, op);
    pthread_mutex_unlock(&dev->lock);
    return true;
}

static int queue_transfer(struct dev_queue *q, const struct transfer *transfer, struct dev_op *op) {
    struct task *t = task_create(q, TASK_TRANSFER, op, 0);
    if (!t) return -ENOMEM;
    t->transfer = *transfer;
    t->exclusive = true;
    if (!queue_try_inline(t)) queue_submit(t);
    return 0;
}

int queue_copy(struct dev_queue *q, const struct dev_copy *copy, struct dev_op *op) {
    return queue_transfer(q, &(struct transfer){.copy = *copy}, op);
}

int queue_memset(struct dev_queue *q, const struct dev_memset *set, struct dev_op *op) {
    return queue_transfer(q, &(struct transfer){.fill = true, .set = *set}, op);
}

void queue_finish(struct task *t) {
    struct dev_queue *q = t->queue;
    struct dev *dev = q->space->dev;
    struct dev_op *op = t->op;
    list_remove(&t->queue_link);
    list_remove(&t->ready_link);
    if (!list_empty(&q->tasks)) pool_add(dev, task_of(q->tasks.next));
    op->end_ns = fdutil_now_ns();
    if (!op->start_ns) op->start_ns = op->end_ns;
    op->busy_ns /= dev->config.threads; /* was summed over them */
    task_free(t);
    pool_complete(dev, op);
}

uint64_t queue_busy(struct dev *dev, const struct dev_op *op) {
    pthread_mutex_lock(&dev->lock);
    uint64_t busy = op->end_ns ? op->busy_ns : op->busy_ns / dev->config.threads;
    pthread_mutex_unlock(&dev->lock);
    return busy;
}

/* Tasks that no thread has begun end at once; the others at their next slice. */
void queue_cancel_space(struct dev_space *space) {
    struct dev *dev = space->dev;
    struct list *pos, *item, *tmp;
    pthread_mutex_lock(&dev->lock);
    list_each(pos, &space->queues) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, space_link);
        list_each_safe(item, tmp, &q->tasks) {
            struct task *t = task_of(item);
            atom_store_relaxed(&t->cancelled, true);
            if (t->grid) grid_cancel(t->grid, ERR_CANCELLED);
            t->idle = false;
        }
        if (!list_empty(&q->tasks)) pool_add(dev, task_of(q->tasks.next));
    }
    pthread_cond_broadcast(&dev->work);
    pthread_mutex_unlock(&dev->lock);
}
