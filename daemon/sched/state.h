/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler knows: jobs, and their waiting operations in order of arrival. Jobs and
 * operations live in arrays and are named by slot, so that growing moves them without trouble.
 * Policies read this; only sched.c writes it.
 */
#ifndef DAEMON_SCHED_STATE_H
#define DAEMON_SCHED_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/jobmap.h"
#include "daemon/sched/sched.h"

/* 1: every step ends with sched_check and aborts when it fails. Costs O(state) a step. */
#ifndef SCHED_CHECK
#ifdef __SANITIZE_ADDRESS__
#define SCHED_CHECK 1
#else
#define SCHED_CHECK 0
#endif
#endif

#define SCHED_NONE UINT32_MAX

/* A job's waiting operations: those that occupy the device, and those that do not. */
enum sched_list { SCHED_UNCOUNTED, SCHED_COUNTED, SCHED_LISTS };

struct sched_op {
    uint64_t name, arrival;
    uint32_t job; /* slot; SCHED_NONE while the entry is free */
    uint32_t prev, next;
    enum sched_list list;
};

struct sched_job {
    uint32_t id, weight;
    uint32_t inflight; /* counted operations on the device: never above the cap */
    uint32_t running;  /* all operations on the device */
    uint32_t waiting;
    uint32_t head[SCHED_LISTS], tail[SCHED_LISTS];
    bool used, left;
    uint32_t next_free;
};

struct sched_state {
    uint64_t now_ns;
    uint64_t arrivals; /* numbers operations in order of arrival */
    uint32_t cap;
    struct sched_job *jobs;
    struct sched_op *ops;
    uint32_t jobs_cap, jobs_used, ops_cap, ops_used;
    uint32_t waiting, running;
    uint32_t free_job, free_op;
    struct jobmap map;
};

/* The oldest operation of the list that may run now, or SCHED_NONE. */
static inline uint32_t state_runnable(const struct sched_state *st, uint32_t job,
                                      enum sched_list list) {
    const struct sched_job *j = &st->jobs[job];
    if (list == SCHED_COUNTED && j->inflight >= st->cap) return SCHED_NONE;
    return j->head[list];
}

/* Every invariant of the state and of the policy: NULL, or the one that does not hold. */
const char *sched_check(const struct sched *s);
const struct sched_state *sched_view(const struct sched *s);

#endif
