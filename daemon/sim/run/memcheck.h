/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker would rely on, kept from the actions alone and without asking the scheduler: which
 * jobs are in which lane, how large lanes are, that one iteration at a time runs in one, of one
 * user's jobs, and that persistent memory and lanes fit the device. Every call but `all` is O(1),
 * and so is `all`.
 */
#ifndef DAEMON_SIM_RUN_MEMCHECK_H
#define DAEMON_SIM_RUN_MEMCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/workload/workload.h"

struct memcheck_lane {
    uint64_t bytes;
    uint32_t members, running;
    uint32_t user; /* of the first who came */
    bool mixed;    /* another user's job came as well */
};

struct memcheck_job {
    uint64_t persistent_bytes; /* whole chunks; 0 while it is not known or in host memory */
    uint32_t lane;
    bool known;
};

struct memcheck {
    const struct workload *w;
    uint64_t chunk_bytes; /* what persistent memory is taken in */
    struct memcheck_lane *lanes;
    struct memcheck_job *jobs;
    uint64_t persistent_bytes, lanes_bytes;
    uint32_t open;
    uint64_t now_ns;
    double lanes_ns; /* integral of the number of open lanes */
};

/* 0 or -ENOMEM. */
int memcheck_init(struct memcheck *m, const struct workload *w, uint64_t chunk_bytes);
void memcheck_finish(struct memcheck *m);

void memcheck_admitted(struct memcheck *m, uint32_t job, uint32_t lane, uint64_t now_ns);
void memcheck_left(struct memcheck *m, uint32_t job, uint64_t now_ns);
void memcheck_moved(struct memcheck *m, uint32_t job, uint32_t lane, uint64_t now_ns);
void memcheck_lane(struct memcheck *m, uint32_t lane, uint64_t bytes);
void memcheck_swapped(struct memcheck *m, uint32_t job, bool out);
void memcheck_granted(struct memcheck *m, uint32_t job);
/* An iteration is handed over: NULL, or the rule that this breaks. */
const char *memcheck_started(struct memcheck *m, uint32_t job, uint32_t lane);
void memcheck_stopped(struct memcheck *m, uint32_t lane);
/* At the end of a step: NULL, or the rule that does not hold. */
const char *memcheck_all(const struct memcheck *m);

#endif
