/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws each GPU: its memory as one bar, then each lane with its jobs, then jobs without a lane.
 */
#include "daemon/ctl/verbs/top_draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/text/units.h"
#include "daemon/ctl/cli/render.h"

#define BAR 40
#define LINE_BYTES 512
#define LONG_NS 1000000000u

/* ---- rates ----------------------------------------------------------------------------------- */

static const struct ctl_job *job_at(const struct query *q, size_t i) {
    return query_record(q, i);
}

static const struct ctl_job *find(const struct top_view *v, uint64_t id) {
    for (size_t i = 0; v && i < v->jobs.count; i++)
        if (job_at(&v->jobs, i)->id == id) return job_at(&v->jobs, i);
    return NULL;
}

/* Device time since the previous view; a job that is new began at 0. */
static uint64_t busy_between(const struct top_view *before, const struct ctl_job *j) {
    const struct ctl_job *old = find(before, j->id);
    uint64_t was = old ? old->busy_ns : 0;

    return j->busy_ns > was ? j->busy_ns - was : 0;
}

/* A sleeping job is due no device time. */
static bool competes(const struct ctl_job *j, uint64_t busy_ns) {
    return strcmp(j->state, "running") == 0 && (busy_ns || *j->why);
}

static bool goes_by_weight(const struct top_view *v, uint64_t gpu) {
    for (size_t i = 0; i < v->gpus.count; i++) {
        const struct ctl_gpu *g = query_record(&v->gpus, i);

        if (g->id == gpu) return strcmp(g->lane_policy, "fair") == 0;
    }
    return false;
}

void top_rate(const struct top_view *before, const struct top_view *now, const struct ctl_job *j,
              struct top_rate *out) {
    const struct ctl_job *old = find(before, j->id);
    uint64_t all_busy = 0, weights = 0, busy = busy_between(before, j);
    double seconds;

    *out = (struct top_rate){.share = -1, .entitled = -1, .iterations = -1, .busy = -1};
    for (size_t i = 0; i < now->jobs.count; i++) {
        const struct ctl_job *o = job_at(&now->jobs, i);

        uint64_t took = busy_between(before, o);

        if (o->gpu != j->gpu) continue;
        all_busy += took;
        if (competes(o, took)) weights += o->weight;
    }
    if (weights && competes(j, busy) && goes_by_weight(now, j->gpu))
        out->entitled = (double)j->weight / (double)weights;
    if (!before || now->at_ns <= before->at_ns) return;
    seconds = (double)(now->at_ns - before->at_ns) / 1e9;
    out->busy = (double)busy / 1e9 / seconds;
    if (old && j->iterations >= old->iterations)
        out->iterations = (double)(j->iterations - old->iterations) / seconds;
    if (all_busy) out->share = (double)busy / (double)all_busy;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Prints a line, truncated to the width. */
__attribute__((format(printf, 3, 4))) static void line(FILE *out, int width, const char *fmt, ...) {
    char text[LINE_BYTES];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(out, "%.*s\n", width, text);
}

/* Appends as many marks to a bar as `bytes` are of `whole`, at least one if `bytes` is not 0. */
static int add_marks(char *bar, int used, char mark, uint64_t bytes, uint64_t whole) {
    int n = whole ? (int)((double)bytes / (double)whole * BAR + 0.5) : 0;

    if (bytes && n == 0) n = 1;
    for (; n > 0 && used < BAR; n--)
        bar[used++] = mark;
    return used;
}

static void close_bar(char *bar, int used) {
    memset(bar + used, '.', (size_t)(BAR - used));
    bar[BAR] = '\0';
}

static char digit(uint64_t lane) {
    return (char)(lane < 10 ? '0' + (int)lane : '#');
}

static void draw_memory(FILE *out, int width, const struct top_view *v, const struct ctl_gpu *g) {
    uint64_t lanes = 0;
    char bar[BAR + 1], granted[24], all[24];
    int used = 0;

    for (size_t i = 0; i < v->lanes.count; i++) {
        const struct ctl_lane *l = query_record(&v->lanes, i);

        if (l->gpu == g->id) lanes += l->memory_bytes;
    }
    if (g->granted_bytes > lanes)
        used = add_marks(bar, used, '=', g->granted_bytes - lanes, g->memory_bytes);
    for (size_t i = 0; i < v->lanes.count; i++) {
        const struct ctl_lane *l = query_record(&v->lanes, i);

        if (l->gpu == g->id)
            used = add_marks(bar, used, digit(l->id), l->memory_bytes, g->memory_bytes);
    }
    close_bar(bar, used);
    units_print_bytes(g->granted_bytes, granted, sizeof(granted));
    units_print_bytes(g->memory_bytes, all, sizeof(all));
    line(out, width, "memory [%s] %s of %s granted; = persistent, 0-9 lanes", bar, granted, all);
}

static void draw_head(FILE *out, int width, const struct top_view *v, const struct ctl_gpu *g) {
    bool controlled = *g->control_policy && strcmp(g->control_policy, "open") != 0;

    line(out, width,
         "GPU %" PRIu64 " %s, %s   policy %s + %s%s%s   %" PRIu64 " jobs, %" PRIu64 " waiting",
         g->id, *g->name ? g->name : g->device, g->state, g->lane_policy, g->kernel_policy,
         controlled ? " + " : "", controlled ? g->control_policy : "", g->jobs, g->waiting);
    draw_memory(out, width, v, g);
}

static void percent(double part, char *out, size_t cap) {
    if (part < 0)
        snprintf(out, cap, "-");
    else
        snprintf(out, cap, "%.0f%%", part * 100);
}

static void draw_columns(FILE *out, int width) {
    line(out, width, "    %5s %-14s %-9s %10s %10s %5s %5s %5s %8s %8s %s", "ID", "NAME", "STATE",
         "PERSISTENT", "EPHEMERAL", "GOT", "DUE", "BUSY", "ITER/S", "EACH", "WHY");
}

/* Explains a job: that it is not computed, since its name may be truncated; and why it does not
 * run, or which of its operations has run for long. */
static void explain(const struct ctl_job *j, char *out, size_t cap) {
    bool runs = !*j->why && j->running_ns >= LONG_NS, null = strcmp(j->mode, "null") == 0;
    char age[24], text[CTL_TEXT_BYTES];

    snprintf(text, sizeof(text), "%.300s", j->why);
    if (runs) {
        render_duration(j->running_ns, age, sizeof(age));
        snprintf(text, sizeof(text), "%.150s runs for %s", j->running, age);
    }
    snprintf(out, cap, "%s%s%.300s", null ? "not computed" : "", null && *text ? "; " : "", text);
}

static void draw_job(FILE *out, int width, const struct top_view *before,
                     const struct top_view *now, const struct ctl_job *j) {
    char got[8], due[8], busy[8], rate[16] = "-", each[24] = "-", p[24], e[24], why[CTL_TEXT_BYTES];
    struct top_rate r;

    top_rate(before, now, j, &r);
    percent(r.share, got, sizeof(got));
    percent(r.entitled, due, sizeof(due));
    percent(r.busy, busy, sizeof(busy));
    if (r.iterations >= 0) snprintf(rate, sizeof(rate), "%.3g", r.iterations);
    if (j->iteration_ns) render_duration(j->iteration_ns, each, sizeof(each));
    units_print_bytes(j->persistent_bytes, p, sizeof(p));
    units_print_bytes(j->ephemeral_bytes, e, sizeof(e));
    explain(j, why, sizeof(why));
    line(out, width, "  %s %5" PRIu64 " %-14.14s %-9s %10s %10s %5s %5s %5s %8s %8s %s",
         j->turn ? "*" : " ", j->id, j->name, j->state, p, e, got, due, busy, rate, each, why);
}

/* Draws the job's target, or its pause and share for the targets of others. */
static void draw_slo(FILE *out, int width, const struct ctl_job *j) {
    char target[24], measured[24], pause[24];

    if (j->slo_ns) {
        render_duration(j->slo_ns, target, sizeof(target));
        render_duration(j->measured_ns, measured, sizeof(measured));
        line(out, width,
             "          target %s %s, measured %s; exceeded in %" PRIu64 " of %" PRIu64
             " periods, other jobs could give up no more in %" PRIu64,
             j->slo_of, target, measured, j->violations, j->periods, j->stuck);
    }
    if (j->pause_ns) {
        render_duration(j->pause_ns, pause, sizeof(pause));
        line(out, width, "          pauses for %s after each iteration, for another job's target",
             pause);
    }
    if (j->sms) line(out, width, "          may use %" PRIu64 " multiprocessors", j->sms);
}

/* Draws the jobs of a GPU's lane, given as in a job's field; 0: jobs without one. Returns their
 * number. */
static int draw_jobs(FILE *out, int width, const struct top_view *before,
                     const struct top_view *now, uint64_t gpu, uint64_t lane) {
    int count = 0;

    for (size_t i = 0; i < now->jobs.count; i++) {
        const struct ctl_job *j = job_at(&now->jobs, i);

        if (j->gpu != gpu || j->lane != lane) continue;
        if (count++ == 0 && lane == 0) line(out, width, "in no lane");
        draw_job(out, width, before, now, j);
        draw_slo(out, width, j);
    }
    return count;
}

static void draw_lane(FILE *out, int width, const struct ctl_gpu *g, const struct ctl_lane *l) {
    char bar[BAR + 1], size[24];

    close_bar(bar, add_marks(bar, 0, digit(l->id), l->memory_bytes, g->memory_bytes));
    units_print_bytes(l->memory_bytes, size, sizeof(size));
    line(out, width, "lane %-3" PRIu64 "[%s] %s, %" PRIu64 " jobs, %" PRIu64 " switches", l->id,
         bar, size, l->jobs, l->switches);
}

static void draw_gpu(FILE *out, int width, const struct top_view *before,
                     const struct top_view *now, const struct ctl_gpu *g) {
    draw_head(out, width, now, g);
    if (now->jobs.count && g->id == 0) draw_columns(out, width);
    for (size_t i = 0; i < now->lanes.count; i++) {
        const struct ctl_lane *l = query_record(&now->lanes, i);

        if (l->gpu != g->id) continue;
        draw_lane(out, width, g, l);
        draw_jobs(out, width, before, now, g->id, l->id + 1);
    }
    draw_jobs(out, width, before, now, g->id, 0);
}

void top_draw(FILE *out, int width, const struct top_view *before, const struct top_view *now) {
    for (size_t i = 0; i < now->gpus.count; i++)
        draw_gpu(out, width, before, now, query_record(&now->gpus, i));
}
