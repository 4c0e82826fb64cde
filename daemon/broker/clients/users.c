/* SPDX-License-Identifier: Apache-2.0
 *
 * A list that is scanned: it has as many users as have connections. A user without connections is
 * removed, so that the list cannot grow without bound.
 */
#include "daemon/broker/clients/users.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/text/units.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif

/* The smallest useful host window: it holds a job's staging buffers as well. */
#define WINDOW_LEAST (64ull << 20)

void users_init(struct users *users, const struct config *config, struct gpus *gpus) {
    list_init(&users->list);
    users->config = config;
    users->gpus = gpus;
}

struct user *users_find(const struct users *users, uid_t uid) {
    const struct list *pos;

    list_each(pos, &users->list) {
        struct user *u = list_entry(pos, struct user, link);

        if (u->uid == uid) return u;
    }
    return NULL;
}

const struct user *users_next(const struct users *users, uint64_t least) {
    const struct user *best = NULL;
    const struct list *pos;

    list_each(pos, &users->list) {
        const struct user *u = list_entry(pos, struct user, link);

        if (u->uid >= least && (!best || u->uid < best->uid)) best = u;
    }
    return best;
}

/* Reads groups from the kernel, so that no name service is asked while others wait. */
static void read_groups(struct user *u, int fd, gid_t first) {
    socklen_t bytes = sizeof(u->groups) - sizeof(u->groups[0]);

    u->groups[0] = first;
    u->group_count = 1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &u->groups[1], &bytes) == 0)
        u->group_count += (int)(bytes / sizeof(u->groups[0]));
}

static struct user *find_or_make(struct users *users, uid_t uid) {
    struct user *u = users_find(users, uid);

    if (u) return u;
    u = calloc(1, sizeof(*u));
    if (!u) return NULL;
    u->uid = uid;
    list_append(&users->list, &u->link);
    return u;
}

uint64_t users_connections(const struct user *u) {
    return u->count[USERS_HANDSHAKE] + u->count[USERS_QUEUED] + u->count[USERS_JOB] +
           u->count[USERS_CONTROL];
}

static void forget_if_gone(struct user *u) {
    if (users_connections(u) > 0) return;
    list_remove(&u->link);
    free(u);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Returns false, with the reason, when `used` has reached the limit. */
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
    if (!has_room(u, LIMIT(user_connections), users_connections(u), "connections", why))
        return false;
    if (kind == USERS_CONTROL)
        return has_room(u, LIMIT(user_controls), u->count[kind], "connections to ctl.sock", why);
    return has_room(u, LIMIT(user_handshakes), u->count[kind],
                    "jobs that are starting, or silent connections", why);
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

int64_t users_rank(int64_t priority, bool slo) {
    return slo && priority < 1 ? 1 : priority;
}

int users_check_rank(struct user *u, int64_t priority, uint64_t weight, char why[USERS_WHY_BYTES]) {
    if (is_above(u, LIMIT(max_priority), priority, "priority", why)) return -EPERM;
    return is_above(u, LIMIT(max_weight), (int64_t)weight, "weight", why) ? -EPERM : 0;
}

int users_check_job(struct user *u, const struct wire_job *job, char why[USERS_WHY_BYTES]) {
    int64_t rank = users_rank(job->priority, job->slo_ns != 0);

    return users_check_rank(u, rank, job->weight, why);
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

uint64_t users_shown_bytes(const struct user *u, uint64_t device_bytes) {
    uint64_t most = u->limits.value[LIMIT(user_device_memory)];

    return most < device_bytes ? most : device_bytes;
}

uint64_t users_host_window(const struct users *users, const struct user *u) {
    uint64_t most = u->limits.value[LIMIT(user_pinned)] & ~(CONFIG_WINDOW_ALIGN - 1);

    if (most < WINDOW_LEAST) most = WINDOW_LEAST;
    return most < users->config->window_host_bytes ? most : users->config->window_host_bytes;
}

uint64_t users_device_bytes(const struct users *users, uid_t uid) {
    uint64_t most = 0;

    for (uint32_t i = 0; i < users->gpus->count; i++) {
        uint64_t has = attachments_granted(&users->gpus->items[i].attachments, uid);

        if (has > most) most = has;
    }
    return most;
}

uint64_t users_operations(const struct users *users, uid_t uid) {
    uint64_t most = 0;

    for (uint32_t i = 0; i < users->gpus->count; i++) {
        uint64_t has = attachments_operations(&users->gpus->items[i].attachments, uid);

        if (has > most) most = has;
    }
    return most;
}

/* Prints " on GPU 1" if there are several GPUs. */
static void print_where(const struct users *users, const struct gpu *g, char out[24]) {
    out[0] = '\0';
    if (users->gpus->count > 1) snprintf(out, 24, " on GPU %u", g->number);
}

int users_check_device(const struct users *users, struct user *u, const struct gpu *g,
                       const struct wire_job *job, char why[USERS_WHY_BYTES]) {
    uint64_t most = u->limits.value[LIMIT(user_device_memory)], has, asked;
    char text[LIMITS_TEXT_BYTES], has_text[24], asked_text[24], where[24];

    if (most == LIMITS_NONE || !(job->flags & WIRE_JOB_RESERVED)) return 0;
    has = attachments_granted(&g->attachments, u->uid);
    asked = job->persistent_bytes + job->ephemeral_bytes;
    if (has <= most && asked <= most - has) return 0;
    u->refused++;
    units_print_bytes(has, has_text, sizeof(has_text));
    units_print_bytes(asked, asked_text, sizeof(asked_text));
    print_where(users, g, where);
    snprintf(why, USERS_WHY_BYTES,
             "%s: the jobs of user %u have %s%s, and this job asks for %s more; end some, or have "
             "root raise the limit in salus.conf(5)",
             limits_text(&u->limits, LIMIT(user_device_memory), text), (unsigned)u->uid, has_text,
             where, asked_text);
    return -1;
}

/* ---- connections ---------------------------------------------------------------------------- */

struct user *users_enter(struct users *users, int fd, const struct ucred *cred,
                         enum users_kind kind, char why[USERS_WHY_BYTES]) {
    struct user *u = find_or_make(users, cred->uid);

    if (!u) {
        snprintf(why, USERS_WHY_BYTES, "salusd is out of memory for another connection; try again");
        return NULL;
    }
    read_groups(u, fd, cred->gid);
    limits_resolve(users->config, u->uid, u->groups, u->group_count, &u->limits);
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

static void tell_worker(struct worker *w, const struct user *u) {
    struct wire_worker_msg msg = {
        .kind = WIRE_LIMITS, .uid = u->uid, .limits = users_wire_limits(u)};

    if (worker_ready(w)) channel_tell(&w->channel, &msg, NULL, 0);
}

void users_reload(struct users *users) {
    struct list *pos;

    list_each(pos, &users->list) {
        struct user *u = list_entry(pos, struct user, link);

        limits_resolve(users->config, u->uid, u->groups, u->group_count, &u->limits);
        for (uint32_t i = 0; i < users->gpus->count; i++)
            tell_worker(&users->gpus->items[i].worker, u);
    }
}
