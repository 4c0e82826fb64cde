/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on their way: given to the driver, complete when the stream's number says so.
 */
#include "daemon/device/cuda/queue/cuda_queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/cuda/driver/cuda_text.h"
#include "daemon/device/cuda/queue/completion_trial.h"
#include "daemon/device/cuda/queue/cuda_task.h"
#include "daemon/device/cuda/queue/operation.h"

/* Looking at the words is free, asking the driver is not. */
#define QUEUE_ROUNDS 1024u

#define QUEUE_STREAMS ((1 + SHARE_MAX) * QUEUE_LEVELS)

struct dev_queue {
    struct queues *all;
    struct dev_space *space;
    struct list busy;                /* all->busy, while it has an operation */
    int priority;                    /* CUDA's */
    uint32_t level, share;           /* as it is to be; the share's number */
    uint32_t share_sms;              /* that was asked for */
    uint32_t current;                /* of the streams */
    CUstream streams[QUEUE_STREAMS]; /* by share and level; NULL: was never needed */
    CUevent passing;                 /* from one stream to the other; NULL: was never needed */
    struct word *word;
    uint64_t clears;       /* of its space, that its streams have waited for */
    uint64_t number, seen; /* the latest given, the latest that came back */
    uint32_t in_driver;
    struct task *first, **last; /* not complete */
    struct task *waiting;       /* the first of these that the driver does not have all of */
    bool still;                 /* it gets no more kernels */
    bool failed; /* one of these: what is behind it does not run, until the worker has seen that */
    uint64_t last_end_ns;
    struct list turn; /* its next operation waits for its turn to print */
    bool printing;    /* the last one that the driver has may print: nothing is given behind it */
    uint64_t through_ns; /* when that was complete, and asked for what it printed; 0: it is not */
    struct text_flush flush;
};

/* ---- the driver's streams -------------------------------------------------------------------- */

static int result(const struct dev_queue *q, CUresult r) {
    return context_result(q->all->context, r);
}

/* A job's own priorities are below that of the level above. */
static int priority_of(const struct dev_queue *q, uint32_t level) {
    const struct context *c = q->all->context;
    int most =
        c->greatest_priority < c->least_priority ? c->greatest_priority + 1 : c->greatest_priority;
    if (level) return c->greatest_priority;
    if (q->priority > c->least_priority) return c->least_priority;
    return q->priority < most ? most : q->priority;
}

/* The one of this number, of the streams. */
static int need_stream(struct dev_queue *q, uint32_t number) {
    if (q->streams[number]) return 0;
    return cuda_share_stream(q->all->shares, number / QUEUE_LEVELS,
                             priority_of(q, number % QUEUE_LEVELS), &q->streams[number]);
}

/* What comes on the other stream comes behind what is on this one. */
static int pass_over(struct dev_queue *q, uint32_t number) {
    const struct driver *d = &q->all->context->driver;
    int err = need_stream(q, number);
    if (err || !q->in_driver) return err;
    if (!q->passing) err = result(q, d->cuEventCreate(&q->passing, CU_EVENT_DISABLE_TIMING));
    if (!err) err = result(q, d->cuEventRecord(q->passing, q->streams[q->current]));
    if (!err) err = result(q, d->cuStreamWaitEvent(q->streams[number], q->passing, 0));
    return err;
}

static CUstream stream_now(struct dev_queue *q) {
    uint32_t wanted = q->share * QUEUE_LEVELS + q->level;
    if (wanted != q->current && !pass_over(q, wanted)) q->current = wanted;
    return q->streams[q->current];
}

/* ---- what kernels print ---------------------------------------------------------------------- */

static bool prints(const struct task *t) {
    return t->kind == TASK_LAUNCH && t->launch.func->module->prints;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool is_partly_given(const struct task *t) {
    return t->issued && t->number == CUDA_TASK_PARTLY;
}

/* Parts of it that the driver has and is not through with; it is the latest that it was given. */
static uint64_t parts_out(const struct dev_queue *q, const struct task *t) {
    return q->number - (q->seen > t->before ? q->seen : t->before);
}

/* Nothing of it is under way: it stands between two parts. */
static bool is_between(const struct dev_queue *q, const struct task *t) {
    return is_partly_given(t) && !parts_out(q, t);
}

static void note_idle(const struct dev_queue *q, struct task *t, uint64_t now_ns) {
    if (is_between(q, t) && !t->idle_ns) t->idle_ns = now_ns;
}

static uint64_t stood_ns(const struct task *t, uint64_t now_ns) {
    return t->stood_ns + (t->idle_ns ? now_ns - t->idle_ns : 0);
}

static void note_going(struct task *t, uint64_t now_ns) {
    t->stood_ns = stood_ns(t, now_ns);
    t->idle_ns = 0;
}

static void plan_parts(const struct dev_queue *q, struct task *t) {
    const struct queues *qs = q->all;
    if (t->kind == TASK_LAUNCH && !q->level)
        cuda_subgrid_begin(&t->parts, &qs->subgrids, &t->launch,
                           cuda_share_sms(qs->shares, q->share));
}

/* The driver can be given this one, the next of its queue, or its next part: and is, at once. */
static bool may_issue(struct dev_queue *q, const struct task *t) {
    const struct dev_space *s = q->space;
    if (q->still && t->kind == TASK_LAUNCH) return false;
    if (t->issued) return parts_out(q, t) < QUEUE_PARTS;
    if (q->printing || q->in_driver >= QUEUE_DEPTH) return false;
    return !prints(t) || cuda_text_enter(q->all->context->texts, s->ops, s->ops_arg, &q->turn);
}

static void ask_text(struct dev_queue *q) {
    q->through_ns = fdutil_now_ns();
    cuda_text_ask(q->all->context->texts, &q->flush, q->streams[q->current]);
}

/* A complete one is through once its job has what it printed. */
static bool is_through(struct dev_queue *q, const struct task *t) {
    if (!prints(t)) return true;
    if (!q->through_ns) ask_text(q);
    return atom_load_acquire(&q->flush.done);
}

/* When the kernel was complete. */
static uint64_t end_printing(struct dev_queue *q) {
    uint64_t through_ns = q->through_ns;
    q->printing = false;
    q->through_ns = 0;
    cuda_text_leave(q->all->context->texts);
    return through_ns;
}

/* ---- complete -------------------------------------------------------------------------------- */

static void say_done(struct queues *qs, struct dev_op *op) {
    op->next = NULL;
    *qs->last = op;
    qs->last = &op->next;
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most) {
    if (value < least) value = least;
    return value < most ? value : most;
}

/* As the driver says it, or else as it was seen: it began when it was given to the driver or when
 * the one before it had ended. However far the clocks are apart, it did not begin before it was
 * given to the driver, nor end after `now_ns`, when it was seen to be complete. */
static void note_times(struct dev_queue *q, const struct task *t, uint64_t now_ns) {
    struct times *times = q->all->times;
    struct dev_op *op = t->op;
    uint64_t before_ns = t->issued_ns > q->last_end_ns ? t->issued_ns : q->last_end_ns;
    bool ended = cuda_time_of(times, t->ended, &op->end_ns);
    op->timed = ended && cuda_time_of(times, t->began, &op->start_ns);
    uint64_t took_ns = op->timed && op->end_ns > op->start_ns ? op->end_ns - op->start_ns : 0;
    if (!ended) op->end_ns = now_ns;
    if (op->timed && op->start_ns < t->issued_ns) op->end_ns = t->issued_ns + took_ns;
    op->end_ns = between(op->end_ns, t->issued_ns, now_ns);
    op->start_ns = between(op->timed ? op->end_ns - took_ns : before_ns, t->issued_ns, op->end_ns);
    op->busy_ns = op->timed ? took_ns : op->end_ns - op->start_ns;
    op->busy_ns -= t->stood_ns < op->busy_ns ? t->stood_ns : op->busy_ns;
    op->timed &= !t->stood; /* how long it would have taken is not known so well */
    if (op->end_ns > q->last_end_ns) q->last_end_ns = op->end_ns;
    cuda_time_drop(times, t->began);
    cuda_time_drop(times, t->ended);
}

static void note_error(struct dev_op *op, int err) {
    op->result = err;
    /* Which was nothing of it: it did not begin, or goes no further. */
    if (err == ERR_DEVICE_LOST || err == ERR_CANCELLED) return;
    snprintf(op->fault_text, sizeof(op->fault_text), "the driver refused it: %s", err_text(err));
}

/* The first of its queue. */
static void complete(struct dev_queue *q, uint64_t now_ns) {
    struct task *t = q->first;
    struct dev_op *op = t->op;
    q->first = t->next;
    if (!q->first) q->last = &q->first;
    if (t->end && !op->result) note_error(op, t->end);
    if (q->waiting == t) q->waiting = t->next;
    if (t->issued) {
        q->in_driver--;
        if (prints(t)) now_ns = end_printing(q);
        note_times(q, t, now_ns);
    }
    say_done(q->all, op);
    cuda_task_give(&q->all->tasks, t);
}

static void set_busy(struct dev_queue *q, bool busy) {
    if (busy == !list_empty(&q->busy)) return;
    if (busy) {
        list_append(&q->all->busy, &q->busy);
        q->all->busy_count++;
    } else {
        list_remove(&q->busy);
        q->all->busy_count--;
    }
}

/* ---- given to the driver --------------------------------------------------------------------- */

/* At the higher level all that is left goes at once. */
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

/* Its number comes back when it is complete, and all before it. Without that the operation would
 * never end: then it is waited for here. */
static void sign(struct dev_queue *q, CUstream stream) {
    int err = cuda_completion_sign(&q->all->words, q->word, stream, q->number);
    if (!err || context_settle(q->all->context, stream)) return;
    cuda_completion_set(q->word, q->number);
}

static void begin(struct dev_queue *q, struct task *t, CUstream stream) {
    t->issued = true;
    t->issued_ns = fdutil_now_ns();
    t->before = q->number;
    q->in_driver++;
    q->printing = prints(t);
    if (q->failed && !t->op->result) t->op->result = ERR_CANCELLED;
    if (!t->op->result) t->op->result = cuda_space_follow(q->space, stream, &q->clears);
    if (t->op->timed && !t->op->result) t->began = cuda_time_mark(q->all->times, stream);
}

/* What the driver says of a further part is the operation's result when those before it are
 * through: one of them may be what ends the context. */
static void note_refused(struct task *t, bool first, int err) {
    if (err && first) note_error(t->op, err);
    if (err && !first) t->end = err;
}

static void issue(struct dev_queue *q, struct task *t) {
    CUstream stream = stream_now(q);
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
    sign(q, stream);
}

static void issue_waiting(struct dev_queue *q) {
    while (q->waiting && !context_fatal(q->all->context) && may_issue(q, q->waiting))
        issue(q, q->waiting);
}

/* Whoever heads the line gives way to those behind it once it has its turn. */
static void give_turns(struct texts *texts) {
    const struct list *head = NULL;
    while (!list_empty(&texts->turns) && texts->turns.next != head) {
        head = texts->turns.next;
        issue_waiting(list_entry(head, struct dev_queue, turn));
    }
}

/* A task for the queue, to be filled and submitted; 0, -ENOMEM or ERR_DEVICE_LOST. */
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
    if (now) issue_waiting(q); /* its next part */
    set_busy(q, true);
    return 0;
}

int cuda_queue_launch(struct dev_queue *q, const struct dev_launch *launch, struct dev_op *op) {
    struct task *t;
    int err = take_task(q, TASK_LAUNCH, op, &t);
    if (err) return err;
    t->launch = *launch;
    return submit(q, t);
}

/* The latest one; NULL: none. Its link is what `last` points to. */
static struct task *latest(struct dev_queue *q) {
    return q->first ? (struct task *)((char *)q->last - offsetof(struct task, next)) : NULL;
}

/* Nobody asked when it was given to the driver: what is recorded behind it now says when it had
 * ended, or else when that was asked, and it is complete with that. */
void cuda_queue_time(struct dev_queue *q, struct dev_op *op) {
    struct task *t = latest(q);
    if (!t || t->op != op || t->ended) return;
    op->timed = true;
    if (!t->issued || is_partly_given(t) || prints(t) || context_fatal(q->all->context)) return;
    if (cuda_completion_look(&q->all->words, q->word) >= t->number) return;
    CUstream stream = q->streams[q->current];
    t->ended = cuda_time_mark(q->all->times, stream);
    if (!t->ended) return;
    t->number = ++q->number;
    sign(q, stream);
}

/* It fails in its turn, as the hardware would have it. */
static void note_outside(struct dev_op *op, int err, uint64_t addr) {
    if (!err) return;
    op->result = err;
    op->fault_addr = addr;
    snprintf(op->fault_text, sizeof(op->fault_text), "0x%llx is not backed by memory",
             (unsigned long long)addr);
}

int cuda_queue_copy(struct dev_queue *q, const struct dev_copy *copy, struct dev_op *op) {
    struct task *t;
    uint64_t addr = 0;
    int err = take_task(q, TASK_COPY, op, &t);
    if (err) return err;
    t->copy = *copy;
    err = operation_check_copy(q->space, copy, &addr);
    note_outside(op, err, addr);
    return submit(q, t);
}

int cuda_queue_memset(struct dev_queue *q, const struct dev_memset *set, struct dev_op *op) {
    struct task *t;
    uint64_t addr = 0;
    int err = take_task(q, TASK_MEMSET, op, &t);
    if (err) return err;
    t->memset = *set;
    err = operation_check_memset(q->space, set, &addr);
    note_outside(op, err, addr);
    return submit(q, t);
}

/* ---- what came back -------------------------------------------------------------------------- */

/* What a kernel printed is with its job. */
static bool came(const struct dev_queue *q) {
    return q->through_ns && atom_load_acquire(&q->flush.done);
}

static void collect(struct dev_queue *q) {
    uint64_t done = cuda_completion_look(&q->all->words, q->word);
    if (done == q->seen && !came(q)) return;
    uint64_t now_ns = fdutil_now_ns();
    q->seen = done;
    while (q->first && q->first->issued && q->first->number <= done && is_through(q, q->first))
        complete(q, now_ns);
    if (q->first) note_idle(q, q->first, now_ns);
    issue_waiting(q);
    set_busy(q, q->first);
}

/* Complete, though what it printed may be on its way. */
static bool is_back(const struct dev_queue *q, const struct task *t) {
    return t->issued && t->number <= q->seen;
}

/* Of each stream, the first operation that did not come back was under way; those that failed
 * before they began aside. NULL: there is none. */
static struct task *head_of(const struct dev_queue *q) {
    struct task *t = q->first;
    while (t && t->issued && t->op->result)
        t = t->next;
    return t && t->issued ? t : NULL;
}

/* Whether what stands behind a kernel of the queue's has certainly not begun: words say what was
 * complete, the driver has ended the context, not we, and the queue never had another stream than
 * the first, whose kernels all end at once. */
static bool is_exact(const struct dev_queue *q) {
    const struct queues *qs = q->all;
    for (uint32_t i = 1; i < QUEUE_STREAMS; i++)
        if (q->streams[i]) return false;
    return qs->words.way != DEV_COMPLETION_EVENTS && !qs->culprit &&
           context_fatal(qs->context) != CUDA_ERROR_UNKNOWN;
}

/* Copies may go on for a while after the kernels. */
static void note_begun(struct dev_queue *q, struct task *head) {
    bool exact = is_exact(q);
    for (struct task *t = head; t && t->issued; t = t->next) {
        bool kernel = t->kind == TASK_LAUNCH;
        t->op->begun = !t->op->result && (!exact || !kernel || t == head);
        if (exact && kernel) return;
    }
}

/* Who names no assertion had none that failed. */
static bool may_do(const struct task *t, const struct queues *qs) {
    return !qs->asserted || t->launch.func->module->asserts;
}

/* What can have ended the context, of the queue: a kernel under way. Events do not say whether the
 * copies before it were complete. NULL: nothing. */
static struct task *suspect_of(const struct dev_queue *q) {
    const struct queues *qs = q->all;
    struct task *t = head_of(q);
    if (qs->culprit && q != qs->culprit) return NULL;
    if (t && is_between(q, t)) return NULL;
    while (qs->words.way == DEV_COMPLETION_EVENTS && t && (t->kind != TASK_LAUNCH || t->op->result))
        t = t->next;
    return t && t->issued && t->kind == TASK_LAUNCH && may_do(t, qs) ? t : NULL;
}

/* How many there are, and of which space all of them are; NULL: not of one. */
struct suspects {
    uint32_t count;
    const struct dev_space *space;
};

static struct suspects find_suspects(const struct queues *qs) {
    struct suspects s = {0};
    const struct list *pos;
    list_each(pos, &qs->busy) {
        const struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        if (!suspect_of(q)) continue;
        if (!s.count++) s.space = q->space;
        if (s.space != q->space) s.space = NULL;
    }
    return s;
}

/* Where none names one, it may be any. */
static struct suspects settle_suspects(struct queues *qs) {
    qs->asserted = context_fatal(qs->context) == CUDA_ERROR_ASSERT;
    const struct suspects s = find_suspects(qs);
    if (s.count || !qs->asserted) return s;
    qs->asserted = false;
    return find_suspects(qs);
}

/* Where all that may have done it are one job's, that is who did it. */
static void blame(struct dev_op *op, const struct queues *qs, const struct suspects *s) {
    CUresult fatal = (CUresult)context_fatal(qs->context);
    const char *name = driver_name(&qs->context->driver, fatal);
    int said = s->space ? cuda_assertion_first(&qs->assertion) : 0;
    op->suspects = (uint16_t)(s->count < UINT16_MAX ? s->count : UINT16_MAX);
    op->result = s->space ? driver_error(fatal) : ERR_DEVICE_LOST;
    if (said)
        snprintf(op->fault_text, sizeof(op->fault_text), "%.*s", said, qs->assertion.text);
    else if (s->count == 1)
        snprintf(op->fault_text, sizeof(op->fault_text), "%s: it ended the GPU's context", name);
    else
        snprintf(op->fault_text, sizeof(op->fault_text),
                 "%s: one of the %u kernels %sthat ran just then ended the GPU's context", name,
                 s->count, s->space ? "of this job " : "");
}

/* What they printed up to now. */
static void settle_texts(struct queues *qs) {
    struct list *pos;
    list_each(pos, &qs->busy) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        if (q->printing && !q->through_ns) ask_text(q);
        list_remove(&q->turn);
    }
    cuda_text_settle(qs->context->texts);
}

/* What was complete when it ended, and was not looked at since: before all that failed. */
static void bury_complete(struct queues *qs, uint64_t now_ns) {
    const struct list *pos;
    list_each(pos, &qs->busy) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        q->seen = atom_load_acquire(&q->word->done);
        while (q->first && is_back(q, q->first))
            complete(q, now_ns);
    }
}

static void bury_queue(struct dev_queue *q, const struct suspects *s, uint64_t now_ns) {
    struct task *suspect = suspect_of(q);
    note_begun(q, head_of(q));
    if (suspect) blame(suspect->op, q->all, s);
    while (q->first) {
        struct dev_op *op = q->first->op;
        if (!op->result) op->result = ERR_DEVICE_LOST;
        complete(q, now_ns);
    }
    set_busy(q, false);
}

/* Before anything else waits, as that would make the driver write. It does not take long. */
static void hear_assertion(struct queues *qs) {
    const struct dev_queue *q = list_entry(qs->busy.next, struct dev_queue, busy);
    if (list_empty(&qs->busy) || context_fatal(qs->context) != CUDA_ERROR_ASSERT) return;
    cuda_assertion_listen(&qs->assertion);
    result(q, qs->context->driver.cuStreamSynchronize(q->streams[q->current]));
    cuda_assertion_hear(&qs->assertion);
}

static void bury(struct queues *qs) {
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

/* Nobody else would say it: a stream that died writes no more. */
static void ask_alive(struct queues *qs) {
    const struct dev_queue *q = list_entry(qs->busy.next, struct dev_queue, busy);
    cuda_assertion_listen(&qs->assertion);
    CUresult r = qs->context->driver.cuStreamQuery(q->streams[q->current]);
    cuda_assertion_hear(&qs->assertion);
    result(q, r);
}

static bool is_overdue(const struct dev_queue *q, uint64_t now_ns) {
    const struct queues *qs = q->all;
    const struct task *t = q->first;
    uint64_t began = t->issued_ns > q->last_end_ns ? t->issued_ns : q->last_end_ns;
    uint64_t left = q->space->cancelled_ns;
    if (t->kind != TASK_LAUNCH || is_back(q, t)) return false;
    uint64_t ran_ns = now_ns - began, stood = stood_ns(t, now_ns);
    ran_ns -= stood < ran_ns ? stood : ran_ns;
    if (qs->kernel_timeout_ns && ran_ns > qs->kernel_timeout_ns) return true;
    return qs->cancel_timeout_ns && left && now_ns - left > qs->cancel_timeout_ns;
}

/* Nothing ends a kernel of the driver's but the end of its context. */
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

static void wake_up(struct queues *qs) {
    if (!qs->asleep) return;
    qs->asleep = false;
    qs->rounds = QUEUE_ROUNDS;
    cuda_completion_disarm(&qs->words);
}

struct dev_op *cuda_queues_poll(struct queues *qs) {
    struct list *pos, *tmp;
    wake_up(qs);
    list_each_safe(pos, tmp, &qs->busy) collect(list_entry(pos, struct dev_queue, busy));
    if (!list_empty(&qs->busy) && !qs->done && ++qs->rounds >= QUEUE_ROUNDS) {
        qs->rounds = 0;
        ask_alive(qs);
        if (!context_fatal(qs->context)) end_overdue(qs);
    }
    if (context_fatal(qs->context)) bury(qs);
    give_turns(qs->context->texts);
    struct dev_op *first = qs->done;
    qs->done = NULL;
    qs->last = &qs->done;
    return first;
}

static int need_room(struct queues *qs) {
    if (qs->busy_count <= qs->room) return 0;
    uint32_t room = 2 * qs->busy_count;
    struct word **watched = realloc(qs->watched, room * sizeof(*watched));
    if (watched) qs->watched = watched;
    uint64_t *seen = realloc(qs->seen, room * sizeof(*seen));
    if (seen) qs->seen = seen;
    if (!watched || !seen) return -ENOMEM;
    qs->room = room;
    return 0;
}

int cuda_queues_arm(struct queues *qs) {
    const struct list *pos;
    uint32_t n = 0;
    wake_up(qs);
    if (qs->done || context_fatal(qs->context)) return 1;
    if (list_empty(&qs->busy)) {
        cuda_completion_disarm(&qs->words); /* the last one's text may have rung as well */
        return 0;
    }
    if (need_room(qs)) return 1; /* it goes on looking itself */
    list_each(pos, &qs->busy) {
        const struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        if (cuda_completion_look(&q->all->words, q->word) != q->seen || came(q)) return 1;
        qs->watched[n] = q->word;
        qs->seen[n++] = q->seen;
    }
    qs->asleep = true;
    cuda_completion_arm(&qs->words, qs->watched, qs->seen, n);
    return 0;
}

/* ---- queues ---------------------------------------------------------------------------------- */

int cuda_queues_open(struct queues *qs, struct context *context, struct shares *shares,
                     struct times *times, enum dev_completion way) {
    *qs = (struct queues){.context = context, .shares = shares, .times = times};
    list_init(&qs->busy);
    qs->last = &qs->done;
    cuda_assertion_open(&qs->assertion);
    int err = cuda_completion_open(&qs->words, context, way);
    return err ? err : completion_trial(&qs->words);
}

void cuda_queues_close(struct queues *qs) {
    if (!qs->context) return;
    wake_up(qs);
    cuda_completion_close(&qs->words);
    cuda_assertion_close(&qs->assertion);
    cuda_tasks_finish(&qs->tasks);
    free(qs->watched);
    free(qs->seen);
}

int cuda_queue_create(struct queues *qs, struct dev_space *space, int priority,
                      struct dev_queue **out) {
    struct dev_queue *q = calloc(1, sizeof(*q));
    *out = NULL;
    if (!q) return -ENOMEM;
    q->all = qs;
    q->space = space;
    q->priority = priority;
    q->last = &q->first;
    list_init(&q->busy);
    list_init(&q->turn);
    q->word = cuda_completion_take(&qs->words);
    int err = q->word ? need_stream(q, 0) : -ENOMEM;
    if (err)
        cuda_queue_destroy(q);
    else
        *out = q;
    return err;
}

void cuda_queue_destroy(struct dev_queue *q) {
    if (!q) return;
    const struct driver *d = &q->all->context->driver;
    wake_up(q->all);
    cuda_share_leave(q->all->shares, q->share);
    for (uint32_t i = 0; i < QUEUE_STREAMS; i++)
        if (q->streams[i]) result(q, d->cuStreamDestroy_v2(q->streams[i]));
    if (q->passing) result(q, d->cuEventDestroy_v2(q->passing));
    if (q->word) cuda_completion_give(&q->all->words, q->word);
    free(q);
}

void cuda_queue_level(struct dev_queue *q, uint32_t level) {
    q->level = level < QUEUE_LEVELS ? level : QUEUE_LEVELS - 1;
}

void cuda_queue_share(struct dev_queue *q, uint32_t sms) {
    if (sms == q->share_sms) return;
    cuda_share_leave(q->all->shares, q->share);
    q->share = cuda_share_enter(q->all->shares, sms);
    q->share_sms = sms;
}

void cuda_queue_still(struct dev_queue *q, bool still) {
    if (!q->all->subgrids.on) return;
    q->still = still;
    if (!still) return issue_waiting(q);
    list_remove(&q->turn); /* others may print meanwhile */
    if (q->waiting && q->waiting->issued) q->waiting->stood = true;
}

/* One that the driver has a part of gets no further one. */
static void end_parts(struct dev_queue *q, struct task *t) {
    bool over = is_between(q, t);
    t->end = ERR_CANCELLED;
    t->number = q->number;
    q->waiting = t->next;
    if (over) complete(q, fdutil_now_ns());
}

static void cancel(struct dev_queue *q) {
    if (q->waiting && q->waiting->issued) end_parts(q, q->waiting);
    struct task **end = &q->first;
    while (*end != q->waiting)
        end = &(*end)->next;
    for (struct task *t = q->waiting, *next; t; t = next) {
        next = t->next;
        t->op->result = ERR_CANCELLED;
        say_done(q->all, t->op);
        cuda_task_give(&q->all->tasks, t);
    }
    *end = NULL;
    q->last = end;
    q->waiting = NULL;
}

void cuda_queues_cancel(struct queues *qs, struct dev_space *space) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &qs->busy) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, busy);
        if (q->space != space || !q->waiting) continue;
        cancel(q);
        list_remove(&q->turn);
        set_busy(q, q->first);
    }
}
