/* SPDX-License-Identifier: Apache-2.0
 *
 * GPUs, and who is on them. A job on a GPU is a seat, in a list of that GPU and in one of that job.
 * What jobs on a GPU use together depends on who they are alone, not on the order in which they
 * came: whatever led to a state, it is the same state.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_GPUS_H
#define DAEMON_PLACE_STATE_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/demand.h"

#define GPUS_NONE UINT32_MAX

/* What jobs on one GPU use together. */
struct gpus_use {
    uint64_t persistent_bytes; /* summed */
    uint64_t ephemeral_bytes;  /* the largest */
    uint64_t util_ppm, service_ppm;
    double slack; /* the least of services; none: infinite */
    uint32_t jobs, services;
    bool alone; /* one that shares with nobody */
};

#define GPUS_SOME_SHIFT 14u /* a bit of some_ppm is 1.6 % of a GPU's time */

/* The least and the most in a branch of an index (index.h). */
struct gpus_span {
    uint64_t least_bytes, most_bytes, least_persistent_bytes;
    uint64_t least_ppm, most_ppm;
    uint64_t most_room_ppm;
    uint64_t some_ppm;                          /* where there is a utilisation, as bits */
    uint64_t most_cpu_milli, most_memory_bytes; /* free, of nodes */
    uint64_t first;                             /* least `turn` */
};

struct gpu {
    uint64_t memory_bytes;
    uint64_t turn; /* the order in which GPUs came: decides among equals */
    uint32_t node, number, curve;
    struct gpus_use use;
    uint64_t room_ppm; /* a service that wants more does not fit (place_policy.h, `room`) */
    uint32_t first_seat;
    uint64_t cpu_milli, node_bytes; /* free, of its node: a copy */
    /* index.c's */
    uint32_t kind; /* of the index, whether it is in it or not */
    uint32_t tree; /* of its kind, the one that it is in; GPUS_NONE: none */
    uint32_t left, right, rank;
    uint64_t key;
    struct gpus_span span;
};

struct gpus_seat {
    uint32_t job, gpu;
    uint32_t next, before; /* of the GPU's */
    uint32_t of_job;       /* the job's next one */
};

struct gpus {
    struct gpu *at;
    uint32_t used, capacity, count;       /* places ever used, in the array; GPUs that are there */
    uint32_t free[PLACE_GPUS_A_NODE + 1]; /* blocks of so many, linked by `left` */
    struct gpus_seat *seats;
    uint32_t seats_used, seats_capacity, seats_count, free_seat;
};

void place_gpus_init(struct gpus *g);
void place_gpus_finish(struct gpus *g);
/* So many more places, and room for so many seats in all. 0 or -ENOMEM. */
int gpus_reserve(struct gpus *g, uint64_t more, uint64_t seats);

/* A block of places, one behind the other; room must be reserved. What is in them is the caller's
 * to say. */
uint32_t gpus_add(struct gpus *g, uint32_t count);
void gpus_remove(struct gpus *g, uint32_t first, uint32_t count);

/* A seat of this job, whose next one is `of_job`. */
uint32_t gpus_sit(struct gpus *g, uint32_t gpu, uint32_t job, uint32_t of_job);
void gpus_rise(struct gpus *g, uint32_t seat);

static inline uint32_t gpus_some_bit(uint64_t ppm) {
    return ppm >> GPUS_SOME_SHIFT < 63 ? (uint32_t)(ppm >> GPUS_SOME_SHIFT) : 63;
}

/* The highest utilisation of a branch that is no more than `most_ppm`, or somewhat above it;
 * UINT64_MAX: there is none. */
uint64_t gpus_span_below(const struct gpus_span *span, uint64_t most_ppm);

static inline uint64_t gpus_bytes(const struct gpus_use *use) {
    return use->persistent_bytes + use->ephemeral_bytes;
}

/* Nobody on it; then one more. */
struct gpus_use gpus_use_none(void);
void gpus_use_add(struct gpus_use *use, const struct demand *d);

#endif
