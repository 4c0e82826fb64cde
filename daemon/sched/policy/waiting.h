/* SPDX-License-Identifier: Apache-2.0
 *
 * The best-effort jobs that have an operation to run, so that slack finds the next one without
 * asking every one of them. A job is in one place at a time:
 *
 *   COPIES   a memory operation of it may go: by turn (classes_turn)
 *   ASLEEP   its stream is busy until a time: by that time
 *   AWAKE    its kernel may go if there is room for it: kernels that take the same of the device
 *            are a kind, of which the first by turn speaks for all
 *
 * Whatever happens to a job it is marked, and placed when somebody is asked for. Queues are pairing
 * heaps whose links lie in the jobs' items, so that nothing is ever allocated: to put a job in
 * costs O(1), to take any out O(log jobs), amortised. Kinds are in lists by the slots that they
 * need, so that those for which there is no room are not looked at. Zeroed, all is empty.
 *
 * Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_WAITING_H
#define DAEMON_SCHED_POLICY_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/policy/forecast.h"

#define WAITING_NONE UINT32_MAX
#define WAITING_LISTS 64u      /* of kinds */
#define WAITING_LIST_SLOTS 16u /* a list has kinds that need so many slots, in thousandths */

enum waiting_place { WAITING_NOWHERE, WAITING_COPIES, WAITING_ASLEEP, WAITING_AWAKE };

/* The head of a job's item. A link names a job by its slot + 1; 0: none. */
struct waiting_job {
    uint64_t key;                  /* its turn, or until when it sleeps */
    uint32_t child, next, prev;    /* prev: left sibling, or the parent of a leftmost child */
    uint32_t next_kind, prev_kind; /* of a root of AWAKE: in its list */
    uint32_t next_marked;
    uint8_t place; /* enum waiting_place */
    bool marked;
    struct forecast_use use; /* ASLEEP, AWAKE: what its kernel takes */
};

struct waiting {
    uint32_t copies, asleep, marked; /* roots, and a list: links */
    uint32_t awake;                  /* how many jobs are */
    uint64_t lists;                  /* a bit for each that is not empty */
    uint32_t kinds[WAITING_LISTS];   /* roots of heaps, in lists: links */
};

/* The jobs' items, each of which begins with a struct waiting_job. */
struct waiting_in {
    struct waiting *all;
    void *items;
    size_t item_bytes;
};

static inline struct waiting_job *waiting_job(struct waiting_in in, uint32_t job) {
    return (struct waiting_job *)((char *)in.items + job * in.item_bytes);
}

/* The job is to be placed anew. */
void waiting_mark(struct waiting_in in, uint32_t job);
/* One that is marked, and is no longer; WAITING_NONE. */
uint32_t waiting_marked(struct waiting_in in);

/* Out of its place, if it has one. */
void waiting_take(struct waiting_in in, uint32_t job);
/* Into one; it has none. */
void waiting_copy(struct waiting_in in, uint32_t job, uint64_t turn);
void waiting_sleep(struct waiting_in in, uint32_t job, uint64_t until_ns, struct forecast_use use);
void waiting_wake(struct waiting_in in, uint32_t job, uint64_t turn, struct forecast_use use);

/* The first of COPIES, of ASLEEP; WAITING_NONE. */
static inline uint32_t waiting_first_copy(const struct waiting *w) {
    return w->copies - 1;
}
static inline uint32_t waiting_first_asleep(const struct waiting *w) {
    return w->asleep - 1;
}

/* The first jobs of the kinds in a list, one after the other; WAITING_NONE. */
static inline uint32_t waiting_kind(const struct waiting *w, uint32_t list) {
    return w->kinds[list] - 1;
}
static inline uint32_t waiting_next_kind(struct waiting_in in, uint32_t job) {
    return waiting_job(in, job)->next_kind - 1;
}

/* The lists that have kinds for which `slots` may be enough, a bit each. */
static inline uint64_t waiting_lists(const struct waiting *w, uint32_t slots) {
    uint32_t last = slots / WAITING_LIST_SLOTS;
    return last >= WAITING_LISTS - 1 ? w->lists : w->lists & ((2ull << last) - 1);
}

/* NULL, or which invariant of the places does not hold; `jobs`: items. */
const char *waiting_check(struct waiting_in in, uint32_t jobs);

#endif
