/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of admitted jobs for more memory than they hold, and memory reserved for such jobs. At
 * most one job at a time, the grower, waits for memory, and only while jobs that do not wait hold
 * enough of it (docs/adr/0028-growing.md).
 */
#ifndef DAEMON_SCHED_ADMISSION_GROW_H
#define DAEMON_SCHED_ADMISSION_GROW_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* Answers the job's request to raise P and E to `need`: GRANT, DENY or, for a patient job, WAIT. */
void grow_asked(struct sched *s, uint32_t job, const struct sched_need *need, bool patient);
/* Answers the grower if that is possible now. Returns true when it got memory. */
bool grow_look(struct sched *s);
/* The job ends and no longer waits for memory. */
void grow_forget(struct sched *s, uint32_t job);

/* Bytes that the grower lacks; 0: none, or no job waits. */
uint64_t grow_missing(const struct sched *s);
/* Free bytes that admitting `job` must leave: for the grower, and for jobs of unknown needs that
 * hold less than grow_part and began less than a lease ago. */
uint64_t grow_aside(const struct sched *s, uint32_t job);
/* Earliest time at which grow_aside decreases by time alone; SCHED_NEVER: never. */
uint64_t grow_aside_until(const struct sched *s);
/* unknown_part of the device, in bytes. */
uint64_t grow_part(const struct sched *s);

/* The two jobs have the same user and the same run or group, so that they may wait for one another.
 */
bool grow_related(const struct sched_job *a, const struct sched_job *b);
/* Emits LANE if the lane's size differs from `before`, so that the caller frees chunks. */
void grow_resized(struct sched *s, uint32_t lane, uint64_t before);

#endif
