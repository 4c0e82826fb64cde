/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums, quantiles and columns.
 */
#include "daemon/sim/report/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/report/alone.h"
#include "daemon/sim/report/refused.h"
#include "daemon/sim/report/slos.h"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest-rank quantile. */
static double quantile(const double *sorted, uint32_t count, uint32_t percent) {
    if (count == 0) return 0;
    uint64_t rank = ((uint64_t)count * percent + 99) / 100;
    return sorted[rank - 1];
}

static double seconds(uint64_t ns) {
    return (double)ns / 1e9;
}

static int add_jobs(struct summary *out, const struct workload *w, const struct sim_result *r) {
    double *jct = malloc((r->count + 1u) * sizeof(*jct)), sum = 0, queueing = 0;
    uint32_t n = 0, ran = 0;
    if (!jct) return -ENOMEM;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct sim_job_result *j = &r->jobs[i];
        if (j->refused || j->cut) continue;
        ran++;
        queueing += seconds(j->first_run_ns - w->jobs[i].arrival_ns);
        if (workload_serves(&w->jobs[i])) continue;
        jct[n] = seconds(j->end_ns - w->jobs[i].arrival_ns);
        sum += jct[n++];
    }
    qsort(jct, n, sizeof(*jct), by_value);
    out->jobs = ran;
    out->jobs_serving = ran - n;
    out->jct_mean_s = n ? sum / n : 0;
    out->queueing_mean_s = ran ? queueing / ran : 0;
    out->jct_p50_s = quantile(jct, n, 50);
    out->jct_p95_s = quantile(jct, n, 95);
    free(jct);
    return 0;
}

static void add_latency(struct summary *out, const struct sim_result *r) {
    double n = (double)r->latency.count;
    out->requests = n;
    if (n == 0) return;
    out->latency_mean_s = r->latency.sum_ns / n / 1e9;
    out->latency_p50_s = latency_quantile(&r->latency, 0.5) / 1e9;
    out->latency_p95_s = latency_quantile(&r->latency, 0.95) / 1e9;
    out->latency_p99_s = latency_quantile(&r->latency, 0.99) / 1e9;
    out->latency_overhead_s = (r->latency.sum_ns - r->latency_alone_ns) / n / 1e9;
}

static void add_slowdown(struct summary *out, const struct workload *w, const struct sim_result *r,
                         const struct sim_result *alone) {
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        double slowdown = alone_slowdown(alone, r, w, i);
        if (slowdown <= 0) continue;
        sum += slowdown;
        n++;
        if (slowdown > out->slowdown_worst) out->slowdown_worst = slowdown;
    }
    out->slowdown_mean = n ? sum / n : 0;
}

int summary_make(struct summary *out, const char *policy, const struct workload *w,
                 const struct sim_result *r, const struct sim_result *alone) {
    double span = (double)(r->end_ns - r->begin_ns);
    *out = (struct summary){.policy = policy,
                            .makespan_s = span / 1e9,
                            .refused = r->refused,
                            .switches = (double)r->switches,
                            .copied_gib = (double)r->copied_bytes / 0x1p30,
                            .iterations = (double)r->iterations,
                            .steps = (double)r->steps};
    if (span > 0) {
        out->utilisation = r->busy_ns / span;
        out->active = r->active_ns / span;
        out->running_mean = r->running_ns / span;
        out->lanes_mean = r->lanes_ns / span;
    }
    add_latency(out, r);
    if (alone) add_slowdown(out, w, r, alone);
    return add_jobs(out, w, r);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints at least three significant digits in the most readable unit. */
static void print_time(double s, char *out, size_t cap) {
    if (s >= 7200)
        snprintf(out, cap, "%.1f min", s / 60);
    else if (s >= 10)
        snprintf(out, cap, "%.1f s", s);
    else if (s >= 0.1)
        snprintf(out, cap, "%.3f s", s);
    else
        snprintf(out, cap, "%.3f ms", s * 1e3);
}

static void print_cell(const char *field, int decimals, double value, char *out, size_t cap) {
    size_t n = strlen(field);
    if (n > 2 && strcmp(field + n - 2, "_s") == 0)
        print_time(value, out, cap);
    else
        snprintf(out, cap, "%.*f", decimals > 2 ? 2 : decimals, value);
}

void summary_table(const struct summary *summaries, uint32_t count, FILE *out) {
    char cell[32];
#define HEADING(field, decimals, heading, text) fprintf(out, " %11s", heading);
#define CELL(field, decimals, heading, text)                              \
    print_cell(#field, decimals, summaries[i].field, cell, sizeof(cell)); \
    fprintf(out, " %11s", cell);
    fprintf(out, "%-8s", "POLICY");
    SUMMARY_COLUMNS(HEADING)
    fputc('\n', out);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%-8s", summaries[i].policy);
        SUMMARY_COLUMNS(CELL)
        fputc('\n', out);
    }
    if (count == 0 || summaries[0].requests == 0) return;
    fprintf(out, "\n%-8s", "POLICY");
    SUMMARY_REQUESTS(HEADING)
    fputc('\n', out);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%-8s", summaries[i].policy);
        SUMMARY_REQUESTS(CELL)
        fputc('\n', out);
    }
#undef HEADING
#undef CELL
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void summary_json(const struct summary *s, FILE *out) {
    fprintf(out, "\"policy\":\"%s\"", s->policy);
#define X(field, decimals, heading, text) fprintf(out, ",\"" #field "\":%.*f", decimals, s->field);
    SUMMARY_FIELDS(X)
#undef X
}

static void json_time(const char *name, uint64_t ns, FILE *out) {
    if (ns == SIM_NEVER)
        fprintf(out, ",\"%s\":null", name);
    else
        fprintf(out, ",\"%s\":%" PRIu64 ".%09" PRIu64, name, ns / 1000000000, ns % 1000000000);
}

/* Writes a job's mean latency if it serves, its slowdown, and the reason if it was refused. */
static void json_job_more(const struct workload *w, const struct sim_result *r,
                          const struct sim_result *alone, uint32_t i, FILE *out) {
    const struct sim_job_result *j = &r->jobs[i];
    char why[REFUSED_BYTES];
    double slowdown = alone ? alone_slowdown(alone, r, w, i) : 0;
    if (workload_serves(&w->jobs[i]) && j->iterations)
        fprintf(out, ",\"latency_mean_s\":%.9f", j->latency_ns / j->iterations / 1e9);
    if (slowdown > 0)
        fprintf(out, ",\"slowdown\":%.4f", slowdown);
    else
        fputs(",\"slowdown\":null", out);
    if (refused_why(w, j, i, why)) fprintf(out, ",\"why\":\"%s\"", why);
}

void summary_json_jobs(const struct workload *w, const struct sim_result *r,
                       const struct sim_result *alone, FILE *out) {
    fputs("\"jobs\":[", out);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct sim_job_result *j = &r->jobs[i];
        struct slos slos;
        fprintf(out, "%s{\"name\":\"%s\",\"iterations\":%" PRIu32, i ? "," : "", w->jobs[i].name,
                j->iterations);
        json_time("arrival_s", w->jobs[i].arrival_ns, out);
        json_time("admitted_s", j->admitted_ns, out);
        json_time("first_run_s", j->first_run_ns, out);
        json_time("end_s", j->end_ns, out);
        json_time("busy_s", j->busy_ns, out);
        fprintf(out, ",\"refused\":%s", j->refused ? "true" : "false");
        json_job_more(w, r, alone, i, out);
        slos_of(&slos, w, j);
        slos_json(w, &w->jobs[i], &slos, out);
        fputc('}', out);
    }
    fputc(']', out);
}

void summary_explain(FILE *out) {
#define X(field, decimals, heading, text) fprintf(out, "  %-20s %s\n", #field, text);
    SUMMARY_FIELDS(X)
#undef X
}
