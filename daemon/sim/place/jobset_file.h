/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads nodes and jobs from files (docs/cluster.md): our own tables, and those of Alibaba's
 * cluster-trace-gpu-v2023, distinguished by their first line. Input is untrusted: any bytes are
 * accepted, errors are listed with their lines, and jobset.h limits the sizes.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_FILE_H
#define DAEMON_SIM_PLACE_JOBSET_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "common/buf.h"
#include "daemon/sim/place/jobset.h"

/* Return 0, -ENOMEM, or -EINVAL with the errors in `errors`, one per line ("12: util: ...").
 * Earlier nodes and jobs stay. */
int jobset_parse_nodes(struct jobset *s, const char *text, size_t bytes, struct buf *errors);
int jobset_parse_jobs(struct jobset *s, const struct jobset_rules *rules, const char *text,
                      size_t bytes, struct buf *errors);

/* The same for files; "-" is standard input. If the file cannot be read, -errno with a line in
 * `errors`. */
int jobset_read_nodes(struct jobset *s, const char *path, struct buf *errors);
int jobset_read_jobs(struct jobset *s, const struct jobset_rules *rules, const char *path,
                     struct buf *errors);

/* Writes a table that reads back to the same, times to the nanosecond and memory to the MiB.
 * jobset_tell must have been called. */
void jobset_write_jobs(const struct jobset *s, FILE *out);

/* Memory of a card of this model; 0: unknown model. */
uint64_t jobset_model_bytes(const char *model);

#endif
