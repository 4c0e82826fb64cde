/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the advice: per policy a group of bars with each job's time relative to alone, with minimum
 * and maximum over the starts; and the gain.
 */
#include "daemon/sim/compare/advise_svg.h"
#include "daemon/sim/compare/advise.h"

#define LEFT 170.0
#define WIDTH 560.0
#define TOP 64.0
#define BAR 11.0
#define SPACE 12.0
#define MOST 6.0 /* longer bars are cut off, so that the others stay readable */
#define JOBS 8u

/* Distinct on white, and by lightness for colour-blind readers (Okabe and Ito). */
static const char *const colours[JOBS] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                          "#56b4e9", "#d55e00", "#f0e442", "#999999"};

struct picture {
    const struct advise *a;
    FILE *out;
    uint32_t jobs;
    double scale; /* pixels per unit */
    double most;
};

static double x_of(const struct picture *p, double value) {
    return LEFT + (value < p->most ? value : p->most) * p->scale;
}

static void axis(const struct picture *p, double bottom) {
    for (double v = 0; v <= p->most; v += 1)
        fprintf(p->out,
                "<path d=\"M%.1f %.0fV%.1f\" stroke=\"%s\"/>\n<text x=\"%.1f\" y=\"%.0f\" "
                "font-size=\"10\" text-anchor=\"middle\">%gx</text>\n",
                x_of(p, v), TOP - 6, bottom, v == 1 ? "#000" : "#ddd", x_of(p, v), TOP - 10, v);
}

static void bar(const struct picture *p, const struct advise_range *s, uint32_t job, double y) {
    double mean = advise_mean(s), x = x_of(p, mean);
    fprintf(p->out,
            "<rect x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\"/>\n"
            "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#000\"/>\n"
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\">%.2f</text>\n",
            LEFT, y, x - LEFT, BAR - 1, colours[job], x_of(p, s->least), y + BAR / 2,
            x_of(p, s->most), x_of(p, s->most) + 4, y + BAR - 2, mean);
}

static void group(const struct picture *p, uint32_t row, double y) {
    const struct advise_row *r = &p->a->rows[row];
    char label[ADVISE_LABEL];
    advise_label(r, label);
    fprintf(p->out,
            "<text x=\"%.0f\" y=\"%.1f\" font-size=\"11\" text-anchor=\"end\"%s>%s</text>\n"
            "<text x=\"%.0f\" y=\"%.1f\" font-size=\"11\">gain %.2f</text>\n",
            LEFT - 8, y + BAR, row == p->a->best ? " font-weight=\"bold\"" : "", label,
            LEFT + WIDTH + 34, y + BAR, advise_mean(&r->gain));
    for (uint32_t i = 0; i < p->jobs; i++) {
        const struct advise_range *s = &r->slowdowns[p->a->w.jobs[i].number];
        if (s->count) bar(p, s, i, y + i * BAR);
    }
}

static void legend(const struct picture *p) {
    for (uint32_t i = 0; i < p->jobs; i++)
        fprintf(p->out,
                "<rect x=\"%.0f\" y=\"32\" width=\"10\" height=\"10\" fill=\"%s\"/>\n"
                "<text x=\"%.0f\" y=\"41\" font-size=\"11\">%s</text>\n",
                8 + i * 110.0, colours[i], 22 + i * 110.0, p->a->w.jobs[i].name);
}

void advise_svg(const struct advise *a, FILE *out) {
    struct picture p = {.a = a, .out = out, .jobs = a->w.count < JOBS ? a->w.count : JOBS};
    double each = p.jobs * BAR + SPACE, bottom = TOP + a->count * each;
    p.most = 2;
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < p.jobs; j++) {
            double most = a->rows[i].slowdowns[a->w.jobs[j].number].most;
            if (most > p.most) p.most = most < MOST ? (uint32_t)most + 1 : MOST;
        }
    p.scale = WIDTH / p.most;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"8\" y=\"20\" font-size=\"15\">Time relative to the time alone: %s</text>\n",
            LEFT + WIDTH + 110, bottom + 8,
            a->refused != UINT32_MAX ? "one of the jobs is refused"
            : a->together            ? "share"
                                     : "run apart");
    axis(&p, bottom);
    legend(&p);
    for (uint32_t i = 0; i < a->count && a->refused == UINT32_MAX; i++)
        group(&p, i, TOP + i * each);
    fputs("</svg>\n", out);
}
