/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream of the driver has at most QUEUE_DEPTH of our operations, so that no call blocks in a
 * full driver. A number follows each operation and shows when it is complete.
 */
#include "daemon/device/cuda/queue/cuda_issue.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/cuda/driver/cuda_text.h"
#include "daemon/device/cuda/queue/cuda_retire.h"
#include "daemon/device/cuda/queue/cuda_task.h"
#include "daemon/device/cuda/queue/operation.h"

static void note_going(struct task *t, uint64_t now_ns) {
    t->stood_ns = cuda_task_stood_ns(t, now_ns);
    t->idle_ns = 0;
}

static void plan_parts(const struct dev_queue *q, struct task *t) {
    const struct queues *qs = q->all;
    if (t->kind == TASK_LAUNCH && !q->level)
        cuda_subgrid_begin(&t->parts, &qs->subgrids, &t->launch,
                           cuda_share_sms(qs->shares, q->share));
}

/* True when the driver can take this operation, the next of its queue, or its next part. The caller
 * then gives it at once. */
static bool may_issue(struct dev_queue *q, const struct task *t) {
    const struct dev_space *s = q->space;
    if (q->still && t->kind == TASK_LAUNCH) return false;
    if (t->issued) return queue_state_parts_out(q, t) < QUEUE_PARTS;
    if (q->printing || q->in_driver >= QUEUE_DEPTH) return false;
    return !queue_state_prints(t) ||
           cuda_text_enter(q->all->context->texts, s->ops, s->ops_arg, &q->turn);
}

/* At the higher level all remaining parts go at once. */
static int give_part(const struct dev_queue *q, CUstream stream, struct task *t) {
    const struct queues *qs = q->all;
    uint32_t sms = q->level ? 0 : cuda_share_sms(qs->shares, q->share);
    return cuda_subgrid_next(&t->parts, &qs->subgrids, stream, &t->launch, sms);
}

static int give(struct dev_queue *q, CUstream stream, struct task *t) {
    struct context *c = q->all->context;
    switch (t->kind) {
    case TASK_LAUNCH:
        return t->parts.cut ? give_part(q, stream, t) : operation_launch(c, stream, &t->launch);
    case TASK_COPY: return operation_copy(q->space, stream, &t->copy);
    default: return operation_memset(q->space, stream, &t->memset);
    }
}

/* Appends the number that shows the completion of this and all earlier work. If that fails, waits
 * here, because the operations would never end. */
static void sign(struct dev_queue *q, CUstream stream) {
    int err = cuda_completion_sign(&q->all->words, q->word, stream, q->number);
    q->signalled = q->number;
    q->unsignalled_ns = 0;
    if (!err || context_settle(q->all->context, stream)) return;
    cuda_completion_set(q->word, q->number);
}

/* True when the completion of the latest operation must be noticed by itself. A kernel_timeout can
 * be checked only when the beginning of each kernel is known. */
static bool needs_signal(const struct dev_queue *q, const struct task *t) {
    const struct queues *qs = q->all;
    if (qs->each || qs->kernel_timeout_ns || t->op->exact || t->op->timed) return true;
    if (t->parts.cut || queue_state_prints(t)) return true;
    return q->number - q->signalled >= QUEUE_BATCH || q->unsignalled_ns >= QUEUE_BATCH_NS;
}

static void sign_batch(struct dev_queue *q, struct task *t, CUstream stream) {
    if (q->number - q->signalled == 1) q->unsignalled_since_ns = t->issued_ns;
    q->unsignalled_ns += t->op->expected_ns;
    if (!needs_signal(q, t)) return;
    sign(q, stream);
    t->signalled = true;
}

/* The latest task that the driver has; NULL: none. */
static struct task *latest_given(const struct dev_queue *q) {
    struct task *t = q->first, *given = NULL;
    for (; t && t->issued; t = t->next)
        given = t;
    return given;
}

static void sign_latest(struct dev_queue *q) {
    struct task *t = latest_given(q);
    sign(q, q->streams[q->current]);
    if (t) t->signalled = true;
}

void cuda_issue_signal(struct dev_queue *q) {
    if (q->number != q->signalled && !context_fatal(q->all->context)) sign_latest(q);
}

void cuda_issue_signal_idle(struct dev_queue *q) {
    uint64_t unsignalled = q->number - q->signalled;
    bool grows = unsignalled >= QUEUE_BURST && q->number != q->looked;
    q->looked = q->number;
    if (!unsignalled) return;
    if (!grows || fdutil_now_ns() - q->unsignalled_since_ns >= QUEUE_BATCH_NS) cuda_issue_signal(q);
}

static void begin(struct dev_queue *q, struct task *t, CUstream stream) {
    t->issued = true;
    t->issued_ns = fdutil_now_ns();
    t->before = q->number;
    q->in_driver++;
    q->printing = queue_state_prints(t);
    if (q->failed && !t->op->result) t->op->result = ERR_CANCELLED;
    if (!t->op->result) t->op->result = cuda_space_follow(q->space, stream, &q->clears);
    if (t->op->timed && !t->op->result) t->began = cuda_time_mark(q->all->times, stream);
}

/* The error of a further part becomes the operation's result once its earlier parts have completed:
 * one of them may end the context. */
static void note_refused(struct task *t, bool first, int err) {
    if (err && first) cuda_retire_note_error(t->op, err);
    if (err && !first) t->end = err;
}

static void issue(struct dev_queue *q, struct task *t) {
    CUstream stream = queue_state_stream(q);
    bool first = !t->issued;
    if (first)
        begin(q, t, stream);
    else
        note_going(t, fdutil_now_ns());
    bool timed = t->op->timed && !t->op->result;
    if (!t->op->result) note_refused(t, first, give(q, stream, t));
    bool over = t->op->result || t->end, last = over || !cuda_subgrid_more(&t->parts);
    q->failed |= over;
    q->number++;
    t->number = last ? q->number : CUDA_TASK_PARTLY;
    q->waiting = last ? t->next : t;
    if (timed && last) t->ended = cuda_time_mark(q->all->times, stream);
    sign_batch(q, t, stream);
}

void cuda_issue_waiting(struct dev_queue *q) {
    while (q->waiting && !context_fatal(q->all->context) && may_issue(q, q->waiting))
        issue(q, q->waiting);
}

/* A queue that gets its turn leaves the head of the line to the next one. */
void cuda_issue_turns(struct texts *texts) {
    const struct list *head = NULL;
    while (!list_empty(&texts->turns) && texts->turns.next != head) {
        head = texts->turns.next;
        cuda_issue_waiting(list_entry(head, struct dev_queue, turn));
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Takes a task for the queue, which the caller fills and submits. 0, -ENOMEM or ERR_DEVICE_LOST. */
static int take_task(struct dev_queue *q, enum task_kind kind, struct dev_op *op,
                     struct task **out) {
    if (context_fatal(q->all->context)) return ERR_DEVICE_LOST;
    *out = cuda_task_take(&q->all->tasks, kind, op);
    return *out ? 0 : -ENOMEM;
}

static int submit(struct dev_queue *q, struct task *t) {
    if (!q->first) q->failed = false;
    plan_parts(q, t);
    bool now = !q->waiting && may_issue(q, t);
    if ((!now || t->parts.cut) && cuda_task_keep_params(&q->all->tasks, t)) {
        if (!q->waiting) list_remove(&q->turn);
        cuda_task_give(&q->all->tasks, t);
        return -ENOMEM;
    }
    *q->last = t;
    q->last = &t->next;
    if (now)
        issue(q, t);
    else if (!q->waiting)
        q->waiting = t;
    if (now) cuda_issue_waiting(q); /* gives the next part */
    queue_state_set_busy(q, true);
    return 0;
}

int cuda_issue_launch(struct dev_queue *q, const struct dev_launch *launch, struct dev_op *op) {
    struct task *t;
    int err = take_task(q, TASK_LAUNCH, op, &t);
    if (err) return err;
    t->launch = *launch;
    return submit(q, t);
}

/* The latest task; NULL: none. `last` points to its link. */
static struct task *latest(struct dev_queue *q) {
    return q->first ? (struct task *)((char *)q->last - offsetof(struct task, next)) : NULL;
}

/* No times were requested when it went to the driver. An event recorded behind it now gives its
 * end, or the time of this request if it has ended before. The operation is complete with that
 * event. */
void cuda_issue_time(struct dev_queue *q, struct dev_op *op) {
    struct task *t = latest(q);
    if (!t || t->op != op || t->ended) return;
    op->timed = true;
    if (!t->issued || cuda_task_is_partly_given(t) || queue_state_prints(t) ||
        context_fatal(q->all->context))
        return;
    if (cuda_completion_look(&q->all->words, q->word) >= t->number) return;
    CUstream stream = q->streams[q->current];
    t->ended = cuda_time_mark(q->all->times, stream);
    if (!t->ended) return;
    t->number = ++q->number;
    sign(q, stream);
    t->signalled = true;
}

/* Lets it fail in stream order, as the hardware would. */
static void note_outside(struct dev_op *op, int err, uint64_t addr) {
    if (!err) return;
    op->result = err;
    op->fault_addr = addr;
    snprintf(op->fault_text, sizeof(op->fault_text), "0x%llx is not backed by memory",
             (unsigned long long)addr);
}

int cuda_issue_copy(struct dev_queue *q, const struct dev_copy *copy, struct dev_op *op) {
    struct task *t;
    uint64_t addr = 0;
    int err = take_task(q, TASK_COPY, op, &t);
    if (err) return err;
    t->copy = *copy;
    err = operation_check_copy(q->space, copy, &addr);
    note_outside(op, err, addr);
    return submit(q, t);
}

int cuda_issue_memset(struct dev_queue *q, const struct dev_memset *set, struct dev_op *op) {
    struct task *t;
    uint64_t addr = 0;
    int err = take_task(q, TASK_MEMSET, op, &t);
    if (err) return err;
    t->memset = *set;
    err = operation_check_memset(q->space, set, &addr);
    note_outside(op, err, addr);
    return submit(q, t);
}
