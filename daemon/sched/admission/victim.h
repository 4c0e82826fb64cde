/* SPDX-License-Identifier: Apache-2.0
 *
 * Victims: the admitted jobs that may be swapped out for a job that waits for memory, and their
 * order. Pure: changes nothing.
 */
#ifndef DAEMON_SCHED_ADMISSION_VICTIM_H
#define DAEMON_SCHED_ADMISSION_VICTIM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* Jobs are swapped out for jobs that rank before them, or that have work. */
bool victim_swaps(const struct sched *s);
/* Jobs may be swapped out, by configuration or for another user's job. */
bool victim_may_swap(const struct sched *s);
/* The job has no ephemeral page in use, and so none of its operations runs. */
bool victim_is_still(const struct sched *s, uint32_t job);
/* Time since which the job has had its memory and nothing to do; SCHED_NEVER: it has work. */
uint64_t victim_idle_since(const struct sched *s, uint32_t job);
/* Returns the admitted job to swap out first for `job`, or SCHED_NONE. *room_bytes: the free memory
 * together with that of all such jobs. */
uint32_t victim_find(const struct sched *s, uint32_t job, uint64_t *room_bytes);
/* Returns the idle job to swap out first for the admitted `job`, or SCHED_NONE. Adds to *sum the
 * memory of all such jobs. */
uint32_t victim_find_idle(const struct sched *s, uint32_t job, uint64_t *sum);

#endif
