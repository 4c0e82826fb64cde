/* SPDX-License-Identifier: Apache-2.0
 *
 * A list that is scanned: there are as many users as have connections. What belongs to nobody any
 * more is forgotten, so that it cannot grow by itself.
 */
#include "daemon/broker/clients/users.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/log.h"
#include "common/units.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/clients/pages.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif

/* A job can hardly do with less: its staging buffers lie there as well. */
#define WINDOW_LEAST (64ull << 20)

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

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t as_wire(uint64_t limit) {
    return limit == LIMITS_NONE ? 0 : limit;
}

struct wire_limits users_wire_limits(const struct user *u) {
    if (!u) return (struct wire_limits){0};
    return (struct wire_limits){.device_bytes = as_wire(u->limits.value[LIMIT(user_device_memory)]),
                                .operations = as_wire(u->limits.value[LIMIT(user_operations)])};
}

uint64_t users_host_window(const struct server *s, const struct user *u) {
    uint64_t most = u->limits.value[LIMIT(user_pinned)] & ~(CONFIG_WINDOW_ALIGN - 1);

    if (most < WINDOW_LEAST) most = WINDOW_LEAST;
    return most < s->config.window_host_bytes ? most : s->config.window_host_bytes;
}

/* Memory of the device that an attachment has, or was promised. Of a lane, what the neediest of its
 * jobs has, counted for the first of these. */
static uint64_t granted(struct server *s, const struct attachment *a) {
    const struct wire_stats *st = a->completion ? &a->completion->stats : NULL;
    uint64_t lane = st ? atom_load_relaxed(&st->lane) : 0, e;
    struct list *pos;

    if (lane == 0) {
        if (!(a->job.flags & WIRE_JOB_WORD)) return 0;
        return a->job.persistent_bytes + a->job.ephemeral_bytes;
    }
    e = atom_load_relaxed(&st->ephemeral_bytes);
    list_each(pos, &s->supervise.attachments) {
        const struct attachment *o = list_entry(pos, struct attachment, link);
        uint64_t other;

        if (o == a || !o->completion || atom_load_relaxed(&o->completion->stats.lane) != lane)
            continue;
        other = atom_load_relaxed(&o->completion->stats.ephemeral_bytes);
        if (other > e || (other == e && o->job_id < a->job_id)) e = 0;
    }
    return atom_load_relaxed(&st->persistent_bytes) + e;
}

static uint64_t device_bytes(struct server *s, uid_t uid) {
    uint64_t sum = 0;
    struct list *pos;

    list_each(pos, &s->supervise.attachments) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->uid == uid && a->client) sum += granted(s, a);
    }
    return sum;
}

int users_check_device(struct server *s, struct user *u, const struct wire_job *job,
                       char why[USERS_WHY_BYTES]) {
    uint64_t most = u->limits.value[LIMIT(user_device_memory)], has, asked;
    char text[LIMITS_TEXT_BYTES], has_text[24], asked_text[24];

    if (most == LIMITS_NONE || !(job->flags & WIRE_JOB_WORD)) return 0;
    has = device_bytes(s, u->uid);
    asked = job->persistent_bytes + job->ephemeral_bytes;
    if (has <= most && asked <= most - has) return 0;
    u->refused++;
    units_print_bytes(has, has_text, sizeof(has_text));
    units_print_bytes(asked, asked_text, sizeof(asked_text));
    snprintf(why, USERS_WHY_BYTES,
             "%s: the jobs of user %u have %s, and %s more were asked for; end some, or have root "
             "raise the limit in salus.conf(5)",
             limits_text(&u->limits, LIMIT(user_device_memory), text), (unsigned)u->uid, has_text,
             asked_text);
    return -1;
}

/* Looks at all clients of the user; returns the one that grew most. */
static struct client *look_at(struct server *s, struct user *u) {
    struct client *grown = NULL;
    uint64_t most = 0;
    struct list *pos;

    u->pinned_bytes = 0;
    list_each(pos, &s->clients) {
        struct client *c = list_entry(pos, struct client, link);
        uint64_t now, growth;

        if (c->user != u) continue;
        now = pages_pinned(c);
        growth = now > c->pinned_bytes ? now - c->pinned_bytes : 0;
        if (!grown || growth > most) {
            grown = c;
            most = growth;
        }
        c->pinned_bytes = now;
        u->pinned_bytes += now;
    }
    return grown;
}

static void end_grown(struct user *u, struct client *c) {
    char text[LIMITS_TEXT_BYTES], has[24], why[USERS_WHY_BYTES];

    u->refused++;
    units_print_bytes(u->pinned_bytes, has, sizeof(has));
    snprintf(why, sizeof(why),
             "%s: the jobs of user %u have %s of pinned and staging memory, and this one grew; end "
             "some, or have root raise the limit in salus.conf(5)",
             limits_text(&u->limits, LIMIT(user_pinned), text), (unsigned)u->uid, has);
    client_end_excess(c, why);
}

void users_look(struct server *s) {
    struct list *pos, *tmp;

    list_each_safe(pos, tmp,
                   &s->users.list) { /* whose last client is ended is not there any more */
        struct user *u = list_entry(pos, struct user, link);
        struct client *grown = look_at(s, u);

        if (grown && u->pinned_bytes > u->limits.value[LIMIT(user_pinned)]) end_grown(u, grown);
    }
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

static void tell_worker(struct server *s, const struct user *u) {
    struct wire_worker_msg msg = {
        .kind = WIRE_LIMITS, .uid = u->uid, .limits = users_wire_limits(u)};

    if (s->supervise.state == SUPERVISE_READY) supervise_tell(s, &msg, NULL, 0);
}

void users_reload(struct server *s) {
    struct list *pos;

    list_each(pos, &s->users.list) {
        struct user *u = list_entry(pos, struct user, link);

        limits_resolve(&s->config, u->uid, u->groups, u->group_count, &u->limits);
        tell_worker(s, u);
    }
}

/* ---- for people ------------------------------------------------------------------------------ */

/* As CTL_KIND_OPT has it. */
static uint64_t shown(const struct user *u, int limit) {
    uint64_t value = u->limits.value[limit];

    return value == LIMITS_NONE ? 0 : value + 1;
}

static uint64_t operations(struct server *s, uid_t uid) {
    uint64_t sum = 0;
    struct list *pos;

    list_each(pos, &s->supervise.attachments) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->uid == uid && a->completion) sum += atom_load_relaxed(&a->completion->stats.queued);
    }
    return sum;
}

static void report(struct server *s, const struct user *u, struct ctl_tenant *r) {
    *r = (struct ctl_tenant){.uid = u->uid,
                             .connections = connections(u),
                             .connections_limit = shown(u, LIMIT(user_connections)),
                             .handshakes = u->count[USERS_HANDSHAKE],
                             .handshakes_limit = shown(u, LIMIT(user_handshakes)),
                             .jobs = u->count[USERS_JOB],
                             .jobs_limit = shown(u, LIMIT(user_jobs)),
                             .controls = u->count[USERS_CONTROL],
                             .controls_limit = shown(u, LIMIT(user_controls)),
                             .pinned_bytes = u->pinned_bytes,
                             .pinned_limit_bytes = shown(u, LIMIT(user_pinned)),
                             .device_bytes = device_bytes(s, u->uid),
                             .device_limit_bytes = shown(u, LIMIT(user_device_memory)),
                             .operations = operations(s, u->uid),
                             .operations_limit = shown(u, LIMIT(user_operations)),
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

        report(s, u, &r);
        if (!ctl_msg_add(out, CTL_RECORD_TENANT, &r)) return least;
    }
    return 0;
}
