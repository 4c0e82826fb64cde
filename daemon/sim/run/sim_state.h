/* SPDX-License-Identifier: Apache-2.0
 *
 * A run while it goes on, which its files share: the loop (sim_run.c), what jobs say (sim_job.c),
 * what the scheduler's actions come to (sim_action.c), targets of latency (sim_slo.c).
 */
#ifndef DAEMON_SIM_RUN_SIM_STATE_H
#define DAEMON_SIM_RUN_SIM_STATE_H

#include <errno.h>
#include <inttypes.h>

#include "daemon/sched/passage.h"
#include "daemon/sim/base/timers.h"
#include "daemon/sim/device/device.h"
#include "daemon/sim/run/memcheck.h"
#include "daemon/sim/run/sim.h"

enum sim_job_state { SIM_ABSENT, SIM_WAITING, SIM_ADMITTED, SIM_LEFT };

struct sim_job {
    uint64_t arrived_ns;  /* open loop: when the request that is served next, or now, came */
    uint64_t asked_ns;    /* when the iteration was wanted: its latency counts from here */
    uint64_t begun_ns;    /* and when its client began with it */
    uint64_t launched_ns; /* and with what leads to the launch of its next operation */
    uint64_t started_ns;  /* its first operation could begin */
    uint64_t duration_ns; /* of the iteration, where it is one operation */
    uint64_t there_ns;    /* its memory, which was swapped in */
    uint32_t iteration;   /* of its program: the one that is offered or runs */
    uint32_t ops;         /* of the iteration: 1, or kernels */
    uint32_t most_ops;    /* of any, so that each operation has a name of its own */
    uint32_t sequence;    /* of the workload, with kernels: of the iteration */
    uint32_t offered, handed, ended; /* of its operations: to the scheduler, to the device */
    uint32_t lane, level;
    struct passage passage; /* what the scheduler is told of iterations */
    uint8_t state;
    bool asks;
    bool waits; /* in `moments` */
    bool comes; /* in `arrivals` */
};

struct sim {
    const struct workload *w;
    const struct sim_config *config;
    struct sim_result *r;
    struct sched *sched;
    struct device *dev;
    struct memcheck mem;
    struct sim_job *jobs;
    struct sched_spec *specs;
    struct timers offers;   /* when jobs offer their next operation */
    struct timers ends;     /* when iterations are over whose operations have ended */
    struct timers arrivals; /* when memory that was swapped in is there */
    struct timers moments;  /* when boundaries are passed though no operation came behind them */
    uint32_t *done;         /* jobs of which something ended now */
    uint32_t done_count, arrived, left, depth;
    bool slos; /* somebody has a target */
    struct sched_event *events;
    uint32_t events_count, events_cap;
    uint64_t now_ns, armed_ns, link_free_ns;
    char *why;
};

/* Writes the sentence to s->why and returns `err`. */
__attribute__((format(printf, 3, 4))) int sim_fail(struct sim *s, int err, const char *fmt, ...);

#endif
