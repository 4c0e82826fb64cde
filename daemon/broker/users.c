/* SPDX-License-Identifier: Apache-2.0
 *
 * A list that is scanned: there are as many users as have connections. What belongs to nobody any
 * more is forgotten, so that it cannot grow by itself.
 */
#include "daemon/broker/users.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "daemon/broker/broker.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif

void users_init(struct users *u) {
    list_init(&u->list);
}

struct user *users_find(struct server *s, uid_t uid) {
    struct list *pos;

    list_each(pos, &s->users.list) {
        struct user *u = list_entry(pos, struct user, link);

        if (u->uid == uid) return u;
    }
    return NULL;
}

/* The kernel's word, so that no name service is asked while others wait. */
static void read_groups(struct user *u, int fd, gid_t first) {
    socklen_t bytes = sizeof(u->groups) - sizeof(u->groups[0]);

    u->groups[0] = first;
    u->group_count = 1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &u->groups[1], &bytes) == 0)
        u->group_count += (int)(bytes / sizeof(u->groups[0]));
}

static struct user *find_or_make(struct server *s, uid_t uid) {
    struct user *u = users_find(s, uid);

    if (u) return u;
    u = calloc(1, sizeof(*u));
    if (!u) return NULL;
    u->uid = uid;
    list_append(&s->users.list, &u->link);
    return u;
}

static uint64_t connections(const struct user *u) {
    return u->count[USERS_HANDSHAKE] + u->count[USERS_JOB] + u->count[USERS_CONTROL];
}

static void forget_if_gone(struct user *u) {
    if (connections(u) > 0) return;
    list_remove(&u->link);
    free(u);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* False, with the reason, when `used` is all that the limit allows. */
static bool has_room(struct user *u, int limit, uint64_t used, const char *what, char *why) {
    char text[LIMITS_TEXT_BYTES];

    if (used < u->limits.value[limit]) return true;
    u->refused++;
    snprintf(why, USERS_WHY_BYTES,
             "%s: user %u has %" PRIu64 " %s; end some, or have root raise the limit in "
             "salus.conf(5)",
             limits_text(&u->limits, limit, text), (unsigned)u->uid, used, what);
    return false;
}

static bool may_enter(struct user *u, enum users_kind kind, char *why) {
    if (!has_room(u, LIMIT(user_connections), connections(u), "connections", why)) return false;
    if (kind == USERS_CONTROL)
        return has_room(u, LIMIT(user_controls), u->count[kind], "connections to ctl.sock", why);
    return has_room(u, LIMIT(user_handshakes), u->count[kind],
                    "jobs that are only beginning, or connections that say nothing", why);
}

static bool is_above(struct user *u, int limit, int64_t value, const char *what, char *why) {
    char text[LIMITS_TEXT_BYTES];

    if (value <= 0 || (uint64_t)value <= u->limits.value[limit]) return false;
    u->refused++;
    snprintf(why, USERS_WHY_BYTES,
             "%s %" PRId64 " is above %s of user %u; ask for no more, or have root raise the limit "
             "in salus.conf(5)",
             what, value, limits_text(&u->limits, limit, text), (unsigned)u->uid);
    return true;
}

int users_check_rank(struct user *u, int64_t priority, uint64_t weight, char why[USERS_WHY_BYTES]) {
    if (is_above(u, LIMIT(max_priority), priority, "priority", why)) return -EPERM;
    return is_above(u, LIMIT(max_weight), (int64_t)weight, "weight", why) ? -EPERM : 0;
}

int users_check_job(struct user *u, const struct wire_job *job, char why[USERS_WHY_BYTES]) {
    int rc = users_check_rank(u, job->priority, job->weight, why);

    if (rc < 0) return rc;
    return has_room(u, LIMIT(user_jobs), u->count[USERS_JOB], "jobs", why) ? 0 : -EBUSY;
}

/* ---- coming and going ------------------------------------------------------------------------ */

struct user *users_enter(struct server *s, int fd, const struct ucred *cred, enum users_kind kind,
                         char why[USERS_WHY_BYTES]) {
    struct user *u = find_or_make(s, cred->uid);

    if (!u) {
        snprintf(why, USERS_WHY_BYTES, "salusd has no memory for another connection");
        return NULL;
    }
    read_groups(u, fd, cred->gid);
    limits_resolve(&s->config, u->uid, u->groups, u->group_count, &u->limits);
    if (may_enter(u, kind, why)) {
        u->count[kind]++;
        return u;
    }
    log_warn("user", "event=refused pid=%d uid=%u why=\"%s\"", (int)cred->pid, (unsigned)cred->uid,
             why);
    forget_if_gone(u);
    return NULL;
}

void users_move(struct user *u, enum users_kind from, enum users_kind to) {
    u->count[from]--;
    u->count[to]++;
}

void users_leave(struct user *u, enum users_kind kind) {
    u->count[kind]--;
    forget_if_gone(u);
}

void users_reload(struct server *s) {
    struct list *pos;

    list_each(pos, &s->users.list) {
        struct user *u = list_entry(pos, struct user, link);

        limits_resolve(&s->config, u->uid, u->groups, u->group_count, &u->limits);
    }
}

/* ---- for people ------------------------------------------------------------------------------ */

/* As CTL_KIND_OPT has it. */
static uint64_t shown(const struct user *u, int limit) {
    uint64_t value = u->limits.value[limit];

    return value == LIMITS_NONE ? 0 : value + 1;
}

static void report(const struct user *u, struct ctl_tenant *r) {
    *r = (struct ctl_tenant){.uid = u->uid,
                             .connections = connections(u),
                             .connections_limit = shown(u, LIMIT(user_connections)),
                             .handshakes = u->count[USERS_HANDSHAKE],
                             .handshakes_limit = shown(u, LIMIT(user_handshakes)),
                             .jobs = u->count[USERS_JOB],
                             .jobs_limit = shown(u, LIMIT(user_jobs)),
                             .controls = u->count[USERS_CONTROL],
                             .controls_limit = shown(u, LIMIT(user_controls)),
                             .max_priority = shown(u, LIMIT(max_priority)),
                             .max_weight = shown(u, LIMIT(max_weight)),
                             .refused = u->refused};
}

/* The user with the lowest uid from `least` on, or NULL. */
static const struct user *next_user(const struct server *s, uint64_t least) {
    const struct user *best = NULL;
    const struct list *pos;

    list_each(pos, &s->users.list) {
        const struct user *u = list_entry(pos, struct user, link);

        if (u->uid >= least && (!best || u->uid < best->uid)) best = u;
    }
    return best;
}

uint64_t users_list(struct server *s, uint64_t after, struct ctl_out *out) {
    const struct user *u;

    for (uint64_t least = after; (u = next_user(s, least)); least = u->uid + 1ull) {
        struct ctl_tenant r;

        report(u, &r);
        if (!ctl_msg_add(out, CTL_RECORD_TENANT, &r)) return least;
    }
    return 0;
}
