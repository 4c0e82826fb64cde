/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a comparison like Figures 6 and 7 of the Orion paper: tail latency on the left, throughput
 * on the right, one bar per policy.
 */
#include "daemon/sim/compare/compare_svg.h"
#include "daemon/sim/compare/compare.h"
#include "daemon/sim/compare/compare_text.h"

#define PANEL 430.0 /* width of a panel's bars */
#define HEIGHT 260.0
#define TOP 54.0
#define LEFT 56.0
#define GAP 76.0 /* between the panels */
#define BOTTOM 40.0
#define RATIO_MOST 8.0 /* higher bars of latency are cut off, so that the others stay readable */

/* Distinct on white, and by lightness for colour-blind readers (Okabe and Ito). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#d55e00", "#f0e442", "#999999"};
#define COLOURS (sizeof(colours) / sizeof(colours[0]))

struct panel {
    const struct compare *c;
    FILE *out;
    double left, scale; /* pixels per unit */
    double most;        /* largest value that fits */
};

static double y_of(const struct panel *p, double value) {
    return TOP + HEIGHT - (value < p->most ? value : p->most) * p->scale;
}

static bool is_shown(const struct compare *c, uint32_t job) {
    bool any = false;
    for (uint32_t i = 0; i < c->w->count; i++)
        any |= c->w->jobs[i].priority > 0;
    return !any || c->w->jobs[job].priority > 0;
}

/* Draws grid lines at round values, with a scale for the largest value. */
static void panel_axis(struct panel *p, double largest, const char *title) {
    static const double steps[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    double step = steps[0];
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && largest / step > 6; i++)
        step = steps[i];
    while (largest / step > 6)
        step *= 2;
    p->most = ((uint32_t)(largest / step) + 1) * step;
    p->scale = HEIGHT / p->most;
    fprintf(p->out, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"13\">%s</text>\n", p->left, TOP - 14,
            title);
    for (double v = 0; v <= p->most * 1.001; v += step)
        fprintf(p->out,
                "<path d=\"M%.1f %.1fh%.0f\" stroke=\"#ddd\"/>\n"
                "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"end\">%g</text>\n",
                p->left, y_of(p, v), PANEL, p->left - 5, y_of(p, v) + 3.5, v);
}

static void panel_bar(const struct panel *p, double x, double width, double from, double to,
                      const char *colour) {
    fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
            y_of(p, to), width, y_of(p, from) - y_of(p, to), colour);
    if (to > p->most)
        fprintf(p->out, "<path d=\"M%.1f %.1fl%.1f -8\" stroke=\"#fff\" stroke-width=\"3\"/>\n", x,
                TOP + 18, width);
}

/* Prints the mean and its spread above a bar. */
static void panel_value(const struct panel *p, double x, const struct measure *m) {
    double mean = measure_mean(m), spread = measure_spread(m);
    if (spread > 0 && mean + spread < p->most)
        fprintf(p->out,
                "<path d=\"M%.1f %.1fV%.1fm-3 0h6m-6 %.1fh6\" stroke=\"#000\" fill=\"none\"/>\n", x,
                y_of(p, mean - spread), y_of(p, mean + spread), 2 * spread * p->scale);
    fprintf(p->out,
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"middle\">%.2f</text>\n", x,
            y_of(p, mean + spread) - 4, mean);
}

static void panel_name(const struct panel *p, uint32_t row) {
    double slot = PANEL / p->c->count;
    char label[COMPARE_LABEL];
    compare_label(&p->c->rows[row], label);
    fprintf(p->out,
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" text-anchor=\"middle\">%s</text>\n",
            p->left + slot * (row + 0.5), TOP + HEIGHT + 16, label);
}

/* Draws p99 relative to alone, one bar per shown job. */
static void latency_panel(const struct compare *c, FILE *out) {
    struct panel p = {.c = c, .out = out, .left = LEFT};
    double largest = 1, slot = PANEL / c->count;
    uint32_t shown = 0;
    for (uint32_t j = 0; j < c->w->count; j++) {
        shown += is_shown(c, j);
        for (uint32_t i = 0; i < c->count && is_shown(c, j); i++) {
            const struct measure *m = &c->rows[i].jobs[j].p99_ratio;
            double top = measure_mean(m) + measure_spread(m);
            if (top > largest) largest = top;
        }
    }
    if (largest > RATIO_MOST) largest = RATIO_MOST;
    panel_axis(&p, largest, "p99 latency / alone");
    for (uint32_t i = 0; i < c->count; i++) {
        double width = 0.7 * slot / shown, x = p.left + slot * (i + 0.15);
        for (uint32_t j = 0; j < c->w->count; j++) {
            const struct measure *m = &c->rows[i].jobs[j].p99_ratio;
            if (!is_shown(c, j)) continue;
            if (m->count) {
                panel_bar(&p, x, width, 0, measure_mean(m), colours[j % COLOURS]);
                panel_value(&p, x + width / 2, m);
            }
            x += width;
        }
        panel_name(&p, i);
    }
    fprintf(out, "<path d=\"M%.1f %.1fh%.0f\" stroke=\"#000\" stroke-dasharray=\"4 3\"/>\n", p.left,
            y_of(&p, 1), PANEL);
}

/* Draws rates relative to alone, stacked. */
static void throughput_panel(const struct compare *c, FILE *out) {
    struct panel p = {.c = c, .out = out, .left = LEFT + PANEL + GAP};
    double largest = 1, slot = PANEL / c->count;
    for (uint32_t i = 0; i < c->count; i++) {
        double top = measure_mean(&c->rows[i].total) + measure_spread(&c->rows[i].total);
        if (top > largest) largest = top;
    }
    panel_axis(&p, largest, "throughput: sum of the jobs' rates relative to those alone");
    for (uint32_t i = 0; i < c->count; i++) {
        double x = p.left + slot * (i + 0.2), width = 0.6 * slot, from = 0;
        for (uint32_t j = 0; j < c->w->count; j++) {
            double part = measure_mean(&c->rows[i].jobs[j].part);
            panel_bar(&p, x, width, from, from + part, colours[j % COLOURS]);
            if (part * p.scale > 12)
                fprintf(out,
                        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"#fff\" "
                        "text-anchor=\"middle\">%.2f</text>\n",
                        x + width / 2, y_of(&p, from + part / 2) + 3.5, part);
            from += part;
        }
        panel_value(&p, x + width / 2, &c->rows[i].total);
        panel_name(&p, i);
    }
}

static void legend(const struct compare *c, double y, FILE *out) {
    for (uint32_t j = 0; j < c->w->count; j++) {
        const struct workload_job *w = &c->w->jobs[j];
        const uint32_t row = j / 4, column = j % 4;
        double x = LEFT + column * 240.0, line = y + row * 18.0;
        fprintf(out,
                "<rect x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"11\" fill=\"%s\"/>\n"
                "<text x=\"%.0f\" y=\"%.0f\" font-size=\"11\">%s%s</text>\n",
                x, line - 10, colours[j % COLOURS], x + 16, line, w->name,
                w->priority > 0 ? " (high priority)" : "");
    }
}

void compare_svg(const struct compare *c, const char *title, FILE *out) {
    double width = LEFT + 2 * PANEL + GAP + 30, y = TOP + HEIGHT + BOTTOM;
    const uint32_t rows = (c->w->count + 3) / 4;
    double height = y + rows * 18.0 + 6;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%.0f\" y=\"20\" font-size=\"15\">%s</text>\n",
            width, height, LEFT, title);
    latency_panel(c, out);
    throughput_panel(c, out);
    legend(c, y + 8, out);
    fputs("</svg>\n", out);
}
