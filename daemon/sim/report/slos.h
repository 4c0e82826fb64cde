/* SPDX-License-Identifier: Apache-2.0
 *
 * What targets of latency came to in a run, and what they cost: of jobs with a target what was
 * measured, of the others how long they stood still and which part of the SMs they had; as a table,
 * as members of a JSON object, and period by period as lines
 * `time_s,job,target_s,measured_s,pause_s,share`.
 */
#ifndef DAEMON_SIM_REPORT_SLOS_H
#define DAEMON_SIM_REPORT_SLOS_H

#include <stdio.h>

#include "daemon/sched/core/view.h"
#include "daemon/sim/run/sim.h"

/* clang-format off */
/* X(field, decimals, heading, sentence) */
#define SLOS_FIELDS(X)                                                                          \
    X(measured_ms, 2, "MEASURED ms", "of a job with a target: what was measured, mean of the periods") \
    X(error, 4, "ERROR", "its distance from the target, of that, mean of the periods")         \
    X(violated, 4, "VIOLATED", "periods in which more was measured than target and band")     \
    X(stuck, 4, "STUCK", "periods in which nothing could be done about it")                    \
    X(pause_ms, 2, "PAUSE ms", "how long a job stood still after an iteration, mean over time") \
    X(share, 4, "SHARE", "the part of the SMs that it could use, mean over time")
/* clang-format on */

struct slos {
#define X(field, decimals, heading, text) double field;
    SLOS_FIELDS(X)
#undef X
};

/* Whether anybody has a target: else there is nothing to say. */
bool slos_any(const struct workload *w);
void slos_of(struct slos *out, const struct workload *w, const struct sim_job_result *r);

void slos_heading(FILE *out);
/* A row: the label only with the first job. */
void slos_row(const char *label, const struct workload_job *w, const struct slos *s, double rate,
              FILE *out);
/* All jobs of a run. */
void slos_table(const char *label, const struct workload *w, const struct sim_result *r, FILE *out);
/* ",target_s":..., each with a comma before it; nothing where nobody has a target. */
void slos_json(const struct workload *w, const struct workload_job *j, const struct slos *s,
               FILE *out);
void slos_explain(FILE *out);

void slos_lines_begin(FILE *out);
/* Of a sim_watch, whose `self` is a struct slos_lines. */
struct slos_lines {
    const struct workload *w;
    FILE *out;
};
void slos_controlled(void *lines, uint64_t now_ns, uint32_t job, const struct sched_job_view *view);

#endif
