/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of times, at most one per job. Equal times are ordered by job.
 */
#ifndef DAEMON_SIM_BASE_TIMERS_H
#define DAEMON_SIM_BASE_TIMERS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/minheap.h"

struct timers {
    struct minheap jobs;
    uint64_t *at_ns; /* indexed by job */
};

static inline bool timers_before(const void *keys, uint32_t a, uint32_t b) {
    const uint64_t *at_ns = keys;
    return at_ns[a] == at_ns[b] ? a < b : at_ns[a] < at_ns[b];
}

/* Returns 0 or -ENOMEM; timers_finish is required in either case. */
static inline int timers_init(struct timers *t, uint32_t jobs) {
    *t = (struct timers){.jobs = {.items = malloc((jobs + 1u) * sizeof(*t->jobs.items))},
                         .at_ns = malloc((jobs + 1u) * sizeof(*t->at_ns))};
    return t->jobs.items && t->at_ns ? 0 : -ENOMEM;
}

static inline void timers_finish(struct timers *t) {
    free(t->jobs.items);
    free(t->at_ns);
}

static inline uint64_t timers_next(const struct timers *t) {
    return t->jobs.count ? t->at_ns[t->jobs.items[0]] : UINT64_MAX;
}

static inline void timers_add(struct timers *t, uint64_t at_ns, uint32_t job) {
    t->at_ns[job] = at_ns;
    minheap_add(&t->jobs, job, timers_before, t->at_ns);
}

static inline uint32_t timers_take(struct timers *t) {
    return minheap_take(&t->jobs, timers_before, t->at_ns);
}

#endif
