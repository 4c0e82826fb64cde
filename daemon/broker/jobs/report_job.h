/* SPDX-License-Identifier: Apache-2.0
 *
 * A job as a record, from what the broker knows of it and the counters that the worker writes.
 * Reads, never changes.
 */
#ifndef DAEMON_BROKER_JOBS_REPORT_JOB_H
#define DAEMON_BROKER_JOBS_REPORT_JOB_H

#include "daemon/broker/jobs/attachments.h"
#include "proto/control/ctl.h"

void report_job(const struct attachment *a, struct ctl_job *r);
/* All but `number` and `ended_ns`. */
void report_job_ended(const struct attachment *a, struct ctl_ended *out);

/* The command of its run ended: `exit` is an exit status or a signal; empty: that is not known. */
void report_exited(struct ctl_ended *r, const char *exit);

/* Takes out what only its own user, root and the daemon's may read, unless `uid` is one of these:
 * which kernel runs or failed, and at what, and how it was called. */
void report_job_hide(uid_t uid, struct ctl_job *r);
void report_ended_hide(uid_t uid, struct ctl_ended *r);
bool report_readable(uid_t uid, uint64_t owner);
/* "kernel NAME" becomes "kernel". */
void report_nameless(char *what);

#endif
