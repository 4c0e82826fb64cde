/* SPDX-License-Identifier: Apache-2.0
 *
 * Several workloads on one device: the jobs of all, each file's first one arriving at once or after
 * a shift of that file.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_MERGE_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_MERGE_H

#include "daemon/sim/workload/workload.h"

#define WORKLOAD_MERGE_FILES 8u
#define WORKLOAD_MERGE_WHY 160

/* The names and strings stay the files'. 0; -EINVAL with a sentence in `why`: they are of different
 * grains or devices; -ENOMEM. */
int workload_merge(struct workload *out, const struct workload *files, uint32_t count, char *why);

/* Arrivals from then on, by file, and the jobs in their order; `number` stays what it was. */
void workload_merge_shift(struct workload *w, const struct workload *files, uint32_t count,
                          const uint64_t *shifts_ns);
/* Which file a job is of. */
uint32_t workload_merge_file(const struct workload *files, uint32_t count, uint32_t number);

#endif
