/* SPDX-License-Identifier: Apache-2.0
 *
 * A job as a record, from what the broker knows of it and the counters that the worker writes.
 * Reads, never changes.
 */
#ifndef DAEMON_BROKER_REPORT_JOB_H
#define DAEMON_BROKER_REPORT_JOB_H

#include "daemon/broker/broker.h"
#include "proto/ctl.h"

void report_job(const struct attachment *a, struct ctl_job *out);
/* All but `number` and `ended_ns`. */
void report_job_ended(const struct attachment *a, struct ctl_ended *out);

/* Text that another process wrote: bounded, and nothing in it that a terminal would obey; `out`
 * has a byte more than `cap`. */
void report_foreign(char *out, const char *text, size_t cap);

#endif
