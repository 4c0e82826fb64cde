/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of jobs by rank, the smallest first, with the operation that each would run: a heap, so
 * that a job comes, goes or changes its rank in O(log jobs), and in O(1) where the others' places
 * are not touched. Jobs and operations are slots of the scheduler. Owner: the state, which only the
 * scheduler's core writes; policies read.
 */
#ifndef DAEMON_SCHED_QUEUE_RANKED_H
#define DAEMON_SCHED_QUEUE_RANKED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/minheap.h"
#include "daemon/sched/visit.h"

struct ranked_job {
    uint64_t rank;
    uint32_t op;
};

struct ranked {
    struct ranked_job *jobs; /* by job, while it is in the queue */
    struct minheap heap;
    uint32_t cap; /* jobs there is room for */
};

/* Room for jobs in slots below `jobs`: 0 or -ENOMEM. */
int ranked_reserve(struct ranked *r, uint32_t jobs);
void ranked_finish(struct ranked *r);
/* The blocks (visit.h). */
bool ranked_memory(struct ranked *r, memory_visit *visit, void *arg);

void ranked_clear(struct ranked *r);
static inline bool ranked_has(const struct ranked *r, uint32_t job) {
    return r->heap.place[job] != MINHEAP_NONE;
}

static inline bool ranked_before(const void *keys, uint32_t a, uint32_t b) {
    const struct ranked_job *jobs = keys;
    return jobs[a].rank < jobs[b].rank;
}

/* The job comes, or goes to where it belongs now. */
static inline void ranked_put(struct ranked *r, uint32_t job, uint64_t rank, uint32_t op) {
    struct ranked_job *j = &r->jobs[job];
    uint32_t at = r->heap.place[job];
    bool moves = rank != j->rank;
    j->rank = rank;
    j->op = op;
    if (at == MINHEAP_NONE)
        minheap_add(&r->heap, job, ranked_before, r->jobs);
    else if (moves)
        minheap_settle(&r->heap, at, ranked_before, r->jobs);
}

/* The job, if it is in the queue, leaves it. */
static inline void ranked_take(struct ranked *r, uint32_t job) {
    if (ranked_has(r, job)) minheap_remove(&r->heap, r->heap.place[job], ranked_before, r->jobs);
}

/* MINHEAP_NONE: the queue is empty. */
static inline uint32_t ranked_first(const struct ranked *r) {
    return r->heap.count ? r->heap.items[0] : MINHEAP_NONE;
}

/* NULL, or which invariant of the queue does not hold. */
const char *ranked_check(const struct ranked *r);

#endif
