/* SPDX-License-Identifier: Apache-2.0
 *
 * Best-effort jobs that have something on a device with slices, and which of them stand still there
 * for a request. The list has everyone who has something there or stands still. A job stands still
 * for no longer than a while in a row: whoever waits for what it has on the device (the end of its
 * turn, of the job, a move) does not wait for ever, though requests never end. Zeroed, all is
 * empty.
 *
 * Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_STAND_H
#define DAEMON_SCHED_POLICY_STAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAND_NONE UINT32_MAX
#define STAND_MOST_NS 100000000ull /* in a row */

/* Of a job's item. A link names a job by its slot + 1; 0: none. */
struct stand_job {
    uint32_t next, prev;
    uint64_t left_ns; /* what it had on the device was to take, when it began to stand */
    bool in;
    bool stands; /* or is to, with the next answer of stand_turned */
    bool spared; /* it stood for long enough, until the kernel that did ends */
};

struct stand {
    uint32_t first;    /* a link */
    uint32_t count;    /* how many stand */
    uint64_t until_ns; /* while some do: they all go on */
    bool came;         /* a request, since the last answer */
    bool look;         /* somebody may have to be told */
};

/* The jobs' items, each of which has a struct stand_job at `offset`. */
struct stand_in {
    struct stand *all;
    void *items;
    size_t item_bytes, offset;
};

static inline struct stand_job *stand_job(struct stand_in in, uint32_t job) {
    return (struct stand_job *)((char *)in.items + job * in.item_bytes + in.offset);
}

void stand_enter(struct stand_in in, uint32_t job); /* no matter if it is there */
void stand_leave(struct stand_in in, uint32_t job);
/* The job is to stand still from now on, or is not. */
void stand_set(struct stand_in in, uint32_t job, bool stands, uint64_t now_ns);
/* The one behind `job`, the first for STAND_NONE; STAND_NONE. */
uint32_t stand_next(struct stand_in in, uint32_t job);

/* NULL, or which invariant of the list does not hold; `jobs`: items. */
const char *stand_check(struct stand_in in, uint32_t jobs);

#endif
