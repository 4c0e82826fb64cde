/* SPDX-License-Identifier: Apache-2.0
 *
 * Admits jobs, and decides how much memory each may have.
 */
#ifndef DAEMON_SCHED_ADMISSION_ADMIT_H
#define DAEMON_SCHED_ADMISSION_ADMIT_H

#include <stdint.h>

#include "daemon/sched/core.h"

/* The job has joined: puts it into the queue, or refuses it if it can never fit. */
void admit_joined(struct sched *s, uint32_t job);
/* The job has left and no operation of it runs: frees its memory. */
void admit_left(struct sched *s, uint32_t job);
/* Sets the measured reservation of an admitted job. */
void admit_reserved(struct sched *s, uint32_t job, const struct sched_need *need);
/* The job is at a boundary: its lane may shrink, and the job may be moved or swapped out. */
void admit_boundary(struct sched *s, uint32_t job);
/* Updates the place of a pending job in the queue. */
void admit_moved(struct sched *s, uint32_t job);
/* Rebuilds all queues for a new policy. */
void admit_reorder(struct sched *s);
/* The swapped-out job has something to do. */
void admit_wanted(struct sched *s, uint32_t job);
/* A job became idle while others wait for memory. */
void admit_idled(struct sched *s);
/* Handles timeouts that are due, then runs PROCESSREQUESTS. */
void admit_look(struct sched *s);
/* Calls admit_look if anything is due. */
static inline void admit_run(struct sched *s) {
    uint64_t now_ns = s->st.now_ns;
    if (s->look || now_ns >= s->admit_at || now_ns >= s->measure_at || now_ns >= s->idle_at ||
        now_ns >= s->grow_at || now_ns >= s->part_at)
        admit_look(s);
}

#endif
