/* SPDX-License-Identifier: Apache-2.0
 *
 * Workload files (docs/workload.md). Input is untrusted: any bytes are accepted, every error is
 * listed with its line, and the limits of workload.h bound the sizes.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_FILE_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "common/buf.h"
#include "daemon/sim/workload/workload.h"

/* Initialises a workload without jobs and with the default device. Returns 0 or -ENOMEM. */
int workload_init(struct workload *out);

/* Returns 0, -ENOMEM, or -EINVAL with the errors in `errors`, one per line ("12: iteration:
 * ..."). */
int workload_parse(struct workload *out, const char *text, size_t bytes, struct buf *errors);
/* The same for a file; "-" is standard input. If the file cannot be read, -errno with a line in
 * `errors`. */
int workload_read(struct workload *out, const char *path, struct buf *errors);

/* Writes a workload file that parses to the same workload. */
void workload_write(const struct workload *w, FILE *out);

#endif
