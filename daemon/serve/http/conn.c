/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection enters the end of a list at the time it is entered: lists are in the order of time,
 * and a look at their beginnings is enough.
 */
#include "daemon/serve/http/conn.h"

#include <sys/socket.h>

static struct conn *of(struct list *l) {
    return list_entry(l, struct conn, link);
}

static void shut(const struct conn *c) {
    shutdown(c->fd, SHUT_RDWR);
}

void conns_init(struct conns *all, uint32_t limit) {
    *all = (struct conns){.limit = limit};
    for (int i = 0; i < CONN_PHASES; i++)
        list_init(&all->phases[i]);
}

void conn_open(struct conns *all, struct conn *c, int fd, uint64_t now_ns) {
    struct list *idle = &all->phases[CONN_IDLE];

    *c = (struct conn){.phase = CONN_IDLE, .since_ns = now_ns, .fd = fd};
    if (++all->count > all->limit) {
        struct conn *oldest = of(idle->next);
        c->surplus = list_empty(idle) || now_ns - oldest->since_ns < CONN_GRACE_NS;
        if (!c->surplus) {
            shut(oldest);
            /* Not the next time again, while the library has not seen it yet. */
            list_remove(&oldest->link);
        }
    }
    list_append(idle, &c->link);
}

void conn_close(struct conns *all, struct conn *c) {
    list_remove(&c->link);
    all->count--;
}

void conn_hang_up(struct conn *c) {
    c->hung_up = true;
    shutdown(c->fd, SHUT_RD); /* what has arrived can still be read */
}

void conn_enter(struct conns *all, struct conn *c, enum conn_phase phase, uint64_t now_ns) {
    list_remove(&c->link);
    c->phase = phase;
    c->since_ns = now_ns;
    list_append(&all->phases[phase], &c->link);
}

void conns_expire(const struct conns *all, uint64_t now_ns) {
    for (int i = 0; i < CONN_PHASES; i++) {
        struct list *pos, *tmp;
        if (all->limit_ns[i] == 0) continue;
        list_each_safe(pos, tmp, &all->phases[i]) {
            if (now_ns - of(pos)->since_ns < all->limit_ns[i]) break;
            shut(of(pos));
            list_remove(pos);
        }
    }
}

void conns_shut_idle(const struct conns *all) {
    struct list *pos;

    list_each(pos, &all->phases[CONN_IDLE]) shut(of(pos));
}
