/* SPDX-License-Identifier: Apache-2.0
 *
 * A row of a table of jobs becomes a job: what our own table and Alibaba's have in common. Private
 * to daemon/sim/place.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_ROW_H
#define DAEMON_SIM_PLACE_JOBSET_ROW_H

#include "daemon/sim/place/jobset.h"
#include "daemon/sim/place/jobset_table.h"

#define JOBSET_ROW_MIB ((uint64_t)1 << 20)
#define JOBSET_ROW_MIB_MOST (JOBSET_BYTES_MOST >> 20)
#define JOBSET_ROW_TASKS_MOST 65536u /* GPUs of a job */

uint64_t jobset_row_bytes(struct table *t, uint32_t column);
/* "V100M16|V100M32": any of these. */
uint64_t jobset_row_spec(struct jobset *s, struct table *t, uint32_t column);
/* Where no fault was found. 0, -E2BIG with a fault, -ENOMEM. */
int jobset_row_add(struct jobset *s, struct table *t, const struct jobset_job *job);

#endif
