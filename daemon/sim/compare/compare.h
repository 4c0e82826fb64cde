/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel policies beside one another: one workload under each of them and each of its jobs alone,
 * over several seeds, in the measures of the Orion paper (sections 6.1 and 6.2): latency of
 * high-priority jobs against that alone, throughput of all jobs as parts of that alone.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_SIM_COMPARE_COMPARE_H
#define DAEMON_SIM_COMPARE_COMPARE_H

#include <stdio.h>

#include "daemon/sim/report/slos.h"
#include "daemon/sim/run/sim.h"

#define COMPARE_ROWS 64
#define COMPARE_LABEL 40

/* A measure over the seeds. */
struct measure {
    double sum, squares;
    uint32_t count;
};

double measure_mean(const struct measure *m);
double measure_spread(const struct measure *m); /* standard deviation; 0 for one seed */

struct compare_job {
    struct measure p50_ns, p95_ns, p99_ns; /* latency of its iterations, from when wanted */
    struct measure p95_ratio, p99_ratio;   /* to that alone with the same arrivals */
    struct measure rate;                   /* iterations a second, the last one by its kernels */
    struct measure part;                   /* of the rate alone */
    struct measure behind_ns;              /* age of its oldest request when the run stopped */
    enum sched_why refused;                /* alone: the device is too small for it */
    /* Where somebody has a target (slos.h). */
#define X(field, decimals, heading, text) struct measure field;
    SLOS_FIELDS(X)
#undef X
};

struct compare_row {
    const char *policy;
    const char *control; /* NULL: of no interest */
    struct compare_job *jobs;
    struct measure total;    /* sum of the parts: the throughput of so many devices */
    struct measure fairness; /* Jain's index of the parts */
    struct measure used;     /* device time, of the time */
};

struct compare {
    const struct workload *w;
    struct compare_row alone; /* of its jobs only */
    struct compare_row rows[COMPARE_ROWS];
    uint32_t count;
};

struct compare_config {
    struct policy_config policy;
    struct kdev_contention contention;
    const char *policies; /* kernel policies, separated by commas; NULL: all */
    const char *controls; /* each with each of these controllers; NULL: with policy.control */
    uint64_t seed;        /* the first of */
    uint32_t seeds;
    bool check;
};

/* 0; -EINVAL, -EPROTO, -EOVERFLOW or -ENOMEM with a sentence in `why` (SIM_WHY_BYTES). */
int compare_run(struct compare *out, const struct workload *w, const struct compare_config *config,
                char *why);
void compare_finish(struct compare *c);

#endif
