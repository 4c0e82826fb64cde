/* SPDX-License-Identifier: Apache-2.0
 *
 * Means and table rows.
 */
#include "daemon/sim/report/slos.h"

#include "daemon/policy/reason.h"
#include "daemon/sched/core/view.h"

bool slos_any(const struct workload *w) {
    for (uint32_t i = 0; i < w->count; i++)
        if (w->jobs[i].slo_ns) return true;
    return false;
}

void slos_of(struct slos *out, const struct workload *w, const struct sim_job_result *r) {
    const struct sim_slo *s = &r->slo;
    double periods = (double)s->periods, ns = s->seen_ns;
    *out = (struct slos){.share = 1};
    if (periods > 0) {
        out->measured_ms = s->measured_ns / periods / 1e6;
        out->error = s->error / periods;
        out->violated = (double)s->violations / periods;
        out->stuck = (double)s->stuck / periods;
    }
    if (ns <= 0) return;
    out->pause_ms = s->pause_ns / ns / 1e6;
    out->share = s->sms / ns / w->sms;
}

/* ---- text ------------------------------------------------------------------------------------ */

void slos_heading(FILE *out) {
    fprintf(out, "%-20s %-22s %11s %5s", "POLICY", "JOB", "TARGET ms", "OF");
#define X(field, decimals, heading, text) fprintf(out, " %11s", heading);
    SLOS_FIELDS(X)
#undef X
    fprintf(out, " %12s\n", "ITERATIONS/S");
}

void slos_row(const char *label, const struct workload_job *w, const struct slos *s, double rate,
              FILE *out) {
    fprintf(out, "%-20s %-22s ", label, w->name);
    if (w->slo_ns)
        fprintf(out, "%11.2f %5s", (double)w->slo_ns / 1e6, reason_slo_of(w->slo_of));
    else
        fprintf(out, "%11s %5s", "-", "-");
#define X(field, decimals, heading, text) fprintf(out, " %11.*f", decimals, s->field);
    SLOS_FIELDS(X)
#undef X
    fprintf(out, " %12.3f\n", rate);
}

void slos_table(const char *label, const struct workload *w, const struct sim_result *r,
                FILE *out) {
    for (uint32_t i = 0; i < r->count; i++) {
        const struct sim_job_result *j = &r->jobs[i];
        double span = j->end_ns == SIM_NEVER ? 0 : (double)(j->end_ns - w->jobs[i].arrival_ns);
        struct slos s;
        slos_of(&s, w, j);
        slos_row(i ? "" : label, &w->jobs[i], &s,
                 span > 0 ? (j->iterations + j->part) / span * 1e9 : 0, out);
    }
}

void slos_explain(FILE *out) {
#define X(field, decimals, heading, text) fprintf(out, "  %-20s %s\n", #field, text);
    SLOS_FIELDS(X)
#undef X
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void slos_json(const struct workload *w, const struct workload_job *j, const struct slos *s,
               FILE *out) {
    if (!slos_any(w)) return;
    if (j->slo_ns)
        fprintf(out, ",\"target_s\":%.9g,\"target_of\":\"%s\"", (double)j->slo_ns / 1e9,
                reason_slo_of(j->slo_of));
#define X(field, decimals, heading, text) fprintf(out, ",\"" #field "\":%.9g", s->field);
    SLOS_FIELDS(X)
#undef X
}

/* ---- one line per period --------------------------------------------------------------------- */

void slos_lines_begin(FILE *out) {
    fputs("time_s,job,target_s,measured_s,pause_s,share\n", out);
}

void slos_controlled(void *lines, uint64_t now_ns, uint32_t job,
                     const struct sched_job_view *view) {
    const struct slos_lines *l = lines;
    uint32_t sms = view->sms ? view->sms : l->w->sms;
    fprintf(l->out, "%.6f,%s.%u,%.9g,%.9g,%.9g,%.4f\n", (double)now_ns / 1e9, l->w->jobs[job].name,
            job + 1, (double)view->slo_ns / 1e9, (double)view->measured_ns / 1e9,
            (double)view->pause_ns / 1e9, (double)sms / l->w->sms);
}
