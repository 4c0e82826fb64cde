/* SPDX-License-Identifier: Apache-2.0
 *
 * Points and milestones compared with (4.2) as printed, and with (4.1) by integration.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/serve/plan/outlook/score.h"

#define MS 1000000ull
#define BINS 5u
#define NS_PER_MS 1e6

/* Adjacent bins, an empty one, and one of zero width, in ms. */
static const uint64_t edges[BINS + 1] = {10 * MS, 20 * MS, 40 * MS, 41 * MS, 41 * MS, 70 * MS};
static const double mass[BINS] = {0.25, 0.375, 0, 0.125, 0.25};
#define MEAN_MS (0.25 * 15 + 0.375 * 30 + 0.125 * 41 + 0.25 * 55.5)

/* (4.2) with c = 1, h the density; times in ms. A bin of zero width is the limit of a narrow
 * bin. */
static double printed(double b, double deadline, double t) {
    double p = 0;
    for (uint32_t i = 0; i < BINS; i++) {
        double l1 = (double)edges[i] / NS_PER_MS, l2 = (double)edges[i + 1] / NS_PER_MS;
        double unit = mass[i] / (MEAN_MS * b * (l2 - l1));
        if (l1 == l2)
            p += t < deadline - l2 ? mass[i] / MEAN_MS * exp(b * (l2 - deadline + t)) : 0;
        else if (t < deadline - l2)
            p += unit * (exp(b * (l2 - deadline + t)) - exp(b * (l1 - deadline + t)));
        else if (t < deadline - l1)
            p += unit - unit * exp(b * (l1 - deadline + t));
    }
    return p;
}

static struct score_piece pieces[2 * BINS + 1];

static struct score_shape make(double b_per_ms) {
    struct score_shape s = {.pieces = pieces};
    score_build(&s, edges, mass, BINS, MEAN_MS * NS_PER_MS, b_per_ms / NS_PER_MS);
    return s;
}

static double value(const struct score_shape *s, const struct score_clock *c, uint64_t deadline_ns,
                    uint64_t now_ns) {
    struct score_point p = score_at(s, c, deadline_ns, now_ns);
    return p.alpha * score_x(c, now_ns) + p.beta;
}

Test(plan_score, is_what_is_printed_whatever_b_and_the_base) {
    for (double b = 1e-6; b < 0.11; b *= 10) {
        struct score_shape s = make(b);
        for (uint64_t base = 0; base <= 2; base++) {
            struct score_clock c = {b / NS_PER_MS, base * 500 * MS};
            uint64_t deadline = 1300 * MS;
            for (uint64_t t = base * 500 * MS; t < 1400 * MS; t += MS / 3) {
                double want = printed(b, 1300, (double)t / NS_PER_MS);
                cr_assert_float_eq(value(&s, &c, deadline, t), want,
                                   1e-9 * want + 1e-14 / (MEAN_MS * b),
                                   "b %g, base %lu, t %lu: %.17g, not %.17g", b, base, t,
                                   value(&s, &c, deadline, t), want);
            }
        }
    }
}

/* One bin of [10, 20] ms, b = 0.1, E[L] = 15, D = 100: computed by hand. */
Test(plan_score, one_bin_by_hand) {
    struct score_piece room[3];
    struct score_shape s = {.pieces = room};
    struct score_clock c = {0.1 / NS_PER_MS, 0};
    score_build(&s, (uint64_t[]){10 * MS, 20 * MS}, (double[]){1}, 1, 15 * NS_PER_MS,
                0.1 / NS_PER_MS);
    /* t = 70, before D - l2 = 80: (e^2 - e) e^-10 e^7 / 15 */
    cr_expect_float_eq(value(&s, &c, 100 * MS, 70 * MS), 0.0155029, 1e-7);
    /* t = 85, the second form: (1 - e e^-10 e^8.5) / 15 */
    cr_expect_float_eq(value(&s, &c, 100 * MS, 85 * MS), 0.0262313, 1e-7);
    /* t = 90 = D - l1: sending has no value any more */
    cr_expect_eq(value(&s, &c, 100 * MS, 90 * MS), 0);
}

/* Milestones are the times when a bin changes its form: until then the point stays the same. */
Test(plan_score, a_point_stays_until_its_milestone) {
    struct score_shape s = make(1e-4);
    struct score_clock c = {1e-4 / NS_PER_MS, 0};
    uint64_t left_ms[] = {70, 41, 40, 20, 10}, t = 0, deadline = 200 * MS;
    for (int i = 0; i < 5; i++) {
        struct score_point p = score_at(&s, &c, deadline, t);
        cr_assert_eq(p.until_ns, deadline - left_ms[i] * MS, "milestone %d", i);
        struct score_point q = score_at(&s, &c, deadline, p.until_ns - 1);
        cr_expect_eq(p.alpha, q.alpha);
        cr_expect_eq(p.beta, q.beta);
        t = p.until_ns;
    }
    struct score_point last = score_at(&s, &c, deadline, t);
    cr_expect_eq(last.until_ns, SCORE_NEVER);
    cr_expect(last.alpha == 0 && last.beta == 0);
    cr_expect_eq(score_at(&s, &c, deadline, 300 * MS).alpha, 0, "after the deadline");
}

/* P(t + l + d > D) over bins and, with `delayed`, over an exponential d: the cost of (4.1). */
static double cost(double b, double left_ms, bool delayed) {
    enum { STEPS = 20000 };
    double missed = 0;
    for (uint32_t i = 0; i < BINS; i++)
        for (int k = 0; k < STEPS && mass[i] > 0; k++) {
            double l1 = (double)edges[i] / NS_PER_MS, l2 = (double)edges[i + 1] / NS_PER_MS;
            double left = left_ms - (l1 + (l2 - l1) * (k + 0.5) / STEPS);
            missed += mass[i] / STEPS * (left < 0 ? 1 : delayed ? exp(-b * left) : 0);
        }
    return missed;
}

/* (4.1) by integration, over bins of different widths: a bin's width must not matter. */
Test(plan_score, follows_from_the_cost_of_delay) {
    for (double b = 1e-3; b < 0.11; b *= 10) {
        struct score_shape s = make(b);
        struct score_clock c = {b / NS_PER_MS, 0};
        for (double left = 5; left < 120; left += 5.7) {
            double p = (cost(b, left, true) - cost(b, left, false)) / MEAN_MS;
            double got = value(&s, &c, 200 * MS, (uint64_t)((200 - left) * NS_PER_MS));
            cr_expect_float_eq(got, p, 1e-6, "b %g, %g ms left: %g, not %g", b, left, got, p);
        }
    }
}

/* Values that overflow in the form of (4.2): b l of 7,000, and distant deadlines. */
Test(plan_score, nothing_overflows) {
    struct score_piece room[5];
    struct score_shape s = {.pieces = room};
    struct score_clock c = {0.1 / NS_PER_MS, 0};
    uint64_t wide[] = {100 * MS, 60000 * MS, 70000 * MS};
    score_build(&s, wide, (double[]){0.5, 0.5}, 2, 50000 * NS_PER_MS, 0.1 / NS_PER_MS);
    for (uint64_t t = 0; t < 3000 * MS; t += MS)
        for (uint64_t left = MS; left < 1000000 * MS; left *= 3) {
            double v = value(&s, &c, t + left, t);
            cr_assert(v >= 0 && v <= 1, "t %lu, left %lu: %g", t, left, v);
        }
    cr_expect_not(score_outgrown(&c, 3000 * MS));
    cr_expect(score_outgrown(&c, 3001 * MS));
    c.base_ns = 3001 * MS;
    cr_expect_not(score_outgrown(&c, 3001 * MS));
}
