/* SPDX-License-Identifier: Apache-2.0
 *
 * What is longer on the device than the option `overdue` (overdue_ns; 0: never) allows: whose it
 * is, who waits for it, and when the log says so.
 */
#ifndef DAEMON_BROKER_JOBS_OVERDUE_H
#define DAEMON_BROKER_JOBS_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/broker/jobs/attachments.h"
#include "proto/control/ctl.h"

/* Where the job waits for what another one has on the device, `why` names that, as far as user
 * `uid` may read it. */
void overdue_explain(const struct attachments *as, const struct attachment *a, uint64_t overdue_ns,
                     uid_t uid, struct ctl_job *r);

/* Logs what is: once, and again each time that its age has doubled.
 * To be called every second or so. */
void overdue_look(struct attachments *as, uint64_t overdue_ns);
/* Whether a line is due; notes that it was written. */
bool overdue_due(struct overdue *o, uint64_t since_ns, uint64_t age_ns, uint64_t threshold_ns);

#endif
