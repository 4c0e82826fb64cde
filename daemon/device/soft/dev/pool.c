/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's threads. Each takes the first task that can use it, runs one slice, and puts the
 * task at the end of the line: equal slices for everybody, whatever the length of a kernel. There
 * is a line for each level, and the lower one gets what the higher one has no use for, as a GPU
 * dispatches the blocks of streams of higher priority first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/soft/dev/soft.h"

static struct task *task_of(struct list *ready_link) {
    return list_entry(ready_link, struct task, ready_link);
}

/* What was cancelled must not wait until those of a higher level have nothing to do. */
void pool_add(struct dev *dev, struct task *task) {
    bool over = atom_load_relaxed(&task->cancelled);
    list_remove(&task->ready_link);
    list_append(&dev->ready[over ? SOFT_LEVELS - 1 : task->queue->level], &task->ready_link);
    pthread_cond_signal(&dev->work); /* it begins with one thread, whatever it is */
}

void pool_complete(struct dev *dev, struct dev_op *op) {
    op->next = NULL;
    *dev->done_last = op;
    dev->done_last = &op->next;
    atom_store_release(&dev->done_count, 1);
    if (!dev->armed) return;
    dev->armed = false;
    uint64_t one = 1;
    if (write(dev->event_fd, &one, sizeof one) < 0) return; /* full counter: readable already */
}

/* Makes the grid of a launch; on failure the operation's result says why. */
static void pool_begin(struct task *t) {
    struct dev_space *space = t->queue->space;
    struct code_kernel *kernel = t->launch.func->kernel;
    struct launch_config config = {
        .kernel = kernel,
        .shared_bytes = t->launch.shared_bytes,
        .cooperative = t->launch.cooperative,
        .params = t->launch.params,
        .param_bytes = t->launch.param_bytes,
        .ranges = t->ranges,
        .text = space->ops->text,
        .text_arg = space->ops_arg,
        .heap = space->heap,
    };
    memcpy(config.grid, t->launch.grid, sizeof config.grid);
    memcpy(config.block, t->launch.block, sizeof config.block);
    struct grid *g = NULL;
    int err = grid_create(&g, &config);
    struct dev *dev = space->dev;
    pthread_mutex_lock(&dev->lock);
    t->grid = g;
    t->op->result = err;
    if (g && atom_load_relaxed(&t->cancelled)) grid_cancel(g, ERR_CANCELLED);
    pthread_mutex_unlock(&dev->lock);
}

static void pool_take_result(struct task *t) {
    struct grid_result r;
    grid_result(t->grid, &r);
    t->op->result = r.err;
    t->op->fault_addr = r.fault_addr;
    t->op->thread_insts = r.thread_insts;
    t->op->memory_bytes = r.memory_bytes;
    snprintf(t->op->fault_text, sizeof t->op->fault_text, "%s", r.text);
}

/* One slice without the lock; true when the task is over for this thread and everybody else. */
static bool pool_slice(struct task *t, bool *idle) {
    *idle = false;
    if (t->kind == TASK_TRANSFER) {
        if (atom_load_relaxed(&t->cancelled)) t->op->result = ERR_CANCELLED;
        if (t->op->result) return true;
        int r = transfer_step(&t->transfer, t->ranges, SOFT_SLICE_BYTES, &t->op->fault_addr);
        if (r < 0) {
            t->op->result = r;
            snprintf(t->op->fault_text, sizeof t->op->fault_text,
                     "copy or fill outside the client's memory");
        }
        return r != 0;
    }
    if (!t->grid) {
        pool_begin(t);
        return t->op->result != 0;
    }
    enum grid_state state = grid_step(t->grid, SOFT_SLICE_INSTS);
    *idle = state == GRID_IDLE;
    return state == GRID_DONE;
}

/* The first task of a line that another thread can help with, moved to its end. Lock held. */
static struct task *pool_take_from(struct list *line) {
    struct list *pos;
    list_each(pos, line) {
        struct task *t = task_of(pos);
        if (t->idle || t->done) continue;
        bool alone = t->exclusive || !t->grid; /* a grid is created by one thread */
        if (alone && t->inside) continue;
        list_remove(&t->ready_link);
        list_append(line, &t->ready_link);
        t->inside++;
        return t;
    }
    return NULL;
}

static struct task *pool_take(struct dev *dev) {
    struct task *t = NULL;
    for (uint32_t level = SOFT_LEVELS; level-- && !t;)
        t = pool_take_from(&dev->ready[level]);
    return t;
}

/* Lock held. */
static void pool_account(struct dev *dev, struct task *t, uint64_t begin_ns) {
    uint64_t now = fdutil_now_ns(), timeout = dev->config.kernel_timeout_ns;
    t->op->busy_ns += now - begin_ns;
    uint64_t active = t->active_ns + now - t->active_since_ns;
    if (!t->inside) t->active_ns = active;
    if (timeout && active > timeout && t->grid && !t->done)
        grid_cancel(t->grid, ERR_KERNEL_TIMEOUT);
}

/* Lock held. The last thread to leave a task that is done finishes it. */
static void pool_leave(struct dev *dev, struct task *t, bool done, bool idle, uint64_t begin_ns) {
    t->inside--;
    if (done) t->done = true;
    pool_account(dev, t, begin_ns);
    if (t->done) {
        if (t->inside) return;
        if (t->grid) pool_take_result(t);
        queue_finish(t);
        return;
    }
    /* Idle while others are inside: one of them will come back with more, or done. */
    bool helped = t->idle;
    t->idle = idle && t->inside;
    if (helped && !t->idle) pthread_cond_broadcast(&dev->work);
}

static void *pool_thread(void *arg) {
    struct dev *dev = arg;
    pthread_mutex_lock(&dev->lock);
    while (!dev->stopping) {
        struct task *t = pool_take(dev);
        if (!t) {
            pthread_cond_wait(&dev->work, &dev->lock);
            continue;
        }
        uint64_t begin = fdutil_now_ns();
        if (!t->op->start_ns) t->op->start_ns = begin;
        if (t->inside == 1) t->active_since_ns = begin;
        const uint32_t *blocks = t->launch.grid;
        bool shared = t->kind == TASK_LAUNCH && !t->grid && (blocks[0] | blocks[1] | blocks[2]) > 1;
        pthread_mutex_unlock(&dev->lock);
        bool idle, done = pool_slice(t, &idle);
        pthread_mutex_lock(&dev->lock);
        /* Others looked while the grid did not exist yet. */
        if (shared) pthread_cond_broadcast(&dev->work);
        pool_leave(dev, t, done, idle, begin);
    }
    pthread_mutex_unlock(&dev->lock);
    return NULL;
}

int pool_start(struct dev *dev) {
    uint32_t n = dev->config.threads;
    dev->threads = calloc(n, sizeof *dev->threads);
    if (!dev->threads) return -ENOMEM;
    for (; dev->thread_count < n; dev->thread_count++) {
        int err = pthread_create(&dev->threads[dev->thread_count], NULL, pool_thread, dev);
        if (err) {
            pool_stop(dev);
            return -err;
        }
    }
    return 0;
}

void pool_stop(struct dev *dev) {
    pthread_mutex_lock(&dev->lock);
    dev->stopping = true;
    pthread_cond_broadcast(&dev->work);
    pthread_mutex_unlock(&dev->lock);
    for (uint32_t i = 0; i < dev->thread_count; i++)
        pthread_join(dev->threads[i], NULL);
    free(dev->threads);
    dev->threads = NULL;
    dev->thread_count = 0;
}
