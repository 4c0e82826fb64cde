/* SPDX-License-Identifier: Apache-2.0
 *
 * Best-effort jobs on a device with slices, and which of them are preempted for a request. The list
 * holds every job that has operations on the device or is preempted. A job is preempted for at most
 * PREEMPTED_MOST_NS in a row, so that an operation that waits for its kernels (the end of its turn,
 * of the job, a move) does not wait forever when requests never end. Zeroed: empty.
 *
 * Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_PREEMPTED_JOBS_H
#define DAEMON_SCHED_POLICY_PREEMPTED_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREEMPTED_NONE UINT32_MAX
#define PREEMPTED_MOST_NS 100000000ull /* longest preemption in a row */

/* Part of a job's item. A link is a job's slot + 1; 0: none. */
struct preempted_job {
    uint32_t next, prev;
    /* Expected remaining time of its operations on the device when it was preempted. */
    uint64_t left_ns;
    bool in;
    bool stands; /* is preempted, or will be after the next answer of policy.turned */
    bool spared; /* was preempted for long enough; not again until its current kernel ends */
};

struct preempted_jobs {
    uint32_t first;    /* a link */
    uint32_t count;    /* number of preempted jobs */
    uint64_t until_ns; /* time at which all preempted jobs resume */
    bool came;         /* a request has arrived since the jobs were last looked at */
    bool look;         /* a job's state may have to be reported */
};

/* The jobs' items, each of which has a struct preempted_job at `offset`. */
struct preempted_jobs_in {
    struct preempted_jobs *all;
    void *items;
    size_t item_bytes, offset;
};

static inline struct preempted_job *preempted_job(struct preempted_jobs_in in, uint32_t job) {
    return (struct preempted_job *)((char *)in.items + job * in.item_bytes + in.offset);
}

void preempted_enter(struct preempted_jobs_in in,
                     uint32_t job); /* the job may be in the list already */
void preempted_leave(struct preempted_jobs_in in, uint32_t job);
/* Preempts or resumes the job. */
void preempted_set(struct preempted_jobs_in in, uint32_t job, bool stands, uint64_t now_ns);
/* Returns the job behind `job`, or the first for PREEMPTED_NONE; PREEMPTED_NONE at the end. */
uint32_t preempted_next(struct preempted_jobs_in in, uint32_t job);

/* Returns NULL or the first invariant of the list that fails. `jobs`: number of items. */
const char *preempted_check(struct preempted_jobs_in in, uint32_t jobs);

#endif
