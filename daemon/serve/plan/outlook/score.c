/* SPDX-License-Identifier: Apache-2.0
 *
 * Points and milestones.
 */
#include "daemon/serve/plan/outlook/score.h"

#include "daemon/serve/plan/outlook/expo.h"

#define MS 1e6

/* Appends a piece. One that begins where the latest begins replaces it: bins that touch, or have no
 * width. */
static void push(struct score_shape *s, uint64_t from_ns, double a, double beta) {
    if (s->count == 0 || s->pieces[s->count - 1].from_ns != from_ns) s->count++;
    s->pieces[s->count - 1] = (struct score_piece){from_ns, a, beta};
}

/* A bin without width has its first form, which is then e^(b l), and no second form. */
void score_build(struct score_shape *s, const uint64_t *edges, const double *mass, uint32_t bins,
                 double mean_ns, double b_per_ns) {
    double a = 0; /* a of the bins so far, relative to `from` */
    uint64_t from = 0;
    s->count = 0;
    for (uint32_t i = 0; i < bins; i++) {
        if (mass[i] <= 0) continue;
        double part = mass[i] * MS / mean_ns;
        double wide = b_per_ns * (double)(edges[i + 1] - edges[i]);
        double less = expo_less_one(-wide), weight = wide > 0 ? part / wide : 0;
        a *= expo(-b_per_ns * (double)(edges[i] - from));
        push(s, edges[i], a - weight, weight);
        a = a * (1 + less) + (wide > 0 ? -weight * less : part);
        push(s, edges[i + 1], a, 0);
        from = edges[i + 1];
    }
}

/* The last piece that begins before `left_ns`; `count` if there is none, because all bins have the
 * third form. */
static uint32_t piece_of(const struct score_shape *s, uint64_t left_ns) {
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->pieces[middle].from_ns < left_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : s->count;
}

struct score_point score_at(const struct score_shape *s, const struct score_clock *clock,
                            uint64_t deadline_ns, uint64_t now_ns) {
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uint32_t i = piece_of(s, left_ns);
    if (i == s->count) return (struct score_point){0, 0, SCORE_NEVER};
    const struct score_piece *p = &s->pieces[i];
    /* Relative to the base, like the current time. */
    double due_ns = (double)(deadline_ns - clock->base_ns);
    return (struct score_point){p->a * expo(clock->b_per_ns * ((double)p->from_ns - due_ns)),
                                p->beta, deadline_ns - p->from_ns};
}

double score_x(const struct score_clock *clock, uint64_t now_ns) {
    return expo(clock->b_per_ns * (double)(now_ns - clock->base_ns));
}

bool score_outgrown(const struct score_clock *clock, uint64_t now_ns) {
    return clock->b_per_ns * (double)(now_ns - clock->base_ns) > SCORE_EXPONENT_MOST;
}
