/* SPDX-License-Identifier: Apache-2.0
 *
 * Summarises a run in the measures of the Salus paper (section 5.1), as a table and as JSON. Times
 * are in seconds. Refused jobs count only in `refused`.
 */
#ifndef DAEMON_SIM_REPORT_SUMMARY_H
#define DAEMON_SIM_REPORT_SUMMARY_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

/* clang-format off */
/* X(field, decimals, heading, description): the columns of the table */
#define SUMMARY_COLUMNS(X)                                                                     \
    X(makespan_s, 6, "MAKESPAN", "first arrival to last end")                                  \
    X(queueing_mean_s, 6, "QUEUEING", "from arrival to the first iteration: mean")                        \
    X(jct_mean_s, 6, "JCT", "completion time (arrival to end) of jobs that serve no requests: mean") \
    X(jct_p50_s, 6, "P50", "the same: median")                                                       \
    X(jct_p95_s, 6, "P95", "the same: 95th percentile")                                              \
    X(slowdown_mean, 3, "SLOWDOWN", "completion time relative to that alone: mean over the jobs")     \
    X(slowdown_worst, 3, "WORST", "the same: the most slowed-down job")                              \
    X(utilisation, 4, "UTIL", "part of the makespan in which the device was used")                             \
    X(active, 4, "ACTIVE", "part of the makespan with an iteration running")                   \
    X(running_mean, 3, "RUNNING", "iterations running at a time, mean over the makespan")      \
    X(lanes_mean, 3, "LANES", "open lanes, mean over the makespan")                            \
    X(refused, 0, "REFUSED", "jobs refused")                                                   \
    X(switches, 0, "SWITCHES", "turns given to another job")                                   \
    X(copied_gib, 3, "COPIED", "to and from host memory, GiB")
/* The columns of the table of requests */
#define SUMMARY_REQUESTS(X)                                                                    \
    X(requests, 0, "REQUESTS", "iterations of jobs that serve requests (every= or think=)")                                   \
    X(latency_mean_s, 6, "LATENCY", "latency of requests, submission to end: mean")                    \
    X(latency_p50_s, 6, "P50", "the same: median")                                                   \
    X(latency_p95_s, 6, "P95", "the same: 95th percentile")                                          \
    X(latency_p99_s, 6, "P99", "the same: 99th percentile")                                          \
    X(latency_overhead_s, 6, "OVERHEAD", "mean latency beyond that of the same requests alone")
/* Only in JSON */
#define SUMMARY_OTHERS(X)                                                                      \
    X(jobs, 0, "", "jobs that ran to their end")                                               \
    X(jobs_serving, 0, "", "of these, jobs that serve requests, which count in no JCT")       \
    X(iterations, 0, "", "iterations run")                                                     \
    X(steps, 0, "", "steps of the scheduler")
#define SUMMARY_FIELDS(X) SUMMARY_COLUMNS(X) SUMMARY_REQUESTS(X) SUMMARY_OTHERS(X)
/* clang-format on */

struct summary {
    const char *policy;
#define X(field, decimals, heading, text) double field;
    SUMMARY_FIELDS(X)
#undef X
};

/* `alone`: the result of the jobs alone; NULL if not known, and then there is no slowdown. Returns
 * 0 or -ENOMEM. */
int summary_make(struct summary *out, const char *policy, const struct workload *w,
                 const struct sim_result *r, const struct sim_result *alone);

void summary_table(const struct summary *summaries, uint32_t count, FILE *out);
/* Writes the fields of one summary without the enclosing braces. */
void summary_json(const struct summary *s, FILE *out);
/* Writes "jobs": an array with one object per job. */
void summary_json_jobs(const struct workload *w, const struct sim_result *r,
                       const struct sim_result *alone, FILE *out);
/* Prints one line per field with its meaning. */
void summary_explain(FILE *out);

#endif
