/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of jobs by rank, the smallest first, with the operation that each would run. A heap: a
 * job enters, leaves or changes its rank in O(log jobs), and in O(1) if no other job moves. A loose
 * queue is unordered, for a caller that scans all of it anyway. Jobs and operations are slots of
 * the scheduler. Owner: the state, which only the scheduler's core writes; policies read.
 */
#ifndef DAEMON_SCHED_QUEUE_RANKED_H
#define DAEMON_SCHED_QUEUE_RANKED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/minheap.h"
#include "daemon/sched/visit.h"

struct ranked_job {
    uint64_t rank, tie; /* among equal ranks the smaller tie goes first */
    uint32_t op;
};

struct ranked {
    struct ranked_job *jobs; /* by job; valid while the job is in the queue */
    struct minheap heap;
    uint32_t cap; /* number of jobs allocated */
    bool loose;
};

/* Allocates slots for jobs below `jobs`. Returns 0 or -ENOMEM. */
int ranked_reserve(struct ranked *r, uint32_t jobs);
void ranked_finish(struct ranked *r);
/* Visits the blocks (visit.h). */
bool ranked_memory(struct ranked *r, memory_visit *visit, void *arg);

/* Empties the queue and makes it loose or not. */
void ranked_clear(struct ranked *r, bool loose);
static inline bool ranked_has(const struct ranked *r, uint32_t job) {
    return r->heap.place[job] != MINHEAP_NONE;
}

/* Moves the job at heap position `at` to where its rank belongs. */
void ranked_settle(struct ranked *r, uint32_t at);

/* Inserts the job, or moves it to its new place. */
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

/* Removes the job if it is in the queue. */
static inline void ranked_take(struct ranked *r, uint32_t job) {
    uint32_t at = r->heap.place[job];
    if (at != MINHEAP_NONE && minheap_cut(&r->heap, at) && !r->loose) ranked_settle(r, at);
}

/* The first job; MINHEAP_NONE: the queue is empty. Not for a loose queue. */
static inline uint32_t ranked_first(const struct ranked *r) {
    return r->heap.count ? r->heap.items[0] : MINHEAP_NONE;
}

/* Returns NULL or the first invariant that fails. */
const char *ranked_check(const struct ranked *r);

#endif
