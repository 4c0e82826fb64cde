/* SPDX-License-Identifier: Apache-2.0
 *
 * Factors are stored until the last policy has run.
 */
#include "daemon/sim/report/slowdowns.h"

#include "daemon/sim/report/alone.h"

void slowdowns_add(struct slowdowns *s, const char *policy, const struct workload *w,
                   const struct sim_result *r, const struct sim_result *alone) {
    if (s->count == SLOWDOWNS_POLICIES || w->count > SLOWDOWNS_JOBS) return;
    s->policies[s->count] = policy;
    for (uint32_t i = 0; i < w->count; i++)
        s->factors[s->count][i] = alone_slowdown(alone, r, w, i);
    s->count++;
}

/* Prints the time alone: of a request for a server, else of the whole job. */
static void alone_cell(const struct workload_job *w, const struct sim_job_result *r, FILE *out) {
    char text[32] = "-";
    bool serves = workload_serves(w);
    if (serves && r->iterations)
        snprintf(text, sizeof(text), "%.3f ms", r->latency_ns / r->iterations / 1e6);
    else if (!serves && !r->refused && !r->cut && r->end_ns != SIM_NEVER)
        snprintf(text, sizeof(text), "%.3f s", (double)(r->end_ns - w->arrival_ns) / 1e9);
    fprintf(out, " %-9s %12s", serves ? "request" : "job", text);
}

void slowdowns_table(const struct slowdowns *s, const struct workload *w,
                     const struct sim_result *alone, FILE *out) {
    if (s->count == 0) return;
    fprintf(out, "\n%-24s %-9s %12s", "JOB", "OF A", "ALONE");
    for (uint32_t k = 0; k < s->count; k++)
        fprintf(out, " %9s", s->policies[k]);
    fputc('\n', out);
    for (uint32_t i = 0; i < w->count; i++) {
        fprintf(out, "%-24s", w->jobs[i].name);
        alone_cell(&w->jobs[i], &alone->jobs[i], out);
        for (uint32_t k = 0; k < s->count; k++)
            if (s->factors[k][i] > 0)
                fprintf(out, " %8.2fx", s->factors[k][i]);
            else
                fprintf(out, " %9s", "-");
        fputc('\n', out);
    }
}
