/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a comparison of policies as a table and as JSON.
 */
#include "daemon/sim/compare/clusters_text.h"

#include <inttypes.h>
#include <stddef.h>

#include "daemon/sim/compare/clusters.h"

#define MINUTE 60.0
#define HOUR 3600.0
#define DAY 86400.0

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints a duration such as "5.1 min": three digits in a suitable unit. */
static void duration(char *out, size_t cap, double s) {
    if (s < MINUTE)
        snprintf(out, cap, "%.3g s", s);
    else if (s < 10 * HOUR)
        snprintf(out, cap, "%.4g min", s / MINUTE);
    else if (s < 10 * DAY)
        snprintf(out, cap, "%.4g h", s / HOUR);
    else
        snprintf(out, cap, "%.4g d", s / DAY);
}

static void time_cell(const struct measure *m, FILE *out) {
    char text[24];
    duration(text, sizeof(text), measure_mean(m));
    fprintf(out, " %10s", text);
}

static void part_cell(const struct measure *m, FILE *out) {
    fprintf(out, " %6.1f %%", measure_mean(m) * 100);
}

static void row(const char *policy, const struct clusters_cell *c, bool services, FILE *out) {
    fprintf(out, "%-9s", policy);
    time_cell(&c->makespan, out);
    time_cell(&c->wait, out);
    time_cell(&c->wait_median, out);
    time_cell(&c->wait_deviation, out);
    time_cell(&c->jct, out);
    fprintf(out, " %8.3f", measure_mean(&c->slowdown));
    part_cell(&c->util, out);
    fprintf(out, " %8.1f", measure_mean(&c->used));
    if (services) part_cell(&c->violations, out);
    fprintf(out, " %6.1f %6.1f %6.1f", measure_mean(&c->stops), measure_mean(&c->memory_ends),
            measure_mean(&c->refused) + measure_mean(&c->stranded));
    fputc('\n', out);
}

/* Tests whether any job has a latency target. */
static bool has_services(const struct clusters *c, const struct clusters_config *config) {
    for (uint32_t i = 0; i < config->policy_count; i++)
        for (uint32_t k = 0; k < c->cells[i].day_count; k++)
            if (c->cells[i].days[k].services) return true;
    return false;
}

void clusters_table(const struct clusters *c, const struct clusters_config *config, FILE *out) {
    bool services = has_services(c, config);
    fprintf(out, "%" PRIu32 " jobs on %" PRIu32 " GPUs of %" PRIu32 " nodes", c->jobs, c->gpus,
            c->nodes);
    if (c->passed_over) fprintf(out, "; %" PRIu32 " rows were skipped", c->passed_over);
    if (config->seeds > 1) fprintf(out, "; means of %" PRIu32 " seeds", config->seeds);
    fprintf(out, "\n\n%-9s %10s %10s %10s %10s %10s %8s %8s %8s", "policy", "makespan", "wait",
            "median", "deviation", "runs for", "slowdown", "util", "GPUs");
    if (services) fprintf(out, " %8s", "too slow");
    fprintf(out, " %6s %6s %6s\n", "stops", "memory", "never");
    for (uint32_t i = 0; i < config->policy_count; i++)
        row(config->policies[i], &c->cells[i], services, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_measure(const char *name, const struct measure *m, FILE *out) {
    fprintf(out, ",\"%s\":{\"mean\":%.9g,\"spread\":%.6g}", name, measure_mean(m),
            measure_spread(m));
}

static void json_days(const struct clusters_cell *cell, uint32_t seeds, FILE *out) {
    fputs(",\"days\":[", out);
    for (uint32_t i = 0; i < cell->day_count; i++) {
        const struct fleet_day *d = &cell->days[i];
        fprintf(out,
                "%s{\"used_gpus\":%.6g,\"separate_gpus\":%.6g,\"services\":%" PRIu32
                ",\"violations\":%" PRIu32 "}",
                i ? "," : "", d->used_gpus / seeds, d->separate_gpus / seeds, d->services,
                d->violations);
    }
    fputc(']', out);
}

void clusters_json(const struct clusters *c, const struct clusters_config *config, FILE *out) {
    fprintf(out,
            "{\"schema\":1,\"seed\":%" PRIu64 ",\"seeds\":%" PRIu32 ",\"jobs\":%" PRIu32
            ",\"nodes\":%" PRIu32 ",\"gpus\":%" PRIu32 ",\"passed_over\":%" PRIu32
            ",\"policies\":[",
            config->seed, config->seeds, c->jobs, c->nodes, c->gpus, c->passed_over);
    for (uint32_t i = 0; i < config->policy_count; i++) {
        const struct clusters_cell *cell = &c->cells[i];
        fprintf(out, "%s{\"policy\":\"%s\"", i ? "," : "", config->policies[i]);
#define X(field, from, name, text) json_measure(name, &cell->field, out);
        CLUSTERS_FIELDS(X)
#undef X
        json_days(cell, config->seeds, out);
        fputc('}', out);
    }
    fputs("]}\n", out);
}
