/* SPDX-License-Identifier: Apache-2.0
 *
 * One run: the scheduler's own sched_step and the simulated device, in virtual time. A job joins,
 * waits for ADMIT, and offers the operations of an iteration (one operation or a sequence of
 * kernels): SUBMITTED, RUN, DONE, and at the end BOUNDARY. The next iteration begins in the same
 * step or when it is wanted; after the last the job sends LEFT. Boundaries are passed as in the
 * worker (daemon/sched/iteration_gate.h), as if the program marked the end of each iteration. A job
 * with unknown P and E asks for them once admitted, and leaves if they are denied.
 *
 * The run carries out a worker's part in the order of the actions: copies (SPILL, RESTORE,
 * SWAP_OUT, SWAP_IN) follow one another on the link, and an operation submitted after a copy begins
 * when the copy is done. It also checks the guarantees for a worker: one iteration at a time in a
 * lane, nothing before ADMIT, memory within the device.
 *
 * Owner: the caller. Threads: one. The result depends only on workload, configuration and seed.
 */
#ifndef DAEMON_SIM_RUN_SIM_H
#define DAEMON_SIM_RUN_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core/view.h"
#include "daemon/sched/sched.h"
#include "daemon/sim/base/latency.h"
#include "daemon/sim/device/kdev.h"
#include "daemon/sim/workload/workload.h"

#define SIM_CHUNK_BYTES (2ull << 20)
#define SIM_NEVER UINT64_MAX
#define SIM_WHY_BYTES 256

/* Callbacks of observers; each may be NULL. Jobs are indices into the workload. */
struct sim_watch {
    void *self;
    /* The scheduler's configuration. */
    void (*began)(void *self, const struct sched_config *config);
    void (*stepped)(void *self, uint64_t now_ns, const struct sched_event *events, uint32_t count,
                    const struct sched_actions *actions);
    void (*ran)(void *self, uint32_t job, uint32_t lane, uint64_t start_ns, uint64_t end_ns);
    /* Called at the end of a control period for each admitted job. */
    void (*controlled)(void *self, uint64_t now_ns, uint32_t job,
                       const struct sched_job_view *view);
};

/* Data of a job in a run with latency targets (slos.h). */
struct sim_slo {
    uint64_t periods, violations, stuck; /* periods with the job's own target */
    double measured_ns, error;           /* sums over these periods */
    double seen_ns, pause_ns, sms;       /* observed time, and integrals over it */
    bool noted;
    uint64_t noted_ns, now_pause_ns; /* time of the latest observation, and the values since then */
    uint32_t now_sms;
};

struct sim_config {
    struct policy_config policy;
    uint64_t seed;
    struct kdev_contention contention; /* with kernels; 0: calibrated values */
    bool check;                        /* calls sched_check after every step: O(jobs) each */
    const struct sim_watch *watches;
    uint32_t watches_count;
};

struct sim_job_result {
    uint64_t admitted_ns, first_run_ns, end_ns; /* SIM_NEVER if that did not happen */
    uint64_t busy_ns;
    uint32_t iterations;
    double latency_ns;       /* sum over the iterations, each from when it was wanted to its end */
    double part;             /* if cut: completed fraction of the next iteration, by operations */
    uint64_t behind_ns;      /* if cut: how long its oldest request had waited or run */
    struct latency *latency; /* with kernels: of its iterations, from when they were wanted */
    bool cut;                /* the job was still present when the run stopped */
    enum sched_why refused;  /* NONE: it ran to its end or was cut */
    struct sim_slo slo;
};

struct sim_result {
    struct sim_job_result *jobs;
    uint32_t count, refused;
    uint64_t begin_ns, end_ns; /* first arrival, last end */
    double busy_ns;            /* device time used */
    double active_ns;          /* time with at least one iteration running */
    double running_ns;         /* integral of the number running */
    double lanes_ns;           /* integral of the number of open lanes */
    uint64_t steps, iterations, operations, switches, copied_bytes;
    struct latency latency;  /* latency of iterations with think time and of requests */
    double latency_alone_ns; /* sum of latencies if each ran alone */
};

#endif
