/* SPDX-License-Identifier: Apache-2.0
 *
 * Results and cost of latency targets in a run: the measured latency of jobs with a target, and the
 * pause and the share of SMs of all others. Written as a table, as members of a JSON object, and
 * per period as lines `time_s,job,target_s,measured_s,pause_s,share`.
 */
#ifndef DAEMON_SIM_REPORT_SLOS_H
#define DAEMON_SIM_REPORT_SLOS_H

#include <stdio.h>

#include "daemon/sched/core/view.h"
#include "daemon/sim/run/sim.h"

/* clang-format off */
/* X(field, decimals, heading, description) */
#define SLOS_FIELDS(X)                                                                          \
    X(measured_ms, 2, "MEASURED ms", "measured value of a job with a target: mean over the periods") \
    X(error, 4, "ERROR", "distance from the target, relative to the target: mean over the periods")         \
    X(violated, 4, "VIOLATED", "control periods in which the measured value exceeded target and band")     \
    X(stuck, 4, "STUCK", "control periods in which other jobs had nothing more to give up")                    \
    X(pause_ms, 2, "PAUSE ms", "pause of a job after an iteration: mean over time") \
    X(share, 4, "SHARE", "part of the SMs that the job could use: mean over time")
/* clang-format on */

struct slos {
#define X(field, decimals, heading, text) double field;
    SLOS_FIELDS(X)
#undef X
};

/* Tests whether any job has a target; otherwise nothing is written. */
bool slos_any(const struct workload *w);
void slos_of(struct slos *out, const struct workload *w, const struct sim_job_result *r);

void slos_heading(FILE *out);
/* Writes a row; only the first job's row has the label. */
void slos_row(const char *label, const struct workload_job *w, const struct slos *s, double rate,
              FILE *out);
/* Writes the rows of all jobs of a run. */
void slos_table(const char *label, const struct workload *w, const struct sim_result *r, FILE *out);
/* Writes ",\"target_s\":..." and further members, each with a leading comma; writes nothing if no
 * job has a target. */
void slos_json(const struct workload *w, const struct workload_job *j, const struct slos *s,
               FILE *out);
void slos_explain(FILE *out);

void slos_lines_begin(FILE *out);
/* Callback of a sim_watch whose `self` is a struct slos_lines. */
struct slos_lines {
    const struct workload *w;
    FILE *out;
};
void slos_controlled(void *lines, uint64_t now_ns, uint32_t job, const struct sched_job_view *view);

#endif
