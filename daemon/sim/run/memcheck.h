/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the guarantees that a worker relies on, from the actions alone and without asking the
 * scheduler. It tracks the jobs and sizes of lanes. It checks that one iteration at a time runs in
 * a lane, and that a lane's jobs belong to one user. It also checks that persistent memory and
 * lanes fit the device. Every call is O(1), including memcheck_all.
 */
#ifndef DAEMON_SIM_RUN_MEMCHECK_H
#define DAEMON_SIM_RUN_MEMCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/workload/workload.h"

struct memcheck_lane {
    uint64_t bytes;
    uint32_t members, running;
    uint32_t user; /* user of the first job in the lane */
    bool mixed;    /* another user's job joined as well */
};

struct memcheck_job {
    uint64_t persistent_bytes; /* whole chunks; 0 while unknown or in host memory */
    uint32_t lane;
    bool known;
};

struct memcheck {
    const struct workload *w;
    uint64_t chunk_bytes; /* allocation unit of persistent memory */
    struct memcheck_lane *lanes;
    struct memcheck_job *jobs;
    uint64_t persistent_bytes, lanes_bytes;
    uint32_t open;
    uint64_t now_ns;
    double lanes_ns; /* integral of the number of open lanes */
};

/* Returns 0 or -ENOMEM. */
int memcheck_init(struct memcheck *m, const struct workload *w, uint64_t chunk_bytes);
void memcheck_finish(struct memcheck *m);

void memcheck_admitted(struct memcheck *m, uint32_t job, uint32_t lane, uint64_t now_ns);
void memcheck_left(struct memcheck *m, uint32_t job, uint64_t now_ns);
void memcheck_moved(struct memcheck *m, uint32_t job, uint32_t lane, uint64_t now_ns);
void memcheck_lane(struct memcheck *m, uint32_t lane, uint64_t bytes);
void memcheck_swapped(struct memcheck *m, uint32_t job, bool out);
void memcheck_granted(struct memcheck *m, uint32_t job);
/* Called when an iteration is submitted. Returns NULL, or the violated rule. */
const char *memcheck_started(struct memcheck *m, uint32_t job, uint32_t lane);
void memcheck_stopped(struct memcheck *m, uint32_t lane);
/* Called at the end of a step. Returns NULL, or the violated rule. */
const char *memcheck_all(const struct memcheck *m);

#endif
