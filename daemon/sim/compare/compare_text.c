/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a comparison as a table and as JSON.
 */
#include "daemon/sim/compare/compare_text.h"
#include "daemon/sim/compare/compare.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/sim/report/refused.h"

#define CELL 16

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints "12.34 ±0.56 ms" right-aligned; the sign has two bytes and one column. */
static void cell(const struct measure *m, double unit, const char *name, FILE *out) {
    char text[64];
    double mean = measure_mean(m) / unit, spread = measure_spread(m) / unit;
    if (m->count == 0)
        snprintf(text, sizeof(text), "-");
    else if (m->count == 1)
        snprintf(text, sizeof(text), "%.2f%s", mean, name);
    else
        snprintf(text, sizeof(text), "%.2f ±%.2f%s", mean, spread, name);
    fprintf(out, " %*s", CELL + (m->count > 1), text);
}

static void table_job(const struct workload_job *w, const struct compare_job *j, FILE *out) {
    fprintf(out, " %-22s %4" PRId32, w->name, w->priority);
    cell(&j->p50_ns, 1e6, "", out);
    cell(&j->p99_ns, 1e6, "", out);
    cell(&j->p99_ratio, 1, "", out);
    cell(&j->rate, 1, "", out);
    cell(&j->part, 1, "", out);
}

void compare_label(const struct compare_row *row, char out[COMPARE_LABEL]) {
    snprintf(out, COMPARE_LABEL, "%s%s%s", row->policy, row->control ? "/" : "",
             row->control ? row->control : "");
}

/* Width of the longest possible label. */
static int label_width(const struct compare *c) {
    for (uint32_t i = 0; i < c->count; i++)
        if (c->rows[i].control) return 20;
    return 9;
}

static void table_row(const struct compare *c, const struct compare_row *row, FILE *out) {
    char label[COMPARE_LABEL];
    compare_label(row, label);
    for (uint32_t i = 0; i < c->w->count; i++) {
        fprintf(out, "%-*s", label_width(c), i ? "" : label);
        table_job(&c->w->jobs[i], &row->jobs[i], out);
        if (i == 0 && row->total.count) {
            cell(&row->total, 1, "", out);
            cell(&row->fairness, 1, "", out);
        }
        fputc('\n', out);
    }
}

static struct slos slos_means(const struct compare_job *j) {
    struct slos s;
#define X(field, decimals, heading, text) s.field = measure_mean(&j->field);
    SLOS_FIELDS(X)
#undef X
    return s;
}

static void table_slos(const struct compare *c, const struct compare_row *row, FILE *out) {
    char label[COMPARE_LABEL];
    compare_label(row, label);
    for (uint32_t i = 0; i < c->w->count; i++) {
        struct slos s = slos_means(&row->jobs[i]);
        slos_row(i ? "" : label, &c->w->jobs[i], &s, measure_mean(&row->jobs[i].rate), out);
    }
}

/* Tests whether the job is refused even alone, and so under every policy. */
static bool refused_alone(const struct compare *c, uint32_t i, char why[REFUSED_BYTES]) {
    const struct sim_job_result r = {.refused = c->alone.jobs[i].refused};
    return refused_why(c->w, &r, i, why);
}

static void table_refused(const struct compare *c, FILE *out) {
    char why[REFUSED_BYTES];
    for (uint32_t i = 0; i < c->w->count; i++)
        if (refused_alone(c, i, why)) fprintf(out, "%s is refused: %s\n", c->w->jobs[i].name, why);
}

void compare_table(const struct compare *c, FILE *out) {
    static const char *const headings[] = {"P50 ms",   "P99 ms", "P99/ALONE", "ITERATIONS/S",
                                           "OF ALONE", "TOTAL",  "FAIRNESS"};
    fprintf(out, "%-*s %-22s PRIO", label_width(c), "POLICY", "JOB");
    for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
        fprintf(out, " %*s", CELL, headings[i]);
    fputc('\n', out);
    table_row(c, &c->alone, out);
    for (uint32_t i = 0; i < c->count; i++)
        table_row(c, &c->rows[i], out);
    table_refused(c, out);
    if (!slos_any(c->w)) return;
    fputc('\n', out);
    slos_heading(out);
    for (uint32_t i = 0; i < c->count; i++)
        table_slos(c, &c->rows[i], out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_measure(const char *name, const struct measure *m, double unit, FILE *out) {
    if (m->count == 0)
        fprintf(out, ",\"%s\":null", name);
    else
        fprintf(out, ",\"%s\":{\"mean\":%.9g,\"spread\":%.6g}", name, measure_mean(m) / unit,
                measure_spread(m) / unit);
}

static void json_row(const struct compare *c, const struct compare_row *row, FILE *out) {
    fprintf(out, "{\"policy\":\"%s\",", row->policy);
    if (row->control) fprintf(out, "\"control\":\"%s\",", row->control);
    fputs("\"jobs\":[", out);
    for (uint32_t i = 0; i < c->w->count; i++) {
        const struct compare_job *j = &row->jobs[i];
        fprintf(out, "%s{\"name\":\"%s\",\"priority\":%" PRId32, i ? "," : "", c->w->jobs[i].name,
                c->w->jobs[i].priority);
        json_measure("p50_s", &j->p50_ns, 1e9, out);
        json_measure("p95_s", &j->p95_ns, 1e9, out);
        json_measure("p99_s", &j->p99_ns, 1e9, out);
        json_measure("p95_of_alone", &j->p95_ratio, 1, out);
        json_measure("p99_of_alone", &j->p99_ratio, 1, out);
        json_measure("rate", &j->rate, 1, out);
        json_measure("rate_of_alone", &j->part, 1, out);
        json_measure("behind_s", &j->behind_ns, 1e9, out);
        char why[REFUSED_BYTES];
        if (refused_alone(c, i, why)) fprintf(out, ",\"why\":\"%s\"", why);
        struct slos s = slos_means(j);
        slos_json(c->w, &c->w->jobs[i], &s, out);
        fputc('}', out);
    }
    fputc(']', out);
    if (row->total.count) {
        json_measure("total", &row->total, 1, out);
        json_measure("fairness", &row->fairness, 1, out);
        json_measure("utilisation", &row->used, 1, out);
    }
    fputc('}', out);
}

void compare_json(const struct compare *c, const struct compare_config *config, FILE *out) {
    fprintf(out,
            "{\"schema\":1,\"seed\":%" PRIu64 ",\"seeds\":%" PRIu32 ",\"alone\":", config->seed,
            config->seeds);
    json_row(c, &c->alone, out);
    fputs(",\"policies\":[", out);
    for (uint32_t i = 0; i < c->count; i++) {
        if (i) fputc(',', out);
        json_row(c, &c->rows[i], out);
    }
    fputs("]}\n", out);
}
