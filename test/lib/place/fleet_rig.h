/* SPDX-License-Identifier: Apache-2.0
 *
 * A simple placer for tests of the simulated cluster (daemon/sim/place/fleet.h). It places jobs in
 * order onto the first GPUs with capacity, or each at once onto GPUs that its id determines; and it
 * stops one job at a given time. Owner: the caller. Thread: any.
 */
#ifndef TEST_LIB_FLEET_RIG_H
#define TEST_LIB_FLEET_RIG_H

#include "daemon/sim/place/fleet.h"

#define FLEET_RIG_JOBS 4096u
#define FLEET_RIG_GPUS 256u

struct fleet_rig {
    uint32_t limit;  /* jobs on a GPU; 0: places each job at once onto fleet_rig_gpu()'s GPUs */
    uint64_t stop;   /* a job that is stopped, once */
    int64_t stop_ns; /* time of that stop */
    bool refuse;     /* refuses a job that ran out of memory */

    struct place_where gpus[FLEET_RIG_GPUS];
    uint32_t load[FLEET_RIG_GPUS];
    uint32_t gpu_count;
    uint64_t waiting[FLEET_RIG_JOBS];
    uint32_t waiting_count;
    uint32_t needs[FLEET_RIG_JOBS]; /* number of GPUs that a job needs */
    struct place_where where[FLEET_RIG_JOBS * 4];
    uint32_t first[FLEET_RIG_JOBS], where_count; /* first: index in `where` */
    struct place_action actions[FLEET_RIG_JOBS];
    uint32_t action_count;
    /* times that each job was started, has ended, and has run out of memory */
    uint32_t starts[FLEET_RIG_JOBS], ends[FLEET_RIG_JOBS], memory[FLEET_RIG_JOBS];
    struct place_event measured[FLEET_RIG_JOBS]; /* latest measurement of each job */
    uint32_t measures;                           /* measurements of all jobs */
};

/* Members that the test does not set must be 0. */
struct fleet_placer fleet_rig_placer(struct fleet_rig *rig);

/* The n-th GPU of a job where `limit` is 0. */
uint32_t fleet_rig_gpu(const struct fleet_rig *rig, uint64_t id, uint32_t n);

/* Fills `s` with nodes of two GPUs each, without jobs. */
void fleet_rig_nodes(struct jobset *s, uint32_t gpus, uint64_t gpu_bytes);

#endif
