/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads as files (docs/workload.md). Hostile input: any bytes are taken, every fault is listed
 * with its line, sizes are bounded by the limits of workload.h.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_FILE_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "common/buf.h"
#include "daemon/sim/workload/workload.h"

/* Without a job, the device with its defaults. 0 or -ENOMEM. */
int workload_init(struct workload *out);

/* 0; -EINVAL with the faults in `errors`, a line each ("12: iteration: ..."); -ENOMEM. */
int workload_parse(struct workload *out, const char *text, size_t bytes, struct buf *errors);
/* The same of a file, "-" being standard input; -errno with a line in `errors` when it cannot be
 * read. */
int workload_read(struct workload *out, const char *path, struct buf *errors);

/* As a workload file that parses to the same. */
void workload_write(const struct workload *w, FILE *out);

#endif
