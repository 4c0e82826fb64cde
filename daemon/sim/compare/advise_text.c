/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the advice as sentences and as JSON. File names come from the user; job names are valid by
 * the file format.
 */
#include "daemon/sim/compare/advise_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "daemon/sim/compare/advise.h"
#include "daemon/sim/report/refused.h"

#define NAME 24
#define TOLD_JOBS 16u /* listed in sentences; JSON lists all */

static void print_time(double s, char out[32]) {
    if (s >= 100)
        snprintf(out, 32, "%.0f s", s);
    else if (s >= 1)
        snprintf(out, 32, "%.2f s", s);
    else
        snprintf(out, 32, "%.2f ms", s * 1e3);
}

static const char *file_name(const struct advise *a, const struct workload_job *j) {
    const char *path = a->paths[workload_merge_file(a->files, a->files_count, j->number)];
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void say_jobs(const struct advise *a, FILE *out) {
    char alone[32];
    for (uint32_t i = 0; i < a->w.count && i < TOLD_JOBS; i++) {
        const struct workload_job *j = &a->w.jobs[i];
        print_time(advise_mean(&a->alone_s[j->number]), alone);
        fprintf(out, "%s (%s) alone: %s%s.\n", j->name, file_name(a, j), alone,
                workload_serves(j) ? " a request" : "");
    }
    if (a->w.count > TOLD_JOBS)
        fprintf(out, "%" PRIu32 " more jobs are not listed.\n", a->w.count - TOLD_JOBS);
}

static void say_refused(const struct advise *a, FILE *out) {
    const struct sim_job_result r = {.refused = a->refused_why};
    char why[REFUSED_BYTES];
    for (uint32_t i = 0; i < a->w.count; i++)
        if (a->w.jobs[i].number == a->refused && refused_why(&a->w, &r, i, why))
            fprintf(out, "The jobs cannot run together: %s (%s) is refused: %s.\n",
                    a->w.jobs[i].name, file_name(a, &a->w.jobs[i]), why);
}

static void say_gain(const struct advise *a, const struct advise_row *row, FILE *out) {
    char together[32], apart[32];
    double gain = advise_mean(&row->gain);
    print_time(advise_mean(&row->makespan_s), together);
    print_time(advise_mean(&a->apart_s), apart);
    if (a->by_rates)
        fprintf(out, "The shared device does as much work as %.2f devices with one job each", gain);
    else
        fprintf(out,
                "All jobs end after %s together, and after %s one after the other: %.2f times the "
                "throughput",
                together, apart, gain);
    fprintf(out, " (%.2f to %.2f).\n", row->gain.least, row->gain.most);
}

static void say_losses(const struct advise *a, const struct advise_row *row, FILE *out) {
    for (uint32_t i = 0; i < a->w.count && i < TOLD_JOBS; i++) {
        const struct workload_job *j = &a->w.jobs[i];
        const struct advise_range *s = &row->slowdowns[j->number];
        if (s->count == 0)
            fprintf(out, "  %s completes nothing.\n", j->name);
        else
            fprintf(out, "  %s takes %.2f times as long as alone (%.2f to %.2f)%s.\n", j->name,
                    advise_mean(s), s->least, s->most, workload_serves(j) ? " for a request" : "");
    }
}

static void say_verdict(const struct advise *a, FILE *out) {
    const struct advise_row *best = &a->rows[a->best];
    char label[ADVISE_LABEL];
    advise_label(best, label);
    if (a->together) {
        fprintf(out, "Run the jobs together, under %s:\n  salusctl policy set --lane %s", label,
                best->lane);
        if (best->kernel) fprintf(out, " --kernel %s", best->kernel);
        fprintf(out, " exclusive=%s\n", best->exclusive ? "yes" : "auto");
    } else {
        fprintf(out, "Run the jobs apart: %s.\n",
                advise_mean(&best->gain) < ADVISE_WORTH
                    ? "sharing gains less than 5 % under any policy"
                    : "under every policy that gains something, a job loses more than --most-loss");
        fprintf(out, "The best policy, %s, would give:\n", label);
    }
    say_losses(a, best, out);
    say_gain(a, best, out);
}

static void say_others(const struct advise *a, FILE *out) {
    char label[ADVISE_LABEL];
    fprintf(out, "\n%-22s %6s", "POLICY", "GAIN");
    for (uint32_t i = 0; i < a->w.count && i < 6; i++)
        fprintf(out, " %*.*s", 12, 12, a->w.jobs[i].name);
    fputc('\n', out);
    for (uint32_t k = 0; k < a->count; k++) {
        advise_label(&a->rows[k], label);
        fprintf(out, "%-22s %5.2fx", label, advise_mean(&a->rows[k].gain));
        for (uint32_t i = 0; i < a->w.count && i < 6; i++)
            fprintf(out, " %11.2fx", advise_mean(&a->rows[k].slowdowns[a->w.jobs[i].number]));
        fputs(k == a->best ? "  <\n" : "\n", out);
    }
}

/* Number of starts whose result agrees with the verdict of the mean. */
static uint32_t agreeing(const struct advise *a) {
    const struct advise_row *best = &a->rows[a->best];
    return a->together ? best->fits : a->config->starts - best->fits;
}

/* Collects limits of the simulation, the most important first. */
static uint32_t doubts(const struct advise *a, const char *out[4]) {
    uint32_t n = 0;
    if (!workload_of_kernels(&a->w) && !a->w.left_milli)
        out[n++] = "how concurrent iterations slow each other down, beyond sharing the device "
                   "(record with --kernels to model it)";
    if (a->guessed > 0.2) out[n++] = "the unknown classes of many kernels, which are guessed";
    if (a->w.sliced)
        out[n++] =
            "other programs on the processors of the software GPU, beyond one common figure (left)";
    else
        out[n++] = "caches, copies that slow each other down, and the programs' own processors";
    return n;
}

void advise_text(const struct advise *a, FILE *out) {
    const char *why[4];
    if (a->refused != UINT32_MAX) {
        say_refused(a, out);
        return;
    }
    say_jobs(a, out);
    fprintf(out, "Goal: %s.\n\n",
            a->goal == ADVISE_LATENCY ? "jobs that serve or have a priority lose little"
            : a->goal == ADVISE_FAIR  ? "no job loses much"
                                      : "as much work as possible");
    say_verdict(a, out);
    say_others(a, out);
    fprintf(out, "\nCertainty: %" PRIu32 " of %" PRIu32 " starts, each with other offsets, agree.",
            agreeing(a), a->config->starts);
    for (uint32_t i = 0, n = doubts(a, why); i < n; i++)
        fprintf(out, "%s %s", i ? ";" : " Not modelled:", why[i]);
    fputs(".\n", out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_range(const char *name, const struct advise_range *r, FILE *out) {
    if (r->count == 0)
        fprintf(out, ",\"%s\":null", name);
    else
        fprintf(out, ",\"%s\":{\"mean\":%.6g,\"least\":%.6g,\"most\":%.6g}", name, advise_mean(r),
                r->least, r->most);
}

static void json_row(const struct advise *a, const struct advise_row *row, FILE *out) {
    fprintf(out, "{\"lane\":\"%s\"", row->lane);
    if (row->kernel) fprintf(out, ",\"kernel\":\"%s\"", row->kernel);
    fprintf(out, ",\"exclusive\":%s", row->exclusive ? "true" : "false");
    json_range("gain", &row->gain, out);
    json_range("makespan_s", &row->makespan_s, out);
    fputs(",\"jobs\":[", out);
    for (uint32_t i = 0; i < a->w.count; i++) {
        const struct workload_job *j = &a->w.jobs[i];
        fprintf(out, "%s{\"name\":\"%s\",\"file\":%" PRIu32, i ? "," : "", j->name,
                workload_merge_file(a->files, a->files_count, j->number) + 1);
        json_range("alone_s", &a->alone_s[j->number], out);
        json_range("slowdown", &row->slowdowns[j->number], out);
        fputc('}', out);
    }
    fputs("]}", out);
}

void advise_json(const struct advise *a, FILE *out) {
    const char *why[4];
    bool refused = a->refused != UINT32_MAX;
    fprintf(out, "{\"schema\":1,\"seed\":%" PRIu64 ",\"starts\":%" PRIu32 ",\"goal\":\"%s\"",
            a->config->seed, a->config->starts, advise_goal_name(a->goal));
    fprintf(out, ",\"gain_of\":\"%s\"", a->by_rates ? "rates" : "makespan");
    json_range("apart_s", &a->apart_s, out);
    for (uint32_t i = 0; i < a->w.count && refused; i++)
        if (a->w.jobs[i].number == a->refused)
            fprintf(out, ",\"refused\":\"%s\"", a->w.jobs[i].name);
    fprintf(out, ",\"together\":%s", refused ? "null" : a->together ? "true" : "false");
    if (!refused) {
        fprintf(out, ",\"agree\":%" PRIu32 ",\"best\":%" PRIu32 ",\"not_modelled\":[", agreeing(a),
                a->best);
        for (uint32_t i = 0, n = doubts(a, why); i < n; i++)
            fprintf(out, "%s\"%s\"", i ? "," : "", why[i]);
        fputs("],\"policies\":[", out);
        for (uint32_t i = 0; i < a->count; i++) {
            if (i) fputc(',', out);
            json_row(a, &a->rows[i], out);
        }
        fputc(']', out);
    }
    fputs("}\n", out);
}
