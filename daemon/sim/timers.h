/* SPDX-License-Identifier: Apache-2.0
 *
 * A heap of (time, job), at most one a job. The caller gives the room. Equal times come out by job.
 */
#ifndef DAEMON_SIM_TIMERS_H
#define DAEMON_SIM_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct timer {
    uint64_t at_ns;
    uint32_t job;
};

struct timers {
    struct timer *heap;
    uint32_t count;
};

static inline bool timers_before(const struct timer *a, const struct timer *b) {
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->job < b->job);
}

static inline uint64_t timers_next(const struct timers *t) {
    return t->count ? t->heap[0].at_ns : UINT64_MAX;
}

static inline void timers_add(struct timers *t, uint64_t at_ns, uint32_t job) {
    struct timer item = {at_ns, job};
    uint32_t i = t->count++;
    for (; i > 0 && timers_before(&item, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = item;
}

static inline uint32_t timers_take(struct timers *t) {
    uint32_t job = t->heap[0].job, i = 0;
    struct timer item = t->heap[--t->count];
    for (uint32_t child; (child = 2 * i + 1) < t->count; i = child) {
        if (child + 1 < t->count && timers_before(&t->heap[child + 1], &t->heap[child])) child++;
        if (!timers_before(&t->heap[child], &item)) break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = item;
    return job;
}

#endif
