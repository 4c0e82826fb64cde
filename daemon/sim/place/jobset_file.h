/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and jobs as files (docs/cluster.md): tables of our own, and those of Alibaba's
 * cluster-trace-gpu-v2023, told apart by their first line. Hostile input: any bytes are taken,
 * faults are listed with their lines, sizes are bounded by jobset.h.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_FILE_H
#define DAEMON_SIM_PLACE_JOBSET_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "common/buf.h"
#include "daemon/sim/place/jobset.h"

/* 0; -EINVAL with the faults in `errors`, a line each ("12: util: ..."); -ENOMEM. What was read
 * before stays. */
int jobset_parse_nodes(struct jobset *s, const char *text, size_t bytes, struct buf *errors);
int jobset_parse_jobs(struct jobset *s, const struct jobset_rules *rules, const char *text,
                      size_t bytes, struct buf *errors);

/* The same of files, "-" being standard input; -errno with a line in `errors` when they cannot be
 * read. */
int jobset_read_nodes(struct jobset *s, const char *path, struct buf *errors);
int jobset_read_jobs(struct jobset *s, const struct jobset_rules *rules, const char *path,
                     struct buf *errors);

/* As a table that is read to the same, times to the nanosecond and memory to the MiB. They must
 * have been told of (jobset_tell). */
void jobset_write_jobs(const struct jobset *s, FILE *out);

/* A card of that model has so much memory; 0: it is not known. */
uint64_t jobset_model_bytes(const char *model);

#endif
