/* SPDX-License-Identifier: Apache-2.0
 *
 * Letting jobs in, and what they may have of the memory.
 */
#ifndef DAEMON_SCHED_ADMISSION_ADMIT_H
#define DAEMON_SCHED_ADMISSION_ADMIT_H

#include <stdint.h>

#include "daemon/sched/core.h"

void admit_joined(struct sched *s, uint32_t job);
/* It is gone and nothing of it runs: its memory is free. */
void admit_left(struct sched *s, uint32_t job);
void admit_reserved(struct sched *s, uint32_t job, const struct sched_need *need);
/* The job is at a boundary: its lane may shrink, it may be moved or swapped out. */
void admit_boundary(struct sched *s, uint32_t job);
/* Its place in the queue changed, if it is pending. */
void admit_moved(struct sched *s, uint32_t job);
/* Another policy: all queues anew. */
void admit_reorder(struct sched *s);
/* It is swapped out and has something to do. */
void admit_wanted(struct sched *s, uint32_t job);
/* Nothing of it runs or waits any more, and others wait for memory. */
void admit_idled(struct sched *s);
/* Timeouts that are due; then PROCESSREQUESTS. */
void admit_look(struct sched *s);
/* If there is reason to look. */
static inline void admit_run(struct sched *s) {
    uint64_t now_ns = s->st.now_ns;
    if (s->look || now_ns >= s->admit_at || now_ns >= s->measure_at || now_ns >= s->idle_at ||
        now_ns >= s->grow_at || now_ns >= s->part_at)
        admit_look(s);
}

#endif
