/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs each job separately.
 */
#include "daemon/sim/report/alone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/sim/run/sim_run.h"

/* Appends the job's run after those of the previous jobs. */
static void append(struct sim_result *out, uint32_t job, struct sim_result *r) {
    out->jobs[job] = r->jobs[0];
    r->jobs[0].latency = NULL;
    out->end_ns += r->end_ns - r->begin_ns;
    out->refused += r->refused;
    out->busy_ns += r->busy_ns;
    out->active_ns += r->active_ns;
    out->running_ns += r->running_ns;
    out->lanes_ns += r->lanes_ns;
    out->steps += r->steps;
    out->iterations += r->iterations;
    out->operations += r->operations;
    out->latency_alone_ns += r->latency_alone_ns;
    latency_merge(&out->latency, &r->latency);
}

int alone_run(struct sim_result *out, const struct workload *w, const struct sim_config *config,
              char *why) {
    struct sim_config sim = {.policy = config->policy,
                             .seed = config->seed,
                             .contention = config->contention,
                             .check = config->check};
    /* Too large for the stack because of its histogram. */
    struct sim_result *r = malloc(sizeof(*r));
    int err = 0;
    snprintf(sim.policy.kernel, POLICY_NAME_BYTES, "streams");
    snprintf(why, SIM_WHY_BYTES, "out of memory");
    *out = (struct sim_result){.count = w->count};
    out->jobs = calloc(w->count, sizeof(*out->jobs));
    if (!r || !out->jobs) err = -ENOMEM;
    for (uint32_t i = 0; i < w->count && !err; i++) {
        struct workload one = *w;
        one.jobs = &w->jobs[i];
        one.count = 1;
        err = sim_run(r, &one, &sim, why);
        if (err) break;
        append(out, i, r);
        sim_result_finish(r);
    }
    free(r);
    if (err) sim_result_finish(out);
    return err;
}

/* Time per iteration in ns. For a server, the mean latency of a request; for others, the job's
 * total time divided by its iterations. 0: no iteration was completed. */
static double each_of(const struct workload_job *w, const struct sim_job_result *r) {
    double done = r->iterations + r->part;
    if (r->refused || r->end_ns == SIM_NEVER || done <= 0) return 0;
    if (workload_serves(w)) return r->iterations ? r->latency_ns / r->iterations : 0;
    return (double)(r->end_ns - w->arrival_ns) / done;
}

double alone_slowdown(const struct sim_result *alone, const struct sim_result *r,
                      const struct workload *w, uint32_t job) {
    double before = each_of(&w->jobs[job], &alone->jobs[job]);
    double now = each_of(&w->jobs[job], &r->jobs[job]);
    return before > 0 ? now / before : 0;
}
