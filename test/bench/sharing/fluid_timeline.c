/* SPDX-License-Identifier: Apache-2.0
 *
 * Another timeline (daemon/device/soft/dev/timeline.h) for a worker of the benches. Tasks that only
 * take time share the multiprocessors, all at once and max-min fair. The device's own timeline
 * serves one after the other instead. So jobs slow each other as on a device that they share.
 * Neither that nor the time of a kernel depends on the load of this machine's processors.
 *
 * `spend.ns` is the remaining time of a task, as if it had all the multiprocessors that it wants;
 * `freed_ns` is the time at which that ends.
 */
#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/soft/dev/timeline.h"

static struct task *task_of(struct list *link) {
    return list_entry(link, struct task, ready_link);
}

void timeline_init(struct timeline *tl, uint32_t sms) {
    *tl = (struct timeline){.sms = sms, .free_sms = sms};
    for (uint32_t level = 0; level < TIMELINE_LEVELS; level++)
        list_init(&tl->ready[level]);
    list_init(&tl->running);
    list_init(&tl->cancelled);
}

/* Adds up the demands of trials that want no more than `level`; `more` counts the others. */
static double wants(const struct timeline *tl, double level, double *more) {
    double taken = 0;
    struct list *pos;
    *more = 0;
    list_each(pos, &tl->running) {
        double want = task_of(pos)->spend.sms;
        if (want <= level)
            taken += want;
        else
            ++*more;
    }
    return taken;
}

/* Returns the largest share of a trial: trials that want less leave the rest to the others. */
static double fill(const struct timeline *tl) {
    double level = 0, more;
    for (;;) {
        double taken = wants(tl, level, &more);
        double next = more > 0 ? (tl->sms - taken) / more : tl->sms;
        if (next <= level || more == 0) return next > level ? next : level;
        level = next;
    }
}

/* Returns the task's speed, relative to its full speed. */
static double rate(const struct task *t, double level) {
    return t->spend.sms <= level ? 1 : level / t->spend.sms;
}

static uint64_t end_of(const struct timeline *tl, const struct task *t, double level) {
    return tl->freed_ns + (uint64_t)((double)t->spend.ns / rate(t, level) + 0.999);
}

static void advance(struct timeline *tl, uint64_t to_ns) {
    double level = fill(tl), elapsed = to_ns > tl->freed_ns ? (double)(to_ns - tl->freed_ns) : 0;
    struct list *pos;
    list_each(pos, &tl->running) {
        struct task *t = task_of(pos);
        uint64_t done = (uint64_t)(elapsed * rate(t, level));
        if (done > t->spend.ns) done = t->spend.ns;
        t->spend.ns -= done;
        t->op->busy_ns += (uint64_t)((double)done * t->spend.sms / tl->sms);
    }
    if (to_ns > tl->freed_ns) tl->freed_ns = to_ns;
}

static struct task *first_end(const struct timeline *tl, uint64_t *at_ns) {
    double level = fill(tl);
    struct task *first = NULL;
    struct list *pos;
    *at_ns = UINT64_MAX;
    list_each(pos, &tl->running) {
        uint64_t ns = end_of(tl, task_of(pos), level);
        if (ns >= *at_ns) continue;
        *at_ns = ns;
        first = task_of(pos);
    }
    return first;
}

static void insert_by_time(struct list *ready, struct task *t) {
    struct list *before = ready;
    while (before->prev != ready && task_of(before->prev)->spend.ready_ns > t->spend.ready_ns)
        before = before->prev;
    list_append(before, &t->ready_link);
}

static void cancel(struct timeline *tl, struct task *t, uint64_t now_ns) {
    struct dev_op *op = t->op;
    list_remove(&t->ready_link);
    if (!op->start_ns) op->start_ns = now_ns;
    op->end_ns = op->start_ns > now_ns ? op->start_ns : now_ns;
    op->result = ERR_CANCELLED;
    list_append(&tl->cancelled, &t->ready_link);
}

void timeline_add(struct timeline *tl, struct task *t, uint64_t now_ns) {
    if (t->op->result) return;
    if (atom_load_relaxed(&t->cancelled)) {
        cancel(tl, t, now_ns);
        return;
    }
    if (t->spend.ready_ns) return; /* all priority levels are equal here */
    t->spend.ready_ns = tl->at_ns ? tl->at_ns : now_ns;
    if (t->spend.sms > tl->sms) t->spend.sms = tl->sms;
    insert_by_time(&tl->ready[0], t);
}

/* Starts the trials that arrived before anything ends. */
static void begin_all(struct timeline *tl) {
    while (!list_empty(&tl->ready[0])) {
        struct task *t = task_of(tl->ready[0].next);
        uint64_t end_ns;
        first_end(tl, &end_ns);
        if (t->spend.ready_ns > end_ns) return;
        advance(tl, t->spend.ready_ns);
        list_remove(&t->ready_link);
        t->op->start_ns = tl->freed_ns;
        list_append(&tl->running, &t->ready_link);
    }
}

struct task *timeline_next(struct timeline *tl, uint64_t now_ns) {
    uint64_t end_ns;
    struct task *t;
    tl->at_ns = 0;
    if (!list_empty(&tl->cancelled)) {
        t = task_of(tl->cancelled.next);
        list_remove(&t->ready_link);
        return t;
    }
    begin_all(tl);
    t = first_end(tl, &end_ns);
    if (!t || end_ns > now_ns) return NULL;
    advance(tl, end_ns);
    list_remove(&t->ready_link);
    tl->at_ns = t->op->end_ns = end_ns;
    return t;
}

uint64_t timeline_end_ns(const struct timeline *tl) {
    uint64_t end_ns;
    if (!list_empty(&tl->cancelled)) return 0;
    first_end(tl, &end_ns);
    return end_ns;
}
