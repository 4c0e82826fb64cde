/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the timeline (timeline.h). Spans narrower than a pixel share one bar.
 */
#include "daemon/sim/report/timeline_svg.h"
#include "daemon/sim/report/timeline.h"

#include <errno.h>
#include <stdlib.h>

#define LEFT 150.0
#define WIDTH 1000.0
#define TOP 34.0
#define BOTTOM 30.0

/* Distinct on white, and by lightness for colour-blind readers (Okabe and Ito). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#d55e00", "#f0e442", "#000000"};
#define COLOURS (sizeof(colours) / sizeof(colours[0]))

struct picture {
    const struct timeline *t;
    const struct workload *w;
    const struct sim_result *r;
    FILE *out;
    double row; /* height of a job's row */
    uint64_t begin_ns;
    double scale; /* pixels per nanosecond */
};

static double x_of(const struct picture *p, uint64_t ns) {
    return LEFT + (double)(ns - p->begin_ns) * p->scale;
}

static double y_of(const struct picture *p, uint32_t job) {
    return TOP + p->row * job;
}

static void bar(const struct picture *p, const struct timeline_span *s) {
    double x = x_of(p, s->start_ns), width = x_of(p, s->end_ns) - x;
    double part =
        s->end_ns > s->start_ns ? (double)s->ran_ns / (double)(s->end_ns - s->start_ns) : 1;
    if (width < 0.5) width = 0.5;
    fprintf(p->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
            "opacity=\"%.2f\"/>\n",
            x, y_of(p, s->job) + 0.1 * p->row, width, 0.8 * p->row, colours[s->lane % COLOURS],
            part < 0.15 ? 0.15 : part);
}

/* Merges bars of a job that touch the same pixel. */
static void bars(const struct picture *p, struct timeline_span *open) {
    uint64_t pixel_ns = (uint64_t)(1 / p->scale);
    for (uint32_t i = 0; i < p->t->jobs; i++)
        open[i].end_ns = 0;
    for (uint32_t i = 0; i < p->t->count; i++) {
        const struct timeline_span *s = &p->t->spans[i];
        struct timeline_span *o = &open[s->job];
        if (o->end_ns && o->lane == s->lane && s->start_ns - o->end_ns <= pixel_ns) {
            o->end_ns = s->end_ns;
            o->ran_ns += s->ran_ns;
            continue;
        }
        if (o->end_ns) bar(p, o);
        *o = *s;
    }
    for (uint32_t i = 0; i < p->t->jobs; i++)
        if (open[i].end_ns) bar(p, &open[i]);
}

static void rows(const struct picture *p) {
    double font = p->row < 10 ? p->row : 10;
    for (uint32_t i = 0; i < p->t->jobs; i++) {
        const struct sim_job_result *j = &p->r->jobs[i];
        double y = y_of(p, i), x = x_of(p, p->w->jobs[i].arrival_ns);
        if (font >= 5)
            fprintf(
                p->out,
                "<text x=\"%.0f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT - 6, y + 0.8 * p->row, font, p->w->jobs[i].name);
        if (j->first_run_ns == SIM_NEVER) continue;
        fprintf(p->out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#ddd\"/>\n"
                "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#bbb\" stroke-width=\"0.5\"/>\n",
                x, y + 0.25 * p->row, x_of(p, j->first_run_ns) - x, 0.5 * p->row,
                x_of(p, j->first_run_ns), y + 0.5 * p->row, x_of(p, j->end_ns));
    }
}

/* Draws five to ten round times. */
static void axis(const struct picture *p, double height) {
    static const double steps[] = {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3,
                                   2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,  1,    2,
                                   5,    10,   15,   30,   60,   120,  300,  600,  1200, 1800};
    double span = (double)(p->r->end_ns - p->begin_ns) / 1e9, step = steps[0];
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && span / step > 10; i++)
        step = steps[i];
    while (span / step > 10)
        step *= 2;
    for (int i = 0; i * step <= span; i++) {
        double x = LEFT + i * step * 1e9 * p->scale;
        fprintf(p->out, "<path d=\"M%.1f %.0fV%.1f\" stroke=\"#eee\"/>\n", x, TOP, height - BOTTOM);
        fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"middle\">", x,
                height - BOTTOM + 14);
        if (step >= 60)
            fprintf(p->out, "%g min</text>\n", i * step / 60);
        else
            fprintf(p->out, "%g s</text>\n", i * step);
    }
}

int timeline_svg(const struct timeline *t, const struct workload *w, const struct sim_result *r,
                 const char *title, FILE *out) {
    struct timeline_span *open = malloc((t->jobs + 1u) * sizeof(*open));
    if (!open) return -ENOMEM;
    uint64_t span = r->end_ns - r->begin_ns;
    struct picture p = {.t = t, .w = w, .r = r, .out = out, .begin_ns = r->begin_ns};
    p.scale = WIDTH / (double)(span ? span : 1);
    p.row = t->jobs <= 20 ? 20 : t->jobs <= 200 ? 9 : 1800.0 / t->jobs;
    double height = TOP + p.row * t->jobs + BOTTOM;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%.0f\" y=\"20\" font-size=\"14\">%s</text>\n",
            LEFT + WIDTH + 30, height, LEFT, title);
    axis(&p, height);
    rows(&p);
    bars(&p, open);
    fputs("</svg>\n", out);
    free(open);
    return 0;
}
