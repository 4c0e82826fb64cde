/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that admitted jobs ask for beyond what they hold, and what is kept free for them. At most
 * one job waits for such memory at a time, the grower, and only while jobs that wait for nothing
 * hold enough (docs/adr/0028-growing.md).
 */
#ifndef DAEMON_SCHED_ADMISSION_GROW_H
#define DAEMON_SCHED_ADMISSION_GROW_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* P and E of the job are to grow to these: GRANT, DENY, or, if it is patient, WAIT. */
void grow_asked(struct sched *s, uint32_t job, const struct sched_need *need, bool patient);
/* Answers the grower where that is possible now: true when it got memory. */
bool grow_look(struct sched *s);
/* The job ends: it waits for no memory any more. */
void grow_forget(struct sched *s, uint32_t job);

/* Bytes that the grower lacks; 0: nobody waits. */
uint64_t grow_missing(const struct sched *s);
/* Free bytes that a job which is to be admitted must leave: for the grower, and for jobs of unknown
 * needs that hold less than grow_part and began less than a lease ago. */
uint64_t grow_aside(const struct sched *s, uint32_t job);
/* From when on that is less, by time alone; SCHED_NEVER. */
uint64_t grow_aside_until(const struct sched *s);
/* unknown_part of the device. */
uint64_t grow_part(const struct sched *s);

/* Jobs of one user that are of one run or one group: they may wait for one another. */
bool grow_related(const struct sched_job *a, const struct sched_job *b);
/* Says that the lane's size is no longer `before`, so that the caller frees chunks. */
void grow_resized(struct sched *s, uint32_t lane, uint64_t before);

#endif
