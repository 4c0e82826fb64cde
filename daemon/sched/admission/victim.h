/* SPDX-License-Identifier: Apache-2.0
 *
 * Victims: the admitted jobs whose memory may go to host memory for a job that waits for some, and
 * the order in which they go. Pure: changes nothing.
 */
#ifndef DAEMON_SCHED_ADMISSION_VICTIM_H
#define DAEMON_SCHED_ADMISSION_VICTIM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* Jobs are swapped for those that rank before them, or that have work. */
bool victim_swaps(const struct sched *s);
/* Jobs are swapped, or may be for another user's. */
bool victim_may_swap(const struct sched *s);
/* No ephemeral page of it is in use, and so nothing of it runs. */
bool victim_is_still(const struct sched *s, uint32_t job);
/* Since when the job has had its memory and nothing to do; NEVER: it has. */
uint64_t victim_idle_since(const struct sched *s, uint32_t job);
/* Of the admitted jobs that could make room for `job`, the first to go; SCHED_NONE: there is none.
 * *room_bytes: what all of them and what is free make together. */
uint32_t victim_find(const struct sched *s, uint32_t job, uint64_t *room_bytes);
/* The first idle job to go to host memory for `job`; both are admitted. Adds to *sum what all such
 * jobs hold. */
uint32_t victim_find_idle(const struct sched *s, uint32_t job, uint64_t *sum);

#endif
