/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of jobs by rank, the smallest first, with the operation that each would run: a heap, so
 * that a job comes, goes or changes its rank in O(log jobs), and in O(1) where the others' places
 * are not touched. A loose one is in no order, for who looks at all of it anyway. Jobs and
 * operations are slots of the scheduler. Owner: the state, which only the scheduler's core writes;
 * policies read.
 */
#ifndef DAEMON_SCHED_QUEUE_RANKED_H
#define DAEMON_SCHED_QUEUE_RANKED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/minheap.h"
#include "daemon/sched/visit.h"

struct ranked_job {
    uint64_t rank, tie; /* of equal ranks, the smaller tie goes first */
    uint32_t op;
};

struct ranked {
    struct ranked_job *jobs; /* by job, while it is in the queue */
    struct minheap heap;
    uint32_t cap; /* jobs there is room for */
    bool loose;
};

/* Room for jobs in slots below `jobs`: 0 or -ENOMEM. */
int ranked_reserve(struct ranked *r, uint32_t jobs);
void ranked_finish(struct ranked *r);
/* The blocks (visit.h). */
bool ranked_memory(struct ranked *r, memory_visit *visit, void *arg);

/* Empty, from now on loose or not. */
void ranked_clear(struct ranked *r, bool loose);
static inline bool ranked_has(const struct ranked *r, uint32_t job) {
    return r->heap.place[job] != MINHEAP_NONE;
}

/* Whoever is at `at` goes to where its rank belongs. */
void ranked_settle(struct ranked *r, uint32_t at);

/* The job comes, or goes to where it belongs now. */
static inline void ranked_put(struct ranked *r, uint32_t job, uint64_t rank, uint64_t tie,
                              uint32_t op) {
    struct ranked_job *j = &r->jobs[job];
    uint32_t at = r->heap.place[job];
    bool moves = at == MINHEAP_NONE || rank != j->rank || tie != j->tie;
    j->rank = rank;
    j->tie = tie;
    j->op = op;
    if (at == MINHEAP_NONE) at = minheap_append(&r->heap, job);
    if (moves && !r->loose && r->heap.count > 1) ranked_settle(r, at);
}

/* The job, if it is in the queue, leaves it. */
static inline void ranked_take(struct ranked *r, uint32_t job) {
    uint32_t at = r->heap.place[job];
    if (at != MINHEAP_NONE && minheap_cut(&r->heap, at) && !r->loose) ranked_settle(r, at);
}

/* MINHEAP_NONE: the queue is empty. Not of a loose one. */
static inline uint32_t ranked_first(const struct ranked *r) {
    return r->heap.count ? r->heap.items[0] : MINHEAP_NONE;
}

/* NULL, or which invariant of the queue does not hold. */
const char *ranked_check(const struct ranked *r);

#endif
