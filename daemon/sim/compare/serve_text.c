/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes finish rates as a table and as JSON.
 */
#include "daemon/sim/compare/serve_text.h"

#include <inttypes.h>

#include "daemon/sim/compare/serve.h"

#define CELL 14

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints "0.823 ±0.004" right-aligned; the sign has two bytes and one column. */
static void cell(const struct measure *m, FILE *out) {
    char text[64];
    if (m->count == 1)
        snprintf(text, sizeof(text), "%.3f", measure_mean(m));
    else
        snprintf(text, sizeof(text), "%.3f ±%.3f", measure_mean(m), measure_spread(m));
    fprintf(out, " %*s", CELL + (m->count > 1), text);
}

static void detail_row(const struct serve *s, uint32_t slo, FILE *out) {
    for (uint32_t i = 0; i < s->policy_count; i++) {
        const struct serve_cell *c = &s->cells[slo][i];
        fprintf(out,
                "      %-10s in time %.3f, served late %.3f, timed out %.3f, refused %.3f; a batch "
                "has %.2f, workers are busy %.2f\n",
                s->policies[i], measure_mean(&c->finished), measure_mean(&c->late),
                measure_mean(&c->timed_out), measure_mean(&c->refused), measure_mean(&c->batch),
                measure_mean(&c->busy));
    }
}

void serve_table(const struct serve *s, const struct serve_config *config, bool detail, FILE *out) {
    fprintf(out, "P99 alone %.2f ms; %.2f requests/s of at best %.2f\n\n",
            measure_mean(&s->p99_ns) / 1e6, measure_mean(&s->capacity) * config->demand.load,
            measure_mean(&s->capacity));
    fprintf(out, "%5s", "SLO");
    for (uint32_t i = 0; i < s->policy_count; i++)
        fprintf(out, " %*s", CELL, s->policies[i]);
    fputc('\n', out);
    for (uint32_t slo = 0; slo < config->slo_count; slo++) {
        fprintf(out, "%5.4g", config->slos[slo]);
        for (uint32_t i = 0; i < s->policy_count; i++)
            cell(&s->cells[slo][i].finished, out);
        fputc('\n', out);
        if (detail) detail_row(s, slo, out);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_measure(const char *name, const struct measure *m, double unit, FILE *out) {
    fprintf(out, "\"%s\":{\"mean\":%.9g,\"spread\":%.6g}", name, measure_mean(m) / unit,
            measure_spread(m) / unit);
}

static void json_cell(const char *policy, const struct serve_cell *c, FILE *out) {
    fprintf(out, "{\"policy\":\"%s\",", policy);
    json_measure("finish_rate", &c->finished, 1, out);
    fputc(',', out);
    json_measure("served_late", &c->late, 1, out);
    fputc(',', out);
    json_measure("timed_out", &c->timed_out, 1, out);
    fputc(',', out);
    json_measure("refused", &c->refused, 1, out);
    fputc(',', out);
    json_measure("batch", &c->batch, 1, out);
    fputc(',', out);
    json_measure("busy", &c->busy, 1, out);
    fputc('}', out);
}

void serve_json(const struct serve *s, const struct serve_config *config, FILE *out) {
    fprintf(out, "{\"schema\":1,\"seed\":%" PRIu64 ",\"seeds\":%" PRIu32 ",", config->seed,
            config->seeds);
    json_measure("p99_alone_s", &s->p99_ns, 1e9, out);
    fputc(',', out);
    json_measure("capacity", &s->capacity, 1, out);
    fputs(",\"slos\":[", out);
    for (uint32_t slo = 0; slo < config->slo_count; slo++) {
        fprintf(out, "%s{\"slo\":%.9g,\"policies\":[", slo ? "," : "", config->slos[slo]);
        for (uint32_t i = 0; i < s->policy_count; i++) {
            if (i) fputc(',', out);
            json_cell(s->policies[i], &s->cells[slo][i], out);
        }
        fputs("]}", out);
    }
    fputs("]}\n", out);
}
