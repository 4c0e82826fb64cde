/* SPDX-License-Identifier: Apache-2.0
 *
 * The best-effort jobs that have an operation to run, organised so that slack finds the next one
 * without examining all. A job is in one place at a time:
 *
 *   COPIES   a memory operation of it may run: ordered by turn (classes_turn)
 *   ASLEEP   its stream is busy until a known time: ordered by that time
 *   AWAKE    its kernel may run if there is space for it; kernels with equal resources form a kind,
 *            which its first job by turn represents
 *
 * Any change marks a job, and the next search places the marked jobs. Queues are pairing heaps
 * whose links are in the jobs' items, so that nothing is allocated: inserting costs O(1), removing
 * any job O(log jobs), amortised. Kinds are in lists by the slots that they need, so that a search
 * skips those for which there is no space. Zeroed: empty.
 *
 * Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_CANDIDATE_QUEUE_H
#define DAEMON_SCHED_POLICY_CANDIDATE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/policy/forecast.h"

#define CANDIDATE_NONE UINT32_MAX
#define CANDIDATE_LISTS 64u      /* number of lists of kinds */
#define CANDIDATE_LIST_SLOTS 16u /* thousandths of the slots that a list covers */

enum candidate_place { CANDIDATE_NOWHERE, CANDIDATE_COPIES, CANDIDATE_ASLEEP, CANDIDATE_AWAKE };

/* The head of a job's item. A link is a job's slot + 1; 0: none. */
struct candidate_job {
    uint64_t key;                  /* turn of the job, or end of its sleep */
    uint32_t child, next, prev;    /* prev: left sibling, or the parent of a leftmost child */
    uint32_t next_kind, prev_kind; /* root of AWAKE: neighbours in its list */
    uint32_t next_marked;
    uint8_t place; /* enum candidate_place */
    bool marked;
    struct forecast_use use; /* ASLEEP, AWAKE: resources of its kernel */
};

struct candidate_queue {
    uint32_t copies, asleep, marked; /* links: two roots, and the head of a list */
    uint32_t awake;                  /* number of awake jobs */
    uint64_t lists;                  /* a bit for each list that is not empty */
    uint32_t kinds[CANDIDATE_LISTS]; /* links: lists of the roots of heaps */
};

/* The jobs' items, each of which begins with a struct candidate_job. */
struct candidate_queue_in {
    struct candidate_queue *all;
    void *items;
    size_t item_bytes;
};

static inline struct candidate_job *candidate_job(struct candidate_queue_in in, uint32_t job) {
    return (struct candidate_job *)((char *)in.items + job * in.item_bytes);
}

/* Marks the job for a new placement. */
void candidate_mark(struct candidate_queue_in in, uint32_t job);
/* Removes and returns a marked job; CANDIDATE_NONE: none is marked. */
uint32_t candidate_marked(struct candidate_queue_in in);

/* Removes the job from its place, if it has one. */
void candidate_take(struct candidate_queue_in in, uint32_t job);
/* Each of these puts a job that has no place into one. */
void candidate_copy(struct candidate_queue_in in, uint32_t job, uint64_t turn);
void candidate_sleep(struct candidate_queue_in in, uint32_t job, uint64_t until_ns,
                     struct forecast_use use);
void candidate_wake(struct candidate_queue_in in, uint32_t job, uint64_t turn,
                    struct forecast_use use);

/* The first job of COPIES, of ASLEEP; CANDIDATE_NONE: none. */
static inline uint32_t candidate_first_copy(const struct candidate_queue *w) {
    return w->copies - 1;
}
static inline uint32_t candidate_first_asleep(const struct candidate_queue *w) {
    return w->asleep - 1;
}

/* The first jobs of the kinds in a list, one after the other; CANDIDATE_NONE at the end. */
static inline uint32_t candidate_kind(const struct candidate_queue *w, uint32_t list) {
    return w->kinds[list] - 1;
}
static inline uint32_t candidate_next_kind(struct candidate_queue_in in, uint32_t job) {
    return candidate_job(in, job)->next_kind - 1;
}

/* The lists with kinds for which `slots` may be enough, a bit for each. */
static inline uint64_t candidate_lists(const struct candidate_queue *w, uint32_t slots) {
    uint32_t last = slots / CANDIDATE_LIST_SLOTS;
    return last >= CANDIDATE_LISTS - 1 ? w->lists : w->lists & ((2ull << last) - 1);
}

/* Returns NULL or the first invariant of the places that fails. `jobs`: number of items. */
const char *candidate_check(struct candidate_queue_in in, uint32_t jobs);

#endif
