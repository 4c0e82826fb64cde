/* SPDX-License-Identifier: Apache-2.0
 *
 * A discrete-event simulation that runs up to the present time.
 */
#include "daemon/device/soft/dev/timeline.h"

#include "common/atomics.h"
#include "common/err.h"

static struct task *first_of(const struct list *line) {
    return list_empty(line) ? NULL : list_entry(line->next, struct task, ready_link);
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void timeline_init(struct timeline *tl, uint32_t sms) {
    *tl = (struct timeline){.sms = sms, .free_sms = sms};
    for (uint32_t level = 0; level < TIMELINE_LEVELS; level++)
        list_init(&tl->ready[level]);
    list_init(&tl->running);
    list_init(&tl->cancelled);
}

/* Time of the whole device that the task's multiprocessors amount to in `ns`. */
static uint64_t part_of(const struct timeline *tl, const struct task *t, uint64_t ns) {
    return (uint64_t)((double)ns * t->spend.sms / tl->sms);
}

static void cancel(struct timeline *tl, struct task *t, uint64_t now_ns) {
    struct dev_op *op = t->op;
    if (op->start_ns) {
        tl->free_sms += t->spend.sms;
        tl->freed_ns = later(tl->freed_ns, now_ns);
        op->busy_ns = now_ns > op->start_ns ? part_of(tl, t, now_ns - op->start_ns) : 0;
    } else {
        op->start_ns = now_ns;
    }
    op->end_ns = later(op->start_ns, now_ns);
    op->result = ERR_CANCELLED;
    list_append(&tl->cancelled, &t->ready_link);
}

void timeline_add(struct timeline *tl, struct task *t, uint64_t now_ns) {
    if (t->op->result) return; /* the task is in `cancelled` */
    if (!t->spend.ready_ns) {
        t->spend.ready_ns = tl->at_ns ? tl->at_ns : now_ns;
        if (t->spend.sms > tl->sms) t->spend.sms = tl->sms;
    }
    bool over = atom_load_relaxed(&t->cancelled);
    if (t->op->start_ns && !over) return; /* the task runs: its level does not matter any more */
    list_remove(&t->ready_link);
    if (over)
        cancel(tl, t, now_ns);
    else
        list_append(&tl->ready[t->queue->level], &t->ready_link);
}

static void insert_by_end(struct list *running, struct task *t) {
    struct list *before = running;
    while (before->prev != running &&
           list_entry(before->prev, struct task, ready_link)->op->end_ns > t->op->end_ns)
        before = before->prev;
    list_append(before, &t->ready_link);
}

static void begin(struct timeline *tl, struct task *t) {
    list_remove(&t->ready_link);
    tl->free_sms -= t->spend.sms;
    t->op->start_ns = later(t->spend.ready_ns, tl->freed_ns);
    t->op->end_ns = t->op->start_ns + t->spend.ns;
    insert_by_end(&tl->running, t);
}

/* Begins tasks in order. A task that does not fit waits and lets no other pass, because small tasks
 * would starve it. */
static void begin_all(struct timeline *tl) {
    for (uint32_t level = TIMELINE_LEVELS; level--;) {
        struct task *t;
        while ((t = first_of(&tl->ready[level]))) {
            if (t->spend.sms > tl->free_sms) return;
            begin(tl, t);
        }
    }
}

static struct task *end(struct timeline *tl, struct task *t) {
    list_remove(&t->ready_link);
    if (t->op->result) return t;
    tl->free_sms += t->spend.sms;
    tl->at_ns = tl->freed_ns = t->op->end_ns;
    t->op->busy_ns = part_of(tl, t, t->spend.ns);
    return t;
}

struct task *timeline_next(struct timeline *tl, uint64_t now_ns) {
    struct task *t = first_of(&tl->cancelled);
    tl->at_ns = 0;
    if (t) return end(tl, t);
    begin_all(tl);
    t = first_of(&tl->running);
    return t && t->op->end_ns <= now_ns ? end(tl, t) : NULL;
}

uint64_t timeline_end_ns(const struct timeline *tl) {
    const struct task *t = first_of(&tl->running);
    if (!list_empty(&tl->cancelled)) return 0;
    return t ? t->op->end_ns : UINT64_MAX;
}
