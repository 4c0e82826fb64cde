/* SPDX-License-Identifier: Apache-2.0
 *
 * Connected users, their usage and their limits. Whatever exceeds a limit is refused at once, with
 * the limit's name, so that one user's excess never delays another.
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
#define USERS_GROUPS 256 /* further groups of a user are ignored */

/* QUEUED: the client has sent a valid hello and waits for a place (places.h). */
enum users_kind { USERS_HANDSHAKE, USERS_QUEUED, USERS_JOB, USERS_CONTROL, USERS_KINDS };

/* A user with at least one connection. */
struct user {
    struct list link;
    uid_t uid;
    gid_t groups[USERS_GROUPS]; /* groups of the latest connection, as reported by the kernel */
    int group_count;
    struct limits limits;
    uint64_t count[USERS_KINDS]; /* connections by kind */
    uint64_t places, beginning; /* places.h: places in use; those of clients that are no jobs yet */
    uint64_t refused;           /* refusals since the user last had no connection */
    uint64_t pinned_bytes;      /* pinned memory in use at the latest pinned_look */
};

struct users {
    struct list list;
    const struct config *config;
    struct gpus *gpus; /* workers of these GPUs enforce the limits */
};

void users_init(struct users *users, const struct config *config, struct gpus *gpus);

/* Counts a new connection of the user at the other end of fd. Returns NULL with the reason when a
 * limit forbids it. */
struct user *users_enter(struct users *users, int fd, const struct ucred *cred,
                         enum users_kind kind, char why[USERS_WHY_BYTES]);
/* users_move: a connection changes its kind. users_leave: it ends. */
void users_move(struct user *u, enum users_kind from, enum users_kind to);
void users_leave(struct user *u, enum users_kind kind);

struct user *users_find(const struct users *users, uid_t uid); /* or NULL */
/* Returns the user with the lowest uid from `least` on, or NULL. */
const struct user *users_next(const struct users *users, uint64_t least);
uint64_t users_connections(const struct user *u);

/* Returns 0 when the user may have a job of this priority and weight; else the error to refuse it
 * with, and the reason. */
int users_check_job(struct user *u, const struct wire_job *job, char why[USERS_WHY_BYTES]);
/* The priority that a job counts as: a latency target is met at the expense of others, like a
 * priority above 0. */
int64_t users_rank(int64_t priority, bool slo);
/* As users_check_job, for a rank (users_rank) and a weight; 0 is always allowed. */
int users_check_rank(struct user *u, int64_t priority, uint64_t weight, char why[USERS_WHY_BYTES]);

/* Returns 0 when a job with this reservation, if any, fits into the user's part of the GPU; else -1
 * with the reason. */
int users_check_device(const struct users *users, struct user *u, const struct gpu *g,
                       const struct wire_job *job, char why[USERS_WHY_BYTES]);
/* Usage of the user's jobs on the GPU where it is largest: memory, and operations. Both limits
 * apply to each GPU. */
uint64_t users_device_bytes(const struct users *users, uid_t uid);
uint64_t users_operations(const struct users *users, uid_t uid);
/* The total memory of a device of this size that a job of the user is shown: at most the user's
 * limit. */
uint64_t users_shown_bytes(const struct user *u, uint64_t device_bytes);
/* Size of pinned memory that a job of the user can map. */
uint64_t users_host_window(const struct users *users, const struct user *u);
/* Limits that the worker enforces; u may be NULL: none. */
struct wire_limits users_wire_limits(const struct user *u);

/* Applies a changed configuration. */
void users_reload(struct users *users);

#endif
