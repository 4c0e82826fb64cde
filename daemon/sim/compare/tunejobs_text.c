/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes tuning jobs as a table and as JSON.
 */
#include "daemon/sim/compare/tunejobs_text.h"

#include <inttypes.h>
#include <math.h>

#include "daemon/sim/compare/tunejobs.h"

/* Prints "1.31 x/1.04": the geometric mean, and the factor of its interval. */
static void gain(const struct tunejobs_cell *cell, FILE *out) {
    char text[40];
    if (cell->log_gain.count > 1)
        snprintf(text, sizeof(text), "%.2f x/%.2f", tunejobs_gain(cell), tunejobs_factor(cell));
    else
        snprintf(text, sizeof(text), "%.2f", tunejobs_gain(cell));
    fprintf(out, "  %-11s", text);
}

static void row(const struct tunejobs *t, const struct tunejobs_config *c, const uint32_t at[4],
                FILE *out) {
    const struct tunejobs_cell *cell = tunejobs_at(t, c, at[0], at[1], at[2], at[3]);
    char reached[24];
    snprintf(reached, sizeof(reached), "%" PRIu32 "/%" PRIu32, cell->target_s.count,
             cell->time_s.count);
    fprintf(out, "%-8s %-10s %4" PRIu32 "  %-10s %8.0f s", c->tasks[at[0]].name,
            c->kinds[at[1]]->name, c->gpus[at[2]], c->modes[at[3]]->name,
            measure_mean(&cell->time_s));
    gain(cell, out);
    fprintf(out, " %5.2f  %5.2f  %7.1f  %9s\n", measure_mean(&cell->busy),
            measure_mean(&cell->work), measure_mean(&cell->resizes), reached);
}

/* Calls `each` for all cells; the modes of a job follow one another. */
typedef void each_fn(const struct tunejobs *t, const struct tunejobs_config *c,
                     const uint32_t at[4], FILE *out);

static void walk(const struct tunejobs *t, const struct tunejobs_config *c, each_fn *each,
                 FILE *out) {
    uint32_t cells = c->task_count * c->kind_count * c->gpu_count * c->mode_count;
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t job = i / c->mode_count;
        const uint32_t at[4] = {job / c->gpu_count / c->kind_count,
                                job / c->gpu_count % c->kind_count, job % c->gpu_count,
                                i % c->mode_count};
        each(t, c, at, out);
    }
}

void tunejobs_table(const struct tunejobs *t, const struct tunejobs_config *c, FILE *out) {
    fprintf(out, "%-8s %-10s %4s  %-10s %10s  %-11s %5s  %5s  %7s  %9s\n", "task", "algorithm",
            "GPUs", "mode", "time", "faster", "busy", "work", "resizes", "reached");
    walk(t, c, row, out);
}

static void json_measure(const char *name, const struct measure *m, FILE *out) {
    fprintf(out, ",\"%s\":{\"mean\":%.9g,\"spread\":%.6g,\"count\":%" PRIu32 "}", name,
            measure_mean(m), measure_spread(m), m->count);
}

static void object(const struct tunejobs *t, const struct tunejobs_config *c, const uint32_t at[4],
                   FILE *out) {
    const struct tunejobs_cell *cell = tunejobs_at(t, c, at[0], at[1], at[2], at[3]);
    bool first = !(at[0] || at[1] || at[2] || at[3]);
    fprintf(out, "%s{\"task\":\"%s\",\"algorithm\":\"%s\",\"gpus\":%" PRIu32 ",\"mode\":\"%s\"",
            first ? "" : ",", c->tasks[at[0]].name, c->kinds[at[1]]->name, c->gpus[at[2]],
            c->modes[at[3]]->name);
    fprintf(out, ",\"faster\":%.9g,\"factor\":%.6g", tunejobs_gain(cell), tunejobs_factor(cell));
    json_measure("time_s", &cell->time_s, out);
    json_measure("target_s", &cell->target_s, out);
    json_measure("busy", &cell->busy, out);
    json_measure("work", &cell->work, out);
    json_measure("resizes", &cell->resizes, out);
    json_measure("runs", &cell->runs, out);
    fputc('}', out);
}

void tunejobs_json(const struct tunejobs *t, const struct tunejobs_config *c, FILE *out) {
    fprintf(out, "{\"schema\":1,\"seed\":%" PRIu64 ",\"seeds\":%" PRIu32 ",\"jobs\":[",
            c->tuning.seed, c->seeds);
    walk(t, c, object, out);
    fputs("]}\n", out);
}
