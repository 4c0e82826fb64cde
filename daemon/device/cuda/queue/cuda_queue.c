/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes and destroys queues, and collects completions: the stream's number shows them.
 */
#include "daemon/device/cuda/queue/cuda_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/cuda/queue/completion_trial.h"
#include "daemon/device/cuda/queue/cuda_issue.h"
#include "daemon/device/cuda/queue/cuda_loss.h"
#include "daemon/device/cuda/queue/cuda_retire.h"

/* Checking words is free, asking the driver is not: it is asked once in this many rounds. */
#define QUEUE_ROUNDS 1024u

/* ---- completions ----------------------------------------------------------------------------- */

static void note_idle(const struct dev_queue *q, struct task *t, uint64_t now_ns) {
    if (queue_state_is_between(q, t) && !t->idle_ns) t->idle_ns = now_ns;
}

/* True when the job has the kernel's output. */
static bool came(const struct dev_queue *q) {
    return q->through_ns && atom_load_acquire(&q->flush.done);
}

static void collect(struct dev_queue *q) {
    uint64_t done = cuda_completion_look(&q->all->words, q->word);
    if (done == q->seen && !came(q)) {
        cuda_issue_signal_idle(q);
        return;
    }
    uint64_t now_ns = fdutil_now_ns();
    q->seen = done;
    cuda_retire_begin(q);
    while (q->first && q->first->issued && q->first->number <= done &&
           cuda_retire_is_through(q, q->first))
        cuda_retire_first(q, now_ns);
    if (q->first) note_idle(q, q->first, now_ns);
    cuda_issue_waiting(q);
    cuda_issue_signal_idle(q);
    queue_state_set_busy(q, q->first);
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
        cuda_loss_ask(qs);
    }
    if (context_fatal(qs->context)) cuda_loss_bury(qs);
    cuda_issue_turns(qs->context->texts);
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
    list_each(pos, &qs->busy) cuda_issue_signal(list_entry(pos, struct dev_queue, busy));
    if (qs->done || context_fatal(qs->context)) return 1;
    if (list_empty(&qs->busy)) {
        cuda_completion_disarm(&qs->words); /* the last one's text may have rung as well */
        return 0;
    }
    if (need_room(qs)) return 1; /* the worker keeps checking itself */
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
    int err = q->word ? queue_state_need_stream(q, 0) : -ENOMEM;
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
        if (q->streams[i]) queue_state_result(q, d->cuStreamDestroy_v2(q->streams[i]));
    if (q->passing) queue_state_result(q, d->cuEventDestroy_v2(q->passing));
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
    if (!still) return cuda_issue_waiting(q);
    list_remove(&q->turn); /* others may print meanwhile */
    if (q->waiting && q->waiting->issued) q->waiting->stood = true;
}

/* Ends a launch of which the driver has a part: it gets no further one. */
static void end_parts(struct dev_queue *q, struct task *t) {
    bool over = queue_state_is_between(q, t);
    t->end = ERR_CANCELLED;
    t->number = q->number;
    q->waiting = t->next;
    if (over) cuda_retire_first(q, fdutil_now_ns());
}

static void cancel(struct dev_queue *q) {
    if (q->waiting && q->waiting->issued) end_parts(q, q->waiting);
    struct task **end = &q->first;
    while (*end != q->waiting)
        end = &(*end)->next;
    for (struct task *t = q->waiting, *next; t; t = next) {
        next = t->next;
        t->op->result = ERR_CANCELLED;
        queue_state_say_done(q->all, t->op);
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
        queue_state_set_busy(q, q->first);
    }
}
