/* SPDX-License-Identifier: Apache-2.0
 *
 * A plain placer for tests of the cluster's world (daemon/sim/place/fleet.h): jobs in order onto
 * the first GPUs that have room, or each at once onto GPUs that follow from its name; and one job
 * that is stopped at a moment.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef TEST_LIB_FLEET_RIG_H
#define TEST_LIB_FLEET_RIG_H

#include "daemon/sim/place/fleet.h"

#define FLEET_RIG_JOBS 4096u
#define FLEET_RIG_GPUS 256u

struct fleet_rig {
    uint32_t limit;  /* jobs on a GPU; 0: each job at once onto fleet_rig_gpu()'s */
    uint64_t stop;   /* a job that is stopped, once */
    int64_t stop_ns; /* then */
    bool refuse;     /* who had not the memory is refused */

    struct place_where gpus[FLEET_RIG_GPUS];
    uint32_t load[FLEET_RIG_GPUS];
    uint32_t gpu_count;
    uint64_t waiting[FLEET_RIG_JOBS];
    uint32_t waiting_count;
    uint32_t needs[FLEET_RIG_JOBS]; /* GPUs */
    struct place_where where[FLEET_RIG_JOBS * 4];
    uint32_t first[FLEET_RIG_JOBS], where_count; /* in `where` */
    struct place_action actions[FLEET_RIG_JOBS];
    uint32_t action_count;
    uint32_t starts[FLEET_RIG_JOBS], ends[FLEET_RIG_JOBS], memory[FLEET_RIG_JOBS];
    struct place_event measured[FLEET_RIG_JOBS]; /* the latest */
    uint32_t measures;
};

/* All zero but what is said of it. */
struct fleet_placer fleet_rig_placer(struct fleet_rig *rig);

/* The n-th GPU of a job where `limit` is 0. */
uint32_t fleet_rig_gpu(const struct fleet_rig *rig, uint64_t id, uint32_t n);

/* Two GPUs a node: a set without jobs. */
void fleet_rig_nodes(struct jobset *s, uint32_t gpus, uint64_t gpu_bytes);

#endif
