/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts a row of a table to a job: the part that our own table and Alibaba's have in common.
 * Private to daemon/sim/place.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_ROW_H
#define DAEMON_SIM_PLACE_JOBSET_ROW_H

#include "daemon/sim/place/jobset.h"
#include "daemon/sim/place/jobset_table.h"

#define JOBSET_ROW_MIB ((uint64_t)1 << 20)
#define JOBSET_ROW_MIB_MOST (JOBSET_BYTES_MOST >> 20)
#define JOBSET_ROW_TASKS_MOST 65536u /* limit of a job's GPUs */

uint64_t jobset_row_bytes(struct table *t, uint32_t column);
/* Parses "V100M16|V100M32", which means any of these. */
uint64_t jobset_row_spec(struct jobset *s, struct table *t, uint32_t column);
/* Adds the job unless the row had an error. Returns 0, -E2BIG with an error in the list, or
 * -ENOMEM. */
int jobset_row_add(struct jobset *s, struct table *t, const struct jobset_job *job);

#endif
