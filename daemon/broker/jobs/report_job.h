/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a job's record from the broker's data and the worker's counters. Reads only.
 */
#ifndef DAEMON_BROKER_JOBS_REPORT_JOB_H
#define DAEMON_BROKER_JOBS_REPORT_JOB_H

#include "daemon/broker/jobs/attachments.h"
#include "proto/control/ctl.h"

void report_job(const struct attachment *a, struct ctl_job *r);
/* Fills all fields but `number` and `ended_ns`. */
void report_job_ended(const struct attachment *a, struct ctl_ended *out);

/* The command of its run ended: `exit` is an exit status or a signal; empty: unknown. */
void report_exited(struct ctl_ended *r, const char *exit);

/* Removes what only the job's user, root and the daemon's user may read, unless `uid` is one of
 * them: which kernel runs or failed, where, and the command line. */
void report_job_hide(uid_t uid, struct ctl_job *r);
void report_ended_hide(uid_t uid, struct ctl_ended *r);
bool report_readable(uid_t uid, uint64_t owner);
/* Shortens "kernel NAME" to "kernel". */
void report_nameless(char *what);

#endif
