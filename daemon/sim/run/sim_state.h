/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a run, shared by its files: the loop (sim_run.c), the jobs' events (sim_job.c), the
 * scheduler's actions (sim_action.c), and latency targets (sim_slo.c).
 */
#ifndef DAEMON_SIM_RUN_SIM_STATE_H
#define DAEMON_SIM_RUN_SIM_STATE_H

#include <errno.h>
#include <inttypes.h>

#include "daemon/sched/iteration_gate.h"
#include "daemon/sim/base/timers.h"
#include "daemon/sim/device/device.h"
#include "daemon/sim/run/memcheck.h"
#include "daemon/sim/run/sim.h"

enum sim_job_state { SIM_ABSENT, SIM_WAITING, SIM_ADMITTED, SIM_LEFT };

struct sim_job {
    uint64_t arrived_ns; /* open loop: arrival of the current or next request */
    uint64_t asked_ns;   /* when the iteration was wanted; its latency counts from here */
    uint64_t begun_ns;   /* when its client began with it */
    /* When the client launches the next operation; before plan_launch: when it turned to it. */
    uint64_t launched_ns;
    uint64_t started_ns;  /* when its first operation could begin */
    uint64_t duration_ns; /* duration of an iteration of one operation */
    uint64_t there_ns;    /* when its swapped-in memory is available */
    uint32_t iteration;   /* number of the offered or running iteration */
    uint32_t ops;         /* operations of the iteration: 1, or its kernels */
    uint32_t most_ops;    /* most of any iteration, so that each operation has a unique name */
    uint32_t sequence;    /* with kernels: the iteration's sequence in the workload */
    /* Operations offered to the scheduler, submitted to the device, ended. */
    uint32_t offered, handed, ended;
    uint32_t lane, level;
    struct iteration_gate iteration_gate; /* boundaries of iterations */
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
    struct timers ends;     /* when iterations end whose operations have ended */
    struct timers arrivals; /* when swapped-in memory is available */
    struct timers moments;  /* when boundaries are passed although no operation followed them */
    uint32_t *done;         /* jobs of which an operation or iteration ended now */
    uint32_t done_count, arrived, left, depth;
    bool slos; /* a job has a latency target */
    struct sched_event *events;
    uint32_t events_count, events_cap;
    uint64_t now_ns, armed_ns, link_free_ns;
    char *why;
};

/* Writes the sentence to s->why and returns `err`. */
__attribute__((format(printf, 3, 4))) int sim_fail(struct sim *s, int err, const char *fmt, ...);

#endif
