/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that ended, the latest of them. Owner: the server.
 */
#ifndef DAEMON_BROKER_JOBS_HISTORY_H
#define DAEMON_BROKER_JOBS_HISTORY_H

#include "daemon/broker/jobs/attachments.h"
#include "proto/control/ctl_msg.h"

#define HISTORY_MAX 1024u

/* NULL when memory is short. */
struct history *history_create(void);
void history_destroy(struct history *h);

/* The job's last moment: its counters are read now. */
void history_add(struct history *h, const struct attachment *a);
/* It was refused before it became a job that people saw. `by`: who ended it. */
void history_add_refused(struct history *h, const struct job *job, uint32_t id, const char *by,
                         const char *why);
/* The command of the run of user `uid` ended: as `exit` says. */
void history_exited(struct history *h, uid_t uid, uint32_t run, const char *exit);

/* Adds the records above `after` to a reply for user `uid`; returns what to give as `after` for the
 * rest, 0 when nothing is left. */
uint64_t history_list(const struct history *h, uint64_t after, uid_t uid, struct ctl_out *out);

/* The lowest user from `least` on that had one of these jobs; UINT64_MAX: nobody. */
uint64_t history_next_user(const struct history *h, uint64_t least);
/* How many of them it had. */
uint64_t history_count(const struct history *h, uid_t uid);

#endif
