/* SPDX-License-Identifier: Apache-2.0
 *
 * Demand of a job for the arithmetic of placement: memory is split into the part that adds up and
 * the part that jobs use in turns; utilisation is in millionths.
 *
 * Owner: the holder. Thread: the owner's.
 */
#ifndef DAEMON_PLACE_STATE_DEMAND_H
#define DAEMON_PLACE_STATE_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/place_types.h"

#define DEMAND_BYTES_MOST ((uint64_t)1 << 46) /* 64 TiB: sums of sizes stay far from overflow */

struct demand {
    uint32_t tasks, gpus; /* GPUs per task */
    uint64_t util_ppm;    /* per GPU */
    /* Per GPU; with PLACE_MEMORY_SUM all memory is persistent. */
    uint64_t persistent_bytes, ephemeral_bytes;
    uint64_t cpu_milli, memory_bytes; /* per task */
    uint64_t labels;
    enum place_kind kind;
    double slack; /* TRAINING: infinite */
    bool alone;
};

/* NULL, or why the job is invalid. */
const char *demand_fault(const struct place_job *job);
/* NULL, or why a measurement is invalid. Both memories 0, and utilisation 0, mean "not known". */
const char *demand_measured_fault(const struct place_event *e);

struct demand demand_of(const struct place_job *job, enum place_memory memory);
void demand_set_memory(struct demand *d, uint64_t persistent_bytes, uint64_t ephemeral_bytes,
                       enum place_memory memory);
/* Multiplies both memories by `factor`; their sum becomes at least `least_bytes`. */
void demand_grow(struct demand *d, double factor, uint64_t least_bytes);

/* Limits the sum of both memories. */
void demand_limit(struct demand *d, uint64_t most_bytes);

static inline uint64_t demand_bytes(const struct demand *d) {
    return d->persistent_bytes + d->ephemeral_bytes;
}

/* GPUs of all tasks. */
static inline uint32_t demand_gpus(const struct demand *d) {
    return d->tasks * d->gpus;
}

/* True if `b` fits wherever `a` fits. */
bool demand_includes(const struct demand *a, const struct demand *b);

#endif
