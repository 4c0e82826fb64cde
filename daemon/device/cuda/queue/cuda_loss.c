/* SPDX-License-Identifier: Apache-2.0
 *
 * A suspect is a kernel that may have been running when the context ended: the first of its stream
 * that did not complete, or one behind it whose completion the same signal would have shown.
 */
#include "daemon/device/cuda/queue/cuda_loss.h"

#include <stdio.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/cuda/driver/cuda_text.h"
#include "daemon/device/cuda/queue/cuda_retire.h"

/* The first operation of the stream that did not complete, which was in progress. Operations that
 * failed before they began are skipped. NULL: there is none. */
static struct task *head_of(const struct dev_queue *q) {
    struct task *t = q->first;
    while (t && t->issued && t->op->result)
        t = t->next;
    return t && t->issued ? t : NULL;
}

/* True when operations behind a kernel of the queue have certainly not begun. Words show completed
 * ones; the driver ended the context, not we; and the queue had only its first stream, whose
 * kernels all end at once. */
static bool is_exact(const struct dev_queue *q) {
    const struct queues *qs = q->all;
    for (uint32_t i = 1; i < QUEUE_STREAMS; i++)
        if (q->streams[i]) return false;
    return qs->words.way != DEV_COMPLETION_EVENTS && !qs->culprit &&
           context_fatal(qs->context) != CUDA_ERROR_UNKNOWN;
}

/* Notes which operations may have begun. With exact completions these are the operations up to the
 * first completion signal, which was not reached, and copies behind it up to the next kernel:
 * copies may continue for a while after the kernels. */
static void note_begun(struct dev_queue *q, struct task *head) {
    bool exact = is_exact(q), behind = false;
    for (struct task *t = head; t && t->issued; t = t->next) {
        bool kernel = t->kind == TASK_LAUNCH;
        if (exact && kernel && behind) return;
        t->op->begun = !t->op->result;
        behind |= t->signalled;
        if (exact && kernel && behind) return;
    }
}

/* A kernel without assertions did not fail one. */
static bool may_do(const struct task *t, const struct queues *qs) {
    return !qs->asserted || t->launch.func->module->asserts;
}

/* Returns the first kernel from `t` on that can have ended the context; NULL: none. The search ends
 * behind a task with a completion signal: the signal did not come, so later kernels did not begin.
 * With events it does not end at a copy's signal, because events show nothing after the context's
 * end. */
static struct task *suspect_from(const struct dev_queue *q, struct task *t) {
    const struct queues *qs = q->all;
    bool events = qs->words.way == DEV_COMPLETION_EVENTS;
    for (; t && t->issued; t = t->next) {
        bool kernel = t->kind == TASK_LAUNCH && !t->op->result;
        if (kernel && may_do(t, qs)) return t;
        if (t->signalled && (kernel || !events)) return NULL;
    }
    return NULL;
}

static struct task *first_suspect(const struct dev_queue *q) {
    const struct queues *qs = q->all;
    struct task *head = head_of(q);
    if (qs->culprit && q != qs->culprit) return NULL;
    if (head && queue_state_is_between(q, head)) return NULL;
    return suspect_from(q, head);
}

static struct task *next_suspect(const struct dev_queue *q, const struct task *t) {
    return t->signalled ? NULL : suspect_from(q, t->next);
}

/* Number of suspects, and the space that has all of them; NULL: they are of several. */
struct suspects {
    uint32_t count;
    const struct dev_space *space;
};

static struct suspects find_suspects(const struct queues *qs) {
    struct suspects s = {0};
    const struct list *pos;
    list_each(pos, &qs->busy) {
        const struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        for (const struct task *t = first_suspect(q); t; t = next_suspect(q, t)) {
            if (!s.count++) s.space = q->space;
            if (s.space != q->space) s.space = NULL;
        }
    }
    return s;
}

/* If no suspect names an assertion, any kernel may be one. */
static struct suspects settle_suspects(struct queues *qs) {
    qs->asserted = context_fatal(qs->context) == CUDA_ERROR_ASSERT;
    const struct suspects s = find_suspects(qs);
    if (s.count || !qs->asserted) return s;
    qs->asserted = false;
    return find_suspects(qs);
}

/* If all suspects are one job's, that job is the culprit. */
static void blame(struct dev_op *op, const struct queues *qs, const struct suspects *s) {
    CUresult fatal = (CUresult)context_fatal(qs->context);
    const char *name = driver_name(&qs->context->driver, fatal);
    int said = s->space ? cuda_assertion_first(&qs->assertion) : 0;
    op->suspects = (uint16_t)(s->count < UINT16_MAX ? s->count : UINT16_MAX);
    op->result = s->space ? driver_error(fatal) : ERR_DEVICE_LOST;
    if (said)
        snprintf(op->fault_text, sizeof(op->fault_text), "%.*s", said, qs->assertion.text);
    else if (s->count == 1)
        snprintf(op->fault_text, sizeof(op->fault_text), "%s: the kernel ended the GPU's context",
                 name);
    else
        snprintf(op->fault_text, sizeof(op->fault_text),
                 "%s: one of the %u kernels %sthat were running ended the GPU's context", name,
                 s->count, s->space ? "of this job " : "");
}

/* Gives the jobs what their kernels have printed so far, and waits until that is done. No queue
 * waits for a turn to print any more. */
static void settle_texts(struct queues *qs) {
    struct list *pos;
    list_each(pos, &qs->busy) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        if (q->printing && !q->through_ns) cuda_retire_ask_text(q);
        list_remove(&q->turn);
    }
    cuda_text_settle(qs->context->texts);
}

/* Completes the operations that had completed before the end and were not seen yet, before those
 * that failed. */
static void bury_complete(struct queues *qs, uint64_t now_ns) {
    const struct list *pos;
    list_each(pos, &qs->busy) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        q->seen = atom_load_acquire(&q->word->done);
        while (q->first && queue_state_is_back(q, q->first))
            cuda_retire_first(q, now_ns);
    }
}

static void bury_queue(struct dev_queue *q, const struct suspects *s, uint64_t now_ns) {
    struct task *suspect = first_suspect(q);
    note_begun(q, head_of(q));
    for (struct task *next; suspect; suspect = next) {
        next = next_suspect(q, suspect);
        blame(suspect->op, q->all, s);
    }
    while (q->first) {
        struct dev_op *op = q->first->op;
        if (!op->result) op->result = ERR_DEVICE_LOST;
        cuda_retire_first(q, now_ns);
    }
    queue_state_set_busy(q, false);
}

/* Called before anything else waits, as that would make the driver write. It does not take long. */
static void hear_assertion(struct queues *qs) {
    const struct dev_queue *q = list_entry(qs->busy.next, struct dev_queue, busy);
    if (list_empty(&qs->busy) || context_fatal(qs->context) != CUDA_ERROR_ASSERT) return;
    cuda_assertion_listen(&qs->assertion);
    queue_state_result(q, qs->context->driver.cuStreamSynchronize(q->streams[q->current]));
    cuda_assertion_hear(&qs->assertion);
}

void cuda_loss_bury(struct queues *qs) {
    struct list *pos, *tmp;
    hear_assertion(qs);
    settle_texts(qs);
    uint64_t now_ns = fdutil_now_ns();
    bury_complete(qs, now_ns);
    const struct suspects s = settle_suspects(qs);
    if (s.count && s.space) cuda_assertion_give(&qs->assertion, s.space->ops, s.space->ops_arg);
    list_each_safe(pos, tmp, &qs->busy)
        bury_queue(list_entry(pos, struct dev_queue, busy), &s, now_ns);
}

/* Asks the driver, because a stream that died writes no more. */
static void ask_alive(struct queues *qs) {
    const struct dev_queue *q = list_entry(qs->busy.next, struct dev_queue, busy);
    cuda_assertion_listen(&qs->assertion);
    CUresult r = qs->context->driver.cuStreamQuery(q->streams[q->current]);
    cuda_assertion_hear(&qs->assertion);
    queue_state_result(q, r);
}

static bool is_overdue(const struct dev_queue *q, uint64_t now_ns) {
    const struct queues *qs = q->all;
    const struct task *t = q->first;
    uint64_t began = t->issued_ns > q->last_end_ns ? t->issued_ns : q->last_end_ns;
    uint64_t left = q->space->cancelled_ns;
    if (t->kind != TASK_LAUNCH || queue_state_is_back(q, t)) return false;
    uint64_t ran_ns = now_ns - began, stood = cuda_task_stood_ns(t, now_ns);
    ran_ns -= stood < ran_ns ? stood : ran_ns;
    if (qs->kernel_timeout_ns && ran_ns > qs->kernel_timeout_ns) return true;
    return qs->cancel_timeout_ns && left && now_ns - left > qs->cancel_timeout_ns;
}

/* Only the end of the context ends a kernel in the driver. */
static void end_overdue(struct queues *qs) {
    const struct list *pos;
    uint64_t now_ns = fdutil_now_ns();
    list_each(pos, &qs->busy) {
        const struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        if (!q->first || !q->first->issued || !is_overdue(q, now_ns)) continue;
        qs->culprit = q;
        context_end(qs->context, CUDA_ERROR_LAUNCH_TIMEOUT);
        return;
    }
}

void cuda_loss_ask(struct queues *qs) {
    ask_alive(qs);
    if (!context_fatal(qs->context)) end_overdue(qs);
}
