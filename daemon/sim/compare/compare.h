/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares kernel policies: runs one workload under each of them and each of its jobs alone, over
 * several seeds. The measures are those of the Orion paper (sections 6.1 and 6.2): latency of
 * high-priority jobs relative to alone, and throughput of all jobs relative to alone.
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

/* A value over the seeds. */
struct measure {
    double sum, squares;
    uint32_t count;
};

double measure_mean(const struct measure *m);
double measure_spread(const struct measure *m); /* standard deviation; 0 for one seed */

struct compare_job {
    /* Latency of its iterations, from when they were wanted. */
    struct measure p50_ns, p95_ns, p99_ns;
    struct measure p95_ratio, p99_ratio; /* relative to alone with the same arrivals */
    struct measure rate; /* iterations per second; the last one counts by its completed kernels */
    struct measure part; /* rate relative to alone */
    struct measure behind_ns; /* age of its oldest request when the run stopped */
    enum sched_why refused;   /* refused even alone, because the device is too small */
    /* Only if a job has a latency target (slos.h). */
#define X(field, decimals, heading, text) struct measure field;
    SLOS_FIELDS(X)
#undef X
};

struct compare_row {
    const char *policy;
    const char *control; /* NULL: not compared */
    struct compare_job *jobs;
    struct measure total;    /* sum of the jobs' relative rates: throughput in numbers of devices */
    struct measure fairness; /* Jain's index of the relative rates */
    struct measure used;     /* device time relative to elapsed time */
};

struct compare {
    const struct workload *w;
    struct compare_row alone; /* only its jobs are used */
    struct compare_row rows[COMPARE_ROWS];
    uint32_t count;
};

struct compare_config {
    struct policy_config policy;
    struct kdev_contention contention;
    const char *policies; /* kernel policies, separated by commas; NULL: all */
    const char *controls; /* controllers to combine with each policy; NULL: policy.control only */
    uint64_t seed;        /* first seed */
    uint32_t seeds;
    bool check;
};

/* Returns 0, or -EINVAL, -EPROTO, -EOVERFLOW or -ENOMEM with a sentence in `why`
 * (SIM_WHY_BYTES). */
int compare_run(struct compare *out, const struct workload *w, const struct compare_config *config,
                char *why);
void compare_finish(struct compare *c);

#endif
