/* SPDX-License-Identifier: Apache-2.0
 *
 * Combines several workloads on one device: all jobs, with each file's first job arriving at once
 * or after a shift of that file.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_MERGE_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_MERGE_H

#include "daemon/sim/workload/workload.h"

#define WORKLOAD_MERGE_FILES 8u
#define WORKLOAD_MERGE_WHY 160

/* Names and strings stay the files'. Returns 0, -ENOMEM, or -EINVAL with a sentence in `why` if
 * grains or devices differ. */
int workload_merge(struct workload *out, const struct workload *files, uint32_t count, char *why);

/* Shifts each file's arrivals and sorts the jobs; `number` does not change. */
void workload_merge_shift(struct workload *w, const struct workload *files, uint32_t count,
                          const uint64_t *shifts_ns);
/* Index of the file that the job comes from. */
uint32_t workload_merge_file(const struct workload *files, uint32_t count, uint32_t number);

#endif
