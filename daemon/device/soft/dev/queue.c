/* SPDX-License-Identifier: Apache-2.0
 *
 * In-order streams of operations. The first operation of each non-empty queue is a task in the
 * pool. Finishing it makes the next one ready, without the worker's thread.
 */
#include "daemon/device/soft/dev/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/soft/dev/module.h"
#include "daemon/device/soft/dev/pool.h"
#include "daemon/device/soft/dev/provision.h"
#include "daemon/device/soft/dev/space.h"
#include "daemon/device/soft/dev/task.h"

int queue_create(struct dev_space *space, int priority, struct dev_queue **out) {
    (void)priority; /* a hint, as in CUDA, and ignored: slices of a level are equal */
    struct dev_queue *q = calloc(1, sizeof(*q));
    if (!q) return -ENOMEM;
    q->space = space;
    q->memory = &space->memory;
    list_init(&q->tasks);
    list_init(&q->failed);
    pthread_mutex_lock(&space->config.pool->lock);
    list_append(&space->queues, &q->space_link);
    pthread_mutex_unlock(&space->config.pool->lock);
    *out = q;
    return 0;
}

void queue_destroy(struct dev_queue *q) {
    if (!q) return;
    pthread_mutex_lock(&q->space->config.pool->lock);
    list_remove(&q->space_link);
    list_remove(&q->failed);
    pthread_mutex_unlock(&q->space->config.pool->lock);
    free(q);
}

void queue_level(struct dev_queue *q, uint32_t level) {
    struct pool *p = q->space->config.pool;
    if (level >= POOL_LEVELS) level = POOL_LEVELS - 1;
    pthread_mutex_lock(&p->lock);
    struct task *first = task_first(q);
    bool moves = level != q->level && first;
    q->level = level;
    if (moves) pool_add(p, first);
    pthread_mutex_unlock(&p->lock);
}

void queue_share(struct dev_queue *q, uint32_t sms) {
    struct pool *p = q->space->config.pool;
    pthread_mutex_lock(&p->lock);
    allowance_set(&q->allowance, sms, p->timeline.sms, p->wanted);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}

void queue_still(struct dev_queue *q, bool still) {
    struct pool *p = q->space->config.pool;
    pthread_mutex_lock(&p->lock);
    q->still = still;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}

static void submit_task(struct task *t) {
    struct pool *p = t->queue->space->config.pool;
    pthread_mutex_lock(&p->lock);
    bool first = list_empty(&t->queue->tasks);
    list_append(&t->queue->tasks, &t->queue_link);
    if (first) pool_add(p, t);
    pthread_mutex_unlock(&p->lock);
}

/* Launches a graph for a kernel. The worker may sleep, since nothing completes, so it is woken. */
static int launch_graph(void *space, struct dev_graph *from, uint64_t handle,
                        enum dev_graph_order how) {
    const struct space_config *c = &((struct dev_space *)space)->config;
    int err = c->ops->graph(c->ops_arg, from, handle, how);
    if (err) return err;
    pthread_mutex_lock(&c->pool->lock);
    completion_wake(&c->pool->done);
    pthread_mutex_unlock(&c->pool->lock);
    return 0;
}

int queue_launch(struct dev_queue *q, const struct dev_launch *launch, struct dev_op *op) {
    const struct dev_space *s = q->space;
    struct code_kernel *kernel = launch->func->kernel;
    if (s->config.null) return -EPERM;
    struct task *t =
        task_create(q, TASK_LAUNCH, op, s->ranges, launch_param_room(kernel, launch->param_bytes));
    if (!t) return -ENOMEM;
    unsigned char *params = launch_param_place(kernel, t->room);
    memcpy(params, launch->params, launch->param_bytes);
    t->launch = (struct launch_config){
        .kernel = kernel,
        .shared_bytes = launch->shared_bytes,
        .cooperative = launch->cooperative,
        .params = params,
        .param_bytes = launch->param_bytes,
        .ranges = t->ranges,
        .text = s->config.ops->text,
        .text_arg = s->config.ops_arg,
        .launch_graph = s->config.ops->graph ? launch_graph : NULL,
        .space = q->space,
        .graph = launch->graph,
        .stack_bytes = s->provision->stack_bytes,
        .counts = s->config.pool->in_order ? &q->space->counts : NULL,
        .heap = s->provision->heap,
        .textures = s->textures,
        .memory = q->memory,
        .runtime = s->provision->runtime,
    };
    memcpy(t->launch.grid, launch->grid, sizeof(t->launch.grid));
    memcpy(t->launch.block, launch->block, sizeof(t->launch.block));
    memcpy(t->launch.cluster, launch->cluster, sizeof(t->launch.cluster));
    submit_task(t);
    return 0;
}

/* Runs a small transfer on an empty queue at once: waking a thread would cost more. Returns true if
 * it ran, and the task is freed. */
static bool try_inline(struct task *t) {
    struct dev_queue *q = t->queue;
    struct pool *p = q->space->config.pool;
    if (transfer_bytes(&t->transfer) > QUEUE_INLINE_BYTES) return false;
    pthread_mutex_lock(&p->lock);
    bool idle = list_empty(&q->tasks) && list_empty(&q->failed);
    /* On a deterministic device the transfer must wait for its turn. */
    if (p->in_order && !rotation_empty(&q->space->rotation)) idle = false;
    pthread_mutex_unlock(&p->lock);
    if (!idle) return false;
    struct dev_op *op = t->op;
    op->start_ns = fdutil_now_ns();
    int err = transfer_step(&t->transfer, t->ranges, UINT64_MAX, &op->fault_addr);
    op->result = err < 0 ? err : 0;
    op->end_ns = fdutil_now_ns();
    op->busy_ns = op->end_ns - op->start_ns;
    if (err < 0)
        snprintf(op->fault_text, sizeof(op->fault_text),
                 "a copy or a fill reaches outside the client's memory");
    task_free(t);
    pthread_mutex_lock(&p->lock);
    if (op->result) pool_failed(p, q);
    completion_add(&p->done, op);
    pthread_mutex_unlock(&p->lock);
    return true;
}

static int run_transfer(struct dev_queue *q, const struct transfer *transfer, struct dev_op *op) {
    struct task *t = task_create(q, TASK_TRANSFER, op, q->space->ranges, 0);
    if (!t) return -ENOMEM;
    t->transfer = *transfer;
    t->exclusive = true;
    if (!try_inline(t)) submit_task(t);
    return 0;
}

int queue_copy(struct dev_queue *q, const struct dev_copy *copy, struct dev_op *op) {
    return run_transfer(q, &(struct transfer){.copy = *copy}, op);
}

int queue_memset(struct dev_queue *q, const struct dev_memset *set, struct dev_op *op) {
    return run_transfer(q, &(struct transfer){.fill = true, .set = *set}, op);
}

int queue_spend(struct dev_queue *q, uint32_t sms, uint64_t ns, struct dev_op *op) {
    if (!q->space->config.null) return -EPERM;
    struct task *t = task_create(q, TASK_SPEND, op, q->space->ranges, 0);
    if (!t) return -ENOMEM;
    uint32_t most = q->allowance.sms, all = q->allowance.all;
    if (most && sms > most) { /* the blocks run in more waves than on all multiprocessors */
        ns = (uint64_t)((double)ns * (sms < all ? sms : all) / most);
        sms = most;
    }
    t->spend = (struct spend){.ns = ns, .sms = sms ? sms : 1};
    submit_task(t);
    return 0;
}

/* Cancels all tasks of a space. Tasks that no thread has begun end at once; the others end at their
 * next slice. */
void queue_cancel_space(struct dev_space *space) {
    struct pool *p = space->config.pool;
    struct list *pos, *item, *tmp;
    atom_store_relaxed(&space->over, true);
    pthread_mutex_lock(&p->lock);
    list_each(pos, &space->queues) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, space_link);
        list_each_safe(item, tmp, &q->tasks) {
            struct task *t = list_entry(item, struct task, queue_link);
            atom_store_relaxed(&t->cancelled, true);
            family_cancel(&t->family, ERR_CANCELLED);
            t->idle = false;
        }
        struct task *first = task_first(q);
        if (first) pool_add(p, first);
    }
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}
