/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection is appended to a list at the time it enters the phase. Lists are therefore ordered
 * by time, and only their beginnings are examined.
 */
#include "daemon/serve/http/conn.h"

static struct conn *of(struct list *l) {
    return list_entry(l, struct conn, link);
}

void conns_init(struct conns *all, uint32_t limit, void (*shut)(struct conn *c)) {
    *all = (struct conns){.limit = limit, .shut = shut};
    for (int i = 0; i < CONN_PHASES; i++)
        list_init(&all->phases[i]);
}

void conn_open(struct conns *all, struct conn *c, uint64_t now_ns) {
    struct list *idle = &all->phases[CONN_IDLE];

    *c = (struct conn){.phase = CONN_IDLE, .since_ns = now_ns};
    if (++all->count > all->limit) {
        struct conn *oldest = of(idle->next);
        c->surplus = list_empty(idle) || now_ns - oldest->since_ns < CONN_GRACE_NS;
        if (!c->surplus) all->shut(oldest);
    }
    list_append(idle, &c->link);
}

void conn_close(struct conns *all, struct conn *c) {
    list_remove(&c->link);
    all->count--;
}

void conn_enter(struct conns *all, struct conn *c, enum conn_phase phase, uint64_t now_ns) {
    list_remove(&c->link);
    c->phase = phase;
    c->since_ns = now_ns;
    list_append(&all->phases[phase], &c->link);
}

void conns_expire(struct conns *all, uint64_t now_ns) {
    for (int i = 0; i < CONN_PHASES; i++) {
        struct list *pos, *tmp;
        if (all->limit_ns[i] == 0) continue;
        list_each_safe(pos, tmp, &all->phases[i]) {
            if (now_ns - of(pos)->since_ns < all->limit_ns[i]) break;
            all->shut(of(pos));
        }
    }
}

void conns_shut_idle(struct conns *all) {
    struct list *pos, *tmp;

    list_each_safe(pos, tmp, &all->phases[CONN_IDLE]) all->shut(of(pos));
}
