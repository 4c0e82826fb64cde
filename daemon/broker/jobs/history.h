/* SPDX-License-Identifier: Apache-2.0
 *
 * The latest jobs that ended. Owner: the server.
 */
#ifndef DAEMON_BROKER_JOBS_HISTORY_H
#define DAEMON_BROKER_JOBS_HISTORY_H

#include "daemon/broker/jobs/attachments.h"
#include "proto/control/ctl_msg.h"

#define HISTORY_MAX 1024u

/* Returns NULL when out of memory. */
struct history *history_create(void);
void history_destroy(struct history *h);

/* Adds an ended job; its counters are read now. */
void history_add(struct history *h, const struct attachment *a);
/* Adds a job that was refused before users saw it. `by`: who refused it. */
void history_add_refused(struct history *h, const struct job *job, uint32_t id, const char *by,
                         const char *why);
/* The command of user `uid`'s run ended with the status in `exit`. */
void history_exited(struct history *h, uid_t uid, uint32_t run, const char *exit);

/* Adds the records above `after` to a reply for user `uid`. Returns the `after` for the rest; 0:
 * nothing is left. */
uint64_t history_list(const struct history *h, uint64_t after, uid_t uid, struct ctl_out *out);

/* Returns the lowest user from `least` on with a job in the history; UINT64_MAX: none. */
uint64_t history_next_user(const struct history *h, uint64_t least);
/* Number of the user's jobs in the history. */
uint64_t history_count(const struct history *h, uid_t uid);

#endif
