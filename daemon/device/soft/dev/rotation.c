/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/dev/rotation.h"

#include "daemon/device/soft/dev/task.h"

static struct task *by_link(struct list *ready_link) {
    return list_entry(ready_link, struct task, ready_link);
}

void rotation_init(struct rotation *r) {
    r->turn = NULL;
    list_init(&r->others);
    list_init(&r->coming);
    list_init(&r->paused);
}

static struct task *take_first(struct rotation *r, struct list *from) {
    if (list_empty(from)) return NULL;
    struct task *t = by_link(from->next);
    list_remove(&t->ready_link);
    r->turn = t;
    return t;
}

static void be_patient(struct rotation *r) {
    struct list *pos;
    if (r->turn) r->turn->asked = 0;
    list_each(pos, &r->others) by_link(pos)->asked = 0;
}

bool rotation_add(struct rotation *r, struct task *t) {
    if (r->turn == t) return true;
    if (!list_empty(&t->ready_link)) return false; /* the task is in `others` */
    if (r->turn) {
        list_append(&r->coming, &t->ready_link);
        return false;
    }
    list_remove(&r->paused);
    r->turn = t;
    return true;
}

static bool all_ask(const struct rotation *r) {
    struct list *pos;
    list_each(pos, &r->others) if (by_link(pos)->asked < ROTATION_PATIENCE) return false;
    return true;
}

static void settle_all(const struct rotation *r) {
    struct list *pos;
    list_each(pos, &r->others) family_settle(&by_link(pos)->family);
}

struct task *rotation_next(struct rotation *r) {
    struct task *t = r->turn;
    list_remove(&t->ready_link);
    list_append(&r->others, &t->ready_link);
    r->turn = NULL;
    if (!all_ask(r)) return take_first(r, &r->others);
    settle_all(r);
    return take_first(r, &r->coming);
}

struct task *rotation_remove(struct rotation *r, struct task *t) {
    bool had_turn = r->turn == t;
    list_remove(&t->ready_link);
    if (had_turn) r->turn = NULL;
    be_patient(r);
    if (!had_turn && list_empty(&r->paused)) return NULL;
    list_remove(&r->paused);
    return list_empty(&r->others) ? take_first(r, &r->coming) : take_first(r, &r->others);
}

struct task *rotation_resume(struct rotation *r) {
    list_remove(&r->paused);
    be_patient(r);
    return take_first(r, &r->others);
}

uint32_t rotation_stalled(const struct rotation *r) {
    const struct list *pos;
    uint32_t count = 0;
    if (r->turn) return 0;
    list_each(pos, &r->others) count++;
    return count;
}
