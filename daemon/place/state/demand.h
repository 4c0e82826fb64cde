/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job wants, as the arithmetic of placement has it: memory split into what adds up and what
 * jobs use in turns, utilisation in millionths.
 *
 * Owner: whoever holds it. Thread: the owner's.
 */
#ifndef DAEMON_PLACE_STATE_DEMAND_H
#define DAEMON_PLACE_STATE_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/place_types.h"

#define DEMAND_BYTES_MOST ((uint64_t)1 << 46) /* 64 TiB: sums of them stay far from overflowing */

struct demand {
    uint32_t tasks, gpus;                       /* GPUs of each task */
    uint64_t util_ppm;                          /* of each GPU */
    uint64_t persistent_bytes, ephemeral_bytes; /* of each GPU; with PLACE_MEMORY_SUM all is P */
    uint64_t cpu_milli, memory_bytes;           /* of each task */
    uint64_t labels;
    enum place_kind kind;
    double slack; /* TRAINING: infinite */
    bool alone;
};

/* NULL, or why there can be no such job. */
const char *demand_fault(const struct place_job *job);
/* Whether what was measured can be: both memories 0 and utilisation 0 are "not known". */
const char *demand_measured_fault(const struct place_event *e);

struct demand demand_of(const struct place_job *job, enum place_memory memory);
void demand_set_memory(struct demand *d, uint64_t persistent_bytes, uint64_t ephemeral_bytes,
                       enum place_memory memory);
/* Both memories times `factor`, together at least `least_bytes`. */
void demand_grow(struct demand *d, double factor, uint64_t least_bytes);

/* Both memories together at most this. */
void demand_limit(struct demand *d, uint64_t most_bytes);

static inline uint64_t demand_bytes(const struct demand *d) {
    return d->persistent_bytes + d->ephemeral_bytes;
}

/* All tasks together. */
static inline uint32_t demand_gpus(const struct demand *d) {
    return d->tasks * d->gpus;
}

/* Wherever `a` fits `b` fits as well. */
bool demand_includes(const struct demand *a, const struct demand *b);

#endif
