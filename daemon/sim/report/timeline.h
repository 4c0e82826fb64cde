/* SPDX-License-Identifier: Apache-2.0
 *
 * When which job ran in which lane, in bounded space: neighbouring iterations of a job in one lane
 * become one span, across gaps that double whenever there are too many spans. A span knows how much
 * of it the job really ran, so that sharing shows as a paler bar.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_SIM_REPORT_TIMELINE_H
#define DAEMON_SIM_REPORT_TIMELINE_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

struct timeline_span {
    uint64_t start_ns, end_ns, ran_ns;
    uint32_t job, lane, iterations;
};

struct timeline {
    struct timeline_span *spans; /* in order of their end when they were begun */
    uint32_t *last;              /* of each job: its latest span, UINT32_MAX: none */
    uint32_t count, max_spans, jobs;
    uint64_t gap_ns; /* gaps up to this are closed */
};

int timeline_init(struct timeline *t, uint32_t jobs, uint32_t max_spans); /* 0 or -ENOMEM */
void timeline_finish(struct timeline *t);

/* Of a sim_watch, whose `self` is the timeline. */
void timeline_ran(void *timeline, uint32_t job, uint32_t lane, uint64_t start_ns, uint64_t end_ns);

/* Trace events as chrome://tracing and Perfetto read them: a process a job, a thread a lane. */
void timeline_chrome(const struct timeline *t, const struct workload *w, const struct sim_result *r,
                     FILE *out);

#endif
