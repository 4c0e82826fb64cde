/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is connected, how often, and how much of that each may have. What is above a limit is refused
 * at once, with the limit's name; so one user's excess never stands in another's way.
 *
 * Owner: the broker. Threads: its loop's.
 */
#ifndef DAEMON_BROKER_CLIENTS_USERS_H
#define DAEMON_BROKER_CLIENTS_USERS_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "common/list.h"
#include "daemon/broker/config/limits.h"
#include "daemon/broker/gpu/gpus.h"
#include "proto/wire/wire.h"

#define USERS_WHY_BYTES 240
#define USERS_GROUPS 256 /* of more than these the others are not seen */

/* QUEUED: its hello was good, and it waits for a place (places.h). */
enum users_kind { USERS_HANDSHAKE, USERS_QUEUED, USERS_JOB, USERS_CONTROL, USERS_KINDS };

/* Somebody with at least one connection. */
struct user {
    struct list link;
    uid_t uid;
    gid_t groups[USERS_GROUPS]; /* of the latest connection, as the kernel says */
    int group_count;
    struct limits limits;
    uint64_t count[USERS_KINDS]; /* connections, by what they are now */
    uint64_t places,
        beginning;    /* of places.h: those it has; of these, of clients that are no jobs yet */
    uint64_t refused; /* since the first of these */
    uint64_t pinned_bytes; /* in use when it was last looked at */
};

struct users {
    struct list list;
    const struct config *config;
    struct gpus *gpus; /* whose workers hold them to what they may have */
};

void users_init(struct users *users, const struct config *config, struct gpus *gpus);

/* The one at the other end of fd has a connection more; NULL with the reason when it may not. */
struct user *users_enter(struct users *users, int fd, const struct ucred *cred,
                         enum users_kind kind, char why[USERS_WHY_BYTES]);
/* A connection that enters is let in as another kind; one that leaves. */
void users_move(struct user *u, enum users_kind from, enum users_kind to);
void users_leave(struct user *u, enum users_kind kind);

struct user *users_find(const struct users *users, uid_t uid); /* or NULL */
/* The one with the lowest uid from `least` on, or NULL. */
const struct user *users_next(const struct users *users, uint64_t least);
uint64_t users_connections(const struct user *u);

/* 0 when the user may have a job of this priority and weight; else what to refuse it with and the
 * reason. */
int users_check_job(struct user *u, const struct wire_job *job, char why[USERS_WHY_BYTES]);
/* The same of a priority or a weight alone. */
/* What a job with this priority counts as: a target of latency is kept at the cost of others, as a
 * priority above 0 is. */
int64_t users_rank(int64_t priority, bool slo);
int users_check_rank(struct user *u, int64_t priority, uint64_t weight, char why[USERS_WHY_BYTES]);

/* 0 when a job with this reservation, if it has one, fits into the user's part of the GPU; else -1
 * with the reason. */
int users_check_device(const struct users *users, struct user *u, const struct gpu *g,
                       const struct wire_job *job, char why[USERS_WHY_BYTES]);
/* What the user's jobs have of the GPU on which they have most: memory, and operations. The limits
 * of both are for each GPU. */
uint64_t users_device_bytes(const struct users *users, uid_t uid);
uint64_t users_operations(const struct users *users, uid_t uid);
/* The total memory that a job of the user is shown of a device of so many bytes: no more than the
 * user's jobs may have. */
uint64_t users_shown_bytes(const struct user *u, uint64_t device_bytes);
/* How much pinned memory a job of the user can see. */
uint64_t users_host_window(const struct users *users, const struct user *u);
/* What the worker holds the user to; u may be NULL: nothing. */
struct wire_limits users_wire_limits(const struct user *u);

/* The configuration has changed. */
void users_reload(struct users *users);

#endif
