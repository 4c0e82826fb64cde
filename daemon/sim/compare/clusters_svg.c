/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a comparison of policies: per policy one bar for what users notice and one for the cost.
 * For more than two days, also the used GPUs per day.
 */
#include "daemon/sim/compare/clusters_svg.h"

#include <math.h>

#include "daemon/sim/compare/clusters.h"

#define PANEL 330.0
#define HEIGHT 220.0
#define TOP 52.0
#define LEFT 56.0
#define GAP 60.0
#define BOTTOM 34.0
#define LINES 5

/* Distinct on white, and by lightness for colour-blind readers (Okabe and Ito). */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
                                      "#d55e00", "#f0e442", "#999999", "#000000", "#7f3b08"};
#define COLOURS (sizeof(colours) / sizeof(colours[0]))

struct panel {
    const struct clusters_config *config;
    FILE *out;
    double left, top, most;
};

static double y_of(const struct panel *p, double value) {
    return p->top + HEIGHT - value / p->most * HEIGHT;
}

/* Five times the least round number (1, 2 or 5 times a power of ten) that is at least a fifth of
 * the largest value. */
static double round_up(double largest) {
    double step = pow(10, floor(log10(fmax(largest, 1e-9) / LINES)));
    static const double times[] = {1, 2, 5, 10};
    for (size_t i = 0; i < 4; i++)
        if (step * times[i] * LINES >= largest) return step * times[i] * LINES;
    return step * 10 * LINES;
}

static void axis(const struct panel *p, const char *title) {
    fprintf(p->out, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"12\">%s</text>\n", p->left,
            p->top - 12, title);
    for (int i = 0; i <= LINES; i++) {
        double v = p->most * i / LINES;
        fprintf(p->out,
                "<path d=\"M%.1f %.1fh%.0f\" stroke=\"#ddd\"/>\n"
                "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"end\">%.4g</text>\n",
                p->left, y_of(p, v), PANEL, p->left - 5, y_of(p, v) + 3.5, v);
    }
}

static void bar(const struct panel *p, uint32_t policy, double value) {
    double slot = PANEL / p->config->policy_count, x = p->left + slot * (policy + 0.15);
    fprintf(p->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n"
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\" text-anchor=\"middle\">%.4g</text>\n"
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\" text-anchor=\"middle\">%s</text>\n",
            x, y_of(p, value), 0.7 * slot, p->top + HEIGHT - y_of(p, value),
            colours[policy % COLOURS], x + 0.35 * slot, y_of(p, value) - 3, value, x + 0.35 * slot,
            p->top + HEIGHT + (policy % 2 ? 24 : 13), p->config->policies[policy]);
}

/* Draws a panel with one measure in the given unit. */
static void bars(const struct clusters *c, const struct clusters_config *config, double left,
                 size_t offset, double unit, const char *title, FILE *out) {
    double values[CLUSTERS_POLICIES], largest = 0;
    for (uint32_t i = 0; i < config->policy_count; i++) {
        const char *cell = (const char *)&c->cells[i];
        values[i] = measure_mean((const struct measure *)(const void *)(cell + offset)) / unit;
        largest = fmax(largest, values[i]);
    }
    const struct panel p = {
        .config = config, .out = out, .left = left, .top = TOP, .most = round_up(largest)};
    axis(&p, title);
    for (uint32_t i = 0; i < config->policy_count; i++)
        bar(&p, i, values[i]);
}

/* ---- days ------------------------------------------------------------------------------------ */

static uint32_t most_days(const struct clusters *c, const struct clusters_config *config) {
    uint32_t days = 0;
    for (uint32_t i = 0; i < config->policy_count; i++)
        if (c->cells[i].day_count > days) days = c->cells[i].day_count;
    return days;
}

static void day_lines(const struct clusters *c, const struct clusters_config *config, double top,
                      uint32_t days, FILE *out) {
    double largest = 0, width = 3 * PANEL + 2 * GAP;
    for (uint32_t i = 0; i < config->policy_count; i++)
        for (uint32_t k = 0; k < c->cells[i].day_count; k++)
            largest = fmax(largest, c->cells[i].days[k].used_gpus / config->seeds);
    const struct panel p = {
        .config = config, .out = out, .left = LEFT, .top = top, .most = round_up(largest)};
    axis(&p, "GPUs with at least one job, day by day");
    for (uint32_t i = 0; i < config->policy_count; i++) {
        const struct clusters_cell *cell = &c->cells[i];
        fputs("<path d=\"", out);
        for (uint32_t k = 0; k < cell->day_count; k++)
            fprintf(out, "%c%.1f %.1f", k ? 'L' : 'M', LEFT + width * (k + 0.5) / days,
                    y_of(&p, cell->days[k].used_gpus / config->seeds));
        fprintf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
                colours[i % COLOURS]);
        fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"11\" fill=\"%s\">%s</text>\n",
                LEFT + 90.0 * i, top + HEIGHT + 18, colours[i % COLOURS], config->policies[i]);
    }
}

void clusters_svg(const struct clusters *c, const struct clusters_config *config, FILE *out) {
    uint32_t days = most_days(c, config);
    double width = LEFT + 3 * PANEL + 2 * GAP + 20, below = TOP + HEIGHT + BOTTOM;
    double height = days > 2 ? below + TOP + HEIGHT + BOTTOM : below;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%.0f\" y=\"20\" font-size=\"14\">%u jobs on %u GPUs</text>\n",
            width, height, LEFT, c->jobs, c->gpus);
    bars(c, config, LEFT, offsetof(struct clusters_cell, makespan), 60, "makespan, minutes", out);
    bars(c, config, LEFT + PANEL + GAP, offsetof(struct clusters_cell, wait), 60,
         "mean waiting, minutes", out);
    bars(c, config, LEFT + 2 * (PANEL + GAP), offsetof(struct clusters_cell, slowdown), 1,
         "mean running time of a job, relative to that alone", out);
    if (days > 2) day_lines(c, config, below + TOP, days, out);
    fputs("</svg>\n", out);
}
