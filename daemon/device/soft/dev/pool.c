/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's threads. Each thread takes the first task that can use it, runs one slice, and puts
 * the task at the end of its ready list. So all tasks get equal slices, whatever the length of a
 * kernel. There is a ready list for each level. The lower level gets only the threads that the
 * higher one cannot use, as a GPU dispatches blocks of streams of higher priority first.
 */
#include "daemon/device/soft/dev/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/soft/dev/space.h"

static struct task *task_of(struct list *ready_link) {
    return list_entry(ready_link, struct task, ready_link);
}

void pool_failed(struct pool *p, struct dev_queue *q) {
    if (list_empty(&q->failed)) list_append(&p->failed, &q->failed);
}

void pool_seen(struct pool *p) {
    while (!list_empty(&p->failed))
        list_remove(p->failed.next);
}

/* ---- turns within a space ---------------------------------------------------------------------
 */

static struct rotation *rotation_of(const struct task *t) {
    return &t->queue->space->rotation;
}

static void put_in_line(struct pool *p, struct task *t, uint32_t level) {
    list_remove(&t->ready_link);
    list_append(&p->ready[level], &t->ready_link);
    pthread_cond_signal(&p->work); /* one thread begins any task */
}

static void give_turn(struct pool *p, struct task *t) {
    if (t) put_in_line(p, t, t->queue->level);
}

/* Removes the task from the rotation of its space. */
static void leave_turns(struct pool *p, struct task *t) {
    if (p->in_order) give_turn(p, rotation_remove(rotation_of(t), t));
}

/* Called when the task has had a slice: gives the turn to the next task, unless all of them
 * stall. */
static void pass_turn(struct pool *p, struct task *t) {
    struct rotation *r = rotation_of(t);
    if (!p->in_order || r->turn != t) return;
    bool asks = t->kind == TASK_LAUNCH && family_begun(&t->family) && family_asked(&t->family);
    t->asked = asks ? t->asked + 1 : 0;
    struct task *next = rotation_next(r);
    give_turn(p, next);
    if (next) return;
    r->until_ns = fdutil_now_ns() + ROTATION_PAUSE_NS;
    list_append(&p->paused, &r->paused);
    completion_tell(&p->done);
}

/* Resumes spaces whose pause is over. Lowers `until_ns` to the end of the next pause. */
static void resume_paused(struct pool *p, uint64_t *until_ns) {
    uint64_t now_ns = list_empty(&p->paused) ? 0 : fdutil_now_ns();
    while (!list_empty(&p->paused)) {
        struct rotation *r = list_entry(p->paused.next, struct rotation, paused);
        if (r->until_ns <= now_ns) {
            give_turn(p, rotation_resume(r));
            continue;
        }
        if (r->until_ns < *until_ns) *until_ns = r->until_ns;
        return; /* pauses are equally long, so the others end later */
    }
}

uint32_t pool_stalled(struct pool *p, const struct rotation *r) {
    pthread_mutex_lock(&p->lock);
    uint32_t count = rotation_stalled(r);
    pthread_mutex_unlock(&p->lock);
    return count;
}

/* Makes a task ready. A cancelled task goes to the highest level, so that it need not wait until
 * tasks of a higher level have nothing to do. */
void pool_add(struct pool *p, struct task *task) {
    if (!list_empty(&task->queue->failed)) atom_store_relaxed(&task->cancelled, true);
    if (task->kind == TASK_SPEND) {
        timeline_add(&p->timeline, task, fdutil_now_ns());
        pthread_cond_signal(&p->spent);
        return;
    }
    bool over = atom_load_relaxed(&task->cancelled);
    if (over) leave_turns(p, task);
    if (over || !p->in_order || rotation_add(rotation_of(task), task))
        put_in_line(p, task, over ? POOL_LEVELS - 1 : task->queue->level);
}

/* Begins a launch. On failure the operation's result holds the error. */
static void begin_task(struct pool *p, struct task *t) {
    struct family f = {0};
    int err = family_begin(&f, &t->launch);
    pthread_mutex_lock(&p->lock);
    t->family = f;
    t->op->result = err;
    if (atom_load_relaxed(&t->cancelled)) family_cancel(&t->family, ERR_CANCELLED);
    pthread_mutex_unlock(&p->lock);
}

static void take_result(struct task *t) {
    struct grid_result r;
    family_result(&t->family, &r);
    t->op->result = r.err;
    t->op->fault_addr = r.fault_addr;
    t->op->thread_insts = r.thread_insts;
    t->op->memory_bytes = r.memory_bytes;
    snprintf(t->op->fault_text, sizeof(t->op->fault_text), "%s", r.text);
}

/* Runs one slice without the lock. Returns true when the task is over for this and all other
 * threads. */
static bool run_slice(struct pool *p, struct task *t, bool *idle) {
    *idle = false;
    if (t->kind == TASK_TRANSFER) {
        if (atom_load_relaxed(&t->cancelled)) t->op->result = ERR_CANCELLED;
        if (t->op->result) return true;
        int err = transfer_step(&t->transfer, t->ranges, POOL_SLICE_BYTES, &t->op->fault_addr);
        if (err < 0) {
            t->op->result = err;
            snprintf(t->op->fault_text, sizeof(t->op->fault_text),
                     "a copy or a fill reaches outside the client's memory");
        }
        return err != 0;
    }
    if (!family_begun(&t->family)) {
        begin_task(p, t);
        return t->op->result != 0;
    }
    enum grid_state state = family_step(&t->family, POOL_SLICE_INSTS);
    *idle = state == GRID_IDLE;
    return state == GRID_DONE;
}

/* True for a kernel whose queue has used up its share. Lowers `until_ns` to the time when that may
 * be over. */
static bool is_withheld(const struct task *t, uint64_t *until_ns) {
    const struct allowance *a = &t->queue->allowance;
    if (!a->sms || t->kind != TASK_LAUNCH || atom_load_relaxed(&t->cancelled)) return false;
    uint64_t now_ns = fdutil_now_ns();
    if (now_ns < a->due_ns && a->due_ns < *until_ns) *until_ns = a->due_ns;
    return allowance_withholds(a, t->inside, now_ns);
}

static bool stands_still(const struct task *t) {
    return t->queue->still && t->kind == TASK_LAUNCH && !atom_load_relaxed(&t->cancelled);
}

/* Takes the first task of a ready list that another thread can help with, and moves it to the end.
 * Needs the lock. */
static struct task *take_from(const struct pool *p, struct list *line, uint64_t *until_ns) {
    struct list *pos;
    list_each(pos, line) {
        struct task *t = task_of(pos);
        if (t->idle || t->done || stands_still(t)) continue;
        bool alone = p->in_order || t->exclusive ||
                     !family_begun(&t->family); /* only one thread begins it */
        if (alone && t->inside) continue;
        if (is_withheld(t, until_ns)) continue;
        list_remove(&t->ready_link);
        list_append(line, &t->ready_link);
        t->inside++;
        return t;
    }
    return NULL;
}

/* Takes a task. If there is none, `until_ns` is the latest time at which to look again. */
static struct task *take_task(struct pool *p, uint64_t *until_ns) {
    struct task *t = NULL;
    *until_ns = UINT64_MAX;
    resume_paused(p, until_ns);
    for (uint32_t level = POOL_LEVELS; level-- && !t;)
        t = take_from(p, &p->ready[level], until_ns);
    return t;
}

/* Needs the lock. */
static void account_time(struct pool *p, struct task *t, uint64_t begin_ns) {
    uint64_t now = fdutil_now_ns(), timeout = p->kernel_timeout_ns;
    t->op->busy_ns += now - begin_ns;
    if (t->kind == TASK_LAUNCH) allowance_use(&t->queue->allowance, begin_ns, now - begin_ns);
    uint64_t active = t->active_ns + now - t->active_since_ns;
    if (!t->inside) t->active_ns = active;
    if (timeout && active > timeout && !t->done) family_cancel(&t->family, ERR_KERNEL_TIMEOUT);
}

/* Needs the lock. Completes the operation of a task that is over and lets its queue continue. */
static void finish_task(struct pool *p, struct task *t) {
    struct dev_queue *q = t->queue;
    struct dev_op *op = t->op;
    list_remove(&t->queue_link);
    list_remove(&t->ready_link);
    leave_turns(p, t);
    if (op->result) pool_failed(p, q);
    struct task *next = task_first(q);
    if (next) pool_add(p, next);
    task_free(t);
    completion_add(&p->done, op);
}

/* Needs the lock. */
static void note_times(struct pool *p, struct dev_op *op) {
    op->end_ns = fdutil_now_ns();
    if (!op->start_ns) op->start_ns = op->end_ns;
    op->busy_ns /= p->wanted; /* was the sum over the threads */
}

/* Needs the lock. The last thread to leave a task that is done finishes it. */
static void leave_task(struct pool *p, struct task *t, bool done, bool idle, uint64_t begin_ns) {
    t->inside--;
    if (done) t->done = true;
    account_time(p, t, begin_ns);
    if (t->done) {
        if (t->inside) return;
        if (family_begun(&t->family)) take_result(t);
        note_times(p, t->op);
        finish_task(p, t);
        return;
    }
    /* Another thread may have to come back to the task when its allowance permits. */
    if (t->queue->allowance.sms) pthread_cond_signal(&p->work);
    /* The task is idle while other threads are inside: one of them will come back with more work,
     * or finish it. */
    bool helped = t->idle;
    t->idle = idle && t->inside;
    if (helped && !t->idle) pthread_cond_broadcast(&p->work);
    pass_turn(p, t);
}

static void wait_until(struct pool *p, pthread_cond_t *what, uint64_t ns) {
    struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    if (ns == UINT64_MAX)
        pthread_cond_wait(what, &p->lock);
    else
        pthread_cond_timedwait(what, &p->lock, &at);
}

static void *run_thread(void *arg) {
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stopping) {
        uint64_t until_ns;
        struct task *t = take_task(p, &until_ns);
        if (!t) {
            wait_until(p, &p->work, until_ns);
            continue;
        }
        uint64_t begin = fdutil_now_ns();
        if (!t->op->start_ns) t->op->start_ns = begin;
        if (t->inside == 1) t->active_since_ns = begin;
        const uint32_t *blocks = t->launch.grid;
        bool shared = t->kind == TASK_LAUNCH && !family_begun(&t->family) &&
                      (blocks[0] | blocks[1] | blocks[2]) > 1;
        pthread_mutex_unlock(&p->lock);
        bool idle, done = run_slice(p, t, &idle);
        pthread_mutex_lock(&p->lock);
        /* Other threads looked for work before the grid existed. */
        if (shared) pthread_cond_broadcast(&p->work);
        leave_task(p, t, done, idle, begin);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- tasks that only take time --------------------------------------------------------------- */

static void *run_clock(void *arg) {
    struct pool *p = arg;
    prctl(PR_SET_TIMERSLACK, 1); /* ns; kernels take microseconds */
    pthread_mutex_lock(&p->lock);
    while (!p->stopping) {
        struct task *t = timeline_next(&p->timeline, fdutil_now_ns());
        if (t)
            finish_task(p, t);
        else
            wait_until(p, &p->spent, timeline_end_ns(&p->timeline));
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int pool_start_clock(struct pool *p) {
    if (p->has_clock) return 0;
    int err = -pthread_create(&p->clock, NULL, run_clock, p);
    p->has_clock = !err;
    return err;
}

static void init_clock_cond(pthread_cond_t *cond) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* ---- threads --------------------------------------------------------------------------------- */

int pool_start(struct pool *p, uint32_t threads, uint32_t sms, bool in_order,
               uint64_t kernel_timeout_ns) {
    p->wanted = threads;
    p->in_order = in_order;
    list_init(&p->paused);
    p->kernel_timeout_ns = kernel_timeout_ns;
    pthread_mutex_init(&p->lock, NULL);
    init_clock_cond(&p->work);
    init_clock_cond(&p->spent);
    timeline_init(&p->timeline, sms);
    for (uint32_t level = 0; level < POOL_LEVELS; level++)
        list_init(&p->ready[level]);
    list_init(&p->failed);
    int err = completion_init(&p->done);
    if (!err && !(p->threads = calloc(threads, sizeof(*p->threads)))) err = -ENOMEM;
    while (!err && p->thread_count < threads) {
        err = -pthread_create(&p->threads[p->thread_count], NULL, run_thread, p);
        if (!err) p->thread_count++;
    }
    if (err) pool_stop(p);
    return err;
}

void pool_stop(struct pool *p) {
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->work);
    pthread_cond_signal(&p->spent);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->thread_count; i++)
        pthread_join(p->threads[i], NULL);
    if (p->has_clock) pthread_join(p->clock, NULL);
    free(p->threads);
    completion_finish(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->spent);
    pthread_mutex_destroy(&p->lock);
}

uint64_t pool_busy(struct pool *p, const struct dev_op *op) {
    pthread_mutex_lock(&p->lock);
    uint64_t busy = op->end_ns ? op->busy_ns : op->busy_ns / p->wanted;
    pthread_mutex_unlock(&p->lock);
    return busy;
}
