/* SPDX-License-Identifier: Apache-2.0
 *
 * What has been on the device for long: whose it is, for how long, who waits for it, and when the
 * log says so.
 */
#ifndef DAEMON_BROKER_CONTROL_OVERDUE_H
#define DAEMON_BROKER_CONTROL_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/broker/broker.h"
#include "proto/ctl.h"

/* A consistent look at a job's wire_running. */
struct overdue_view {
    uint64_t age_ns;  /* 0: nothing was on the device for long */
    uint64_t busy_ns; /* all that the job took, with what runs now */
    uint64_t since_ns, launch;
    char what[144]; /* "kernel <name>", "copy", "memset"; printable */
};

/* Where it cannot be read in one piece, nothing runs. */
void overdue_view(const struct attachment *a, struct overdue_view *out);

/* Where the job waits for what another one has on the device, `why` names that, as far as user
 * `uid` may read it. */
void overdue_explain(struct server *s, const struct attachment *a, uid_t uid, struct ctl_job *r);

/* Logs what is older than the option `overdue`: once, and again each time that its age has doubled.
 * To be called every second or so. */
void overdue_look(struct server *s);
/* Whether a line is due; notes that it was written. */
bool overdue_due(struct overdue *o, uint64_t since_ns, uint64_t age_ns, uint64_t threshold_ns);

#endif
