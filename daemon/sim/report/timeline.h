/* SPDX-License-Identifier: Apache-2.0
 *
 * A timeline of jobs and lanes in bounded space. Consecutive iterations of a job in one lane are
 * merged into a span across gaps. The gap length doubles whenever there are too many spans. A span
 * stores how long the job actually ran, so that sharing can be drawn as a paler bar.
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
    struct timeline_span *spans; /* ordered by the end of their first iteration */
    uint32_t *last;              /* per job: its latest span; UINT32_MAX: none */
    uint32_t count, max_spans, jobs;
    uint64_t gap_ns; /* gaps up to this length are closed */
};

int timeline_init(struct timeline *t, uint32_t jobs, uint32_t max_spans); /* returns 0 or -ENOMEM */
void timeline_finish(struct timeline *t);

/* Callback of a sim_watch whose `self` is the timeline. */
void timeline_ran(void *timeline, uint32_t job, uint32_t lane, uint64_t start_ns, uint64_t end_ns);

/* Writes trace events for chrome://tracing and Perfetto: one process per job, one thread per
 * lane. */
void timeline_chrome(const struct timeline *t, const struct workload *w, const struct sim_result *r,
                     FILE *out);

#endif
