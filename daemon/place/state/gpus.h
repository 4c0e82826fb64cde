/* SPDX-License-Identifier: Apache-2.0
 *
 * GPUs and the jobs on them. A job on a GPU is a struct gpus_seat, linked in a list of the GPU and
 * in a list of the job. The usage of a GPU depends only on which jobs are there, not on the order
 * in which they came: equal sets of jobs give equal states.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_GPUS_H
#define DAEMON_PLACE_STATE_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/demand.h"

#define GPUS_NONE UINT32_MAX

/* Total usage of the jobs on one GPU. */
struct gpus_use {
    uint64_t persistent_bytes; /* sum */
    uint64_t ephemeral_bytes;  /* maximum */
    uint64_t util_ppm, service_ppm;
    double slack; /* least slack of the services; without services: infinite */
    uint32_t jobs, services;
    bool alone; /* one of the jobs shares with no other */
};

#define GPUS_SOME_SHIFT 14u /* a bit of some_ppm is 1.6 % of a GPU's time */

/* Minima and maxima over a branch of an index (index.h). */
struct gpus_span {
    uint64_t least_bytes, most_bytes, least_persistent_bytes;
    uint64_t least_ppm, most_ppm;
    uint64_t most_room_ppm;
    uint64_t some_ppm;                          /* bit set of the utilisations in the branch */
    uint64_t most_cpu_milli, most_memory_bytes; /* free on the GPUs' nodes */
    uint64_t first;                             /* least `turn` */
};

struct gpu {
    uint64_t memory_bytes;
    uint64_t turn; /* order of arrival; decides among equal GPUs */
    uint32_t node, number, curve;
    struct gpus_use use;
    uint64_t room_ppm; /* a service that wants more does not fit (place_policy.h, `room`) */
    uint32_t first_seat;
    uint64_t cpu_milli, node_bytes; /* copy of the node's free resources */
    /* Maintained by index.c. */
    uint32_t kind; /* kind in the index, even if the GPU is not in a tree */
    uint32_t tree; /* number of the tree that contains the GPU; GPUS_NONE: none */
    uint32_t left, right, rank;
    uint64_t key;
    struct gpus_span span;
};

struct gpus_seat {
    uint32_t job, gpu;
    uint32_t next, before; /* in the GPU's list */
    uint32_t of_job;       /* place of the same job on its next GPU; GPUS_NONE: none */
};

struct gpus {
    struct gpu *at;
    uint32_t used, capacity, count;       /* array slots ever used, slots allocated, present GPUs */
    uint32_t free[PLACE_GPUS_A_NODE + 1]; /* per size: free blocks, linked by `left` */
    struct gpus_seat *seats;
    uint32_t seats_used, seats_capacity, seats_count, free_seat;
};

void place_gpus_init(struct gpus *g);
void place_gpus_finish(struct gpus *g);
/* Reserves `more` more GPU slots, and `seats` places of jobs on GPUs in total. Returns 0 or
 * -ENOMEM. */
int gpus_reserve(struct gpus *g, uint64_t more, uint64_t seats);

/* Allocates a block of consecutive slots; memory must be reserved. The caller fills them in. */
uint32_t gpus_add(struct gpus *g, uint32_t count);
void gpus_remove(struct gpus *g, uint32_t first, uint32_t count);

/* Puts the job on the GPU; `of_job` is the job's place on its next GPU. */
uint32_t gpus_sit(struct gpus *g, uint32_t gpu, uint32_t job, uint32_t of_job);
void gpus_rise(struct gpus *g, uint32_t seat);

static inline uint32_t gpus_some_bit(uint64_t ppm) {
    return ppm >> GPUS_SOME_SHIFT < 63 ? (uint32_t)(ppm >> GPUS_SOME_SHIFT) : 63;
}

/* The highest utilisation in a branch that is at most `most_ppm`, or an upper estimate of it;
 * UINT64_MAX if there is none. */
uint64_t gpus_span_below(const struct gpus_span *span, uint64_t most_ppm);

static inline uint64_t gpus_bytes(const struct gpus_use *use) {
    return use->persistent_bytes + use->ephemeral_bytes;
}

/* gpus_use_none is an empty GPU's usage; gpus_use_add adds one job. */
struct gpus_use gpus_use_none(void);
void gpus_use_add(struct gpus_use *use, const struct demand *d);

#endif
