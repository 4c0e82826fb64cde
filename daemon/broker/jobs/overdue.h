/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that have been on the device longer than the option `overdue` (overdue_ns; 0: never):
 * whose they are, who waits for them, and when the log reports them.
 */
#ifndef DAEMON_BROKER_JOBS_OVERDUE_H
#define DAEMON_BROKER_JOBS_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/broker/jobs/attachments.h"
#include "proto/control/ctl.h"

/* If the job `a` waits for another job's operation on the device, names that operation in r->why,
 * as far as user `uid` may read it. */
void overdue_explain(const struct attachments *as, const struct attachment *a, uint64_t overdue_ns,
                     uid_t uid, struct ctl_job *r);

/* Logs overdue operations: once, and again each time the age has doubled. Call about once a second.
 */
void overdue_look(struct attachments *as, uint64_t overdue_ns);
/* Returns whether a record is due, and notes that it was written. */
bool overdue_due(struct overdue *o, uint64_t since_ns, uint64_t age_ns, uint64_t threshold_ns);

#endif
