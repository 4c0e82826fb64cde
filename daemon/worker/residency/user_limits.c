/* SPDX-License-Identifier: Apache-2.0
 *
 * Each function visits all clients: grants change seldom.
 */
#include "daemon/worker/residency/user_limits.h"

#include "daemon/worker/client.h"

/* operations that each job gets at least, so that it makes progress */
#define USER_LIMITS_LEAST 64u

static uint64_t part_of(uint64_t operations, uint64_t jobs) {
    uint64_t part = operations ? operations / jobs : WORKER_QUOTA;
    if (part > WORKER_QUOTA) return WORKER_QUOTA;
    return part < USER_LIMITS_LEAST ? USER_LIMITS_LEAST : part;
}

void user_limits_share(struct worker *w, uint32_t uid) {
    uint64_t jobs = 0;
    struct list *pos;
    list_each(pos, &w->clients.list) jobs += list_entry(pos, struct client, link)->uid == uid;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->uid == uid) c->quota = part_of(c->limits.operations, jobs);
    }
}

void user_limits_set(struct worker *w, uint32_t uid, const struct wire_limits *limits) {
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->uid == uid) c->limits = *limits;
    }
    user_limits_share(w, uid);
}

/* A lane is as large as the largest E of its jobs; among several with the same E, the first one
 * counts. */
static bool leads(const struct client *c, uint64_t e, const struct client *changed,
                  uint64_t changed_e) {
    const struct list *pos;
    bool before = true;
    list_each(pos, &c->worker->clients.list) {
        const struct client *o = list_entry(pos, struct client, link);
        uint64_t other = o == changed ? changed_e : credit_granted_e(&o->credit);
        if (o == c) {
            before = false;
            continue;
        }
        if (o->lane != c->lane || o->leaving) continue;
        if (other > e || (other == e && before)) return false;
    }
    return true;
}

uint64_t user_limits_granted(const struct client *c, uint64_t p, uint64_t e) {
    uint64_t sum = 0;
    const struct list *pos;
    list_each(pos, &c->worker->clients.list) {
        const struct client *o = list_entry(pos, struct client, link);
        uint64_t its_e = o == c ? e : credit_granted_e(&o->credit);
        if (o->uid != c->uid || o->leaving) continue;
        sum += o == c ? p : credit_granted_p(&o->credit);
        if (o->lane == SCHED_NO_LANE || leads(o, its_e, c, e)) sum += its_e;
    }
    return sum;
}

bool user_limits_allows(const struct client *c, uint64_t p, uint64_t e) {
    return c->limits.device_bytes == 0 || user_limits_granted(c, p, e) <= c->limits.device_bytes;
}
