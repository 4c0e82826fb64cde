/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law with random plants: a latency l = n + m' x for a lever at x. Whatever slope m the
 * lever assumes, it settles at the target latency if 0 < m'/m < 2 (GPUColo, section V.B). It does
 * not overshoot if m'/m <= 1. If the target is out of reach, the lever stays at its end. A learned
 * slope stays within that range.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "daemon/sched/control/lever.h"

#define PLANTS 2000
#define STEPS 400

struct plant {
    double n, slope, target;
};

static double draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*seed >> 11) / 0x1p53;
}

static double latency(const struct plant *p, const struct lever *l) {
    return p->n + p->slope * l->at;
}

/* A target between the latencies at both ends of the lever. */
static struct plant reachable(uint64_t *seed) {
    struct plant p = {.n = 1e6 + 1e9 * draw(seed)};
    p.slope = -p.n * (0.01 + 0.9 * draw(seed));
    p.target = p.n + p.slope * (0.05 + 0.9 * draw(seed));
    return p;
}

static void expect_settled(const struct plant *p, const struct lever *l, const char *what) {
    cr_assert_lt(fabs(latency(p, l) - p->target), 1e-3 * p->target,
                 "%s: %.0f, not %.0f; slope %.0f", what, latency(p, l), p->target, p->slope);
}

Test(lever, every_slope_within_the_stable_range_settles_at_the_target) {
    uint64_t seed = 1;
    for (int i = 0; i < PLANTS; i++) {
        struct plant p = reachable(&seed);
        double ratio = 0.02 + 1.96 * draw(&seed); /* m'/m */
        struct lever l = {.at = draw(&seed)};
        for (int k = 0; k < 4 * STEPS; k++)
            lever_move(&l, latency(&p, &l) - p.target, p.slope / ratio, 1);
        expect_settled(&p, &l, "given");
    }
}

Test(lever, a_slope_that_is_no_less_steep_than_the_true_one_never_overshoots) {
    uint64_t seed = 2;
    for (int i = 0; i < PLANTS; i++) {
        struct plant p = reachable(&seed);
        double ratio = 0.02 + 0.98 * draw(&seed);
        struct lever l = {0};
        for (int k = 0; k < STEPS; k++) {
            lever_move(&l, latency(&p, &l) - p.target, p.slope / ratio, 1);
            cr_assert_gt(latency(&p, &l), p.target * (1 - 1e-9));
        }
    }
}

Test(lever, beyond_the_stable_range_it_does_not_settle) {
    struct plant p = {.n = 100, .slope = -100, .target = 60};
    struct lever l = {.at = 0.3};
    for (int k = 0; k < STEPS; k++)
        lever_move(&l, latency(&p, &l) - p.target, p.slope / 2.2, 1);
    cr_expect_gt(fabs(latency(&p, &l) - p.target), 1);
}

Test(lever, a_target_out_of_reach_leaves_it_at_its_end) {
    uint64_t seed = 3;
    for (int i = 0; i < PLANTS; i++) {
        struct plant p = reachable(&seed);
        bool above = draw(&seed) < 0.5;
        double most = 0.5 + 0.5 * draw(&seed);
        struct lever l = {.at = most * draw(&seed)};
        p.target = above ? p.n * 1.1 : p.n + 1.1 * p.slope;
        for (int k = 0; k < STEPS; k++)
            lever_move(&l, latency(&p, &l) - p.target, p.slope * 1.2, most);
        cr_assert_eq(l.at, above ? 0 : most);
        cr_assert(lever_ends(&l, latency(&p, &l) - p.target, most));
        lever_move(&l, above ? -p.slope / 4 : p.slope / 4, p.slope, most);
        cr_assert_float_eq(l.at, above ? 0.25 : most - 0.25, 1e-9, "it comes back at once");
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

/* One period: learns the effect of the last move, and moves. `noise`: relative error of the
 * measurement. */
static void control(struct lever *l, const struct plant *p, double *before, double noise) {
    double measured = latency(p, l) + noise;
    if (*before > 0) lever_learn(l, measured - *before);
    *before = measured;
    lever_move_learnt(l, measured - p->target, -p->n, 1);
}

Test(lever, learnt_slopes_settle_whatever_the_plant_and_sooner_than_careful_ones) {
    uint64_t seed = 4;
    double learnt = 0, careful = 0;
    for (int i = 0; i < PLANTS; i++) {
        struct plant p = reachable(&seed);
        struct lever l = {0}, unlearnt = {0};
        double before = 0;
        for (int k = 0; k < STEPS; k++) {
            control(&l, &p, &before, 0);
            learnt += fabs(latency(&p, &l) - p.target) / p.target;
            lever_move(&unlearnt, latency(&p, &unlearnt) - p.target, -p.n, 1);
            careful += fabs(latency(&p, &unlearnt) - p.target) / p.target;
        }
        expect_settled(&p, &l, "learnt");
    }
    /* The first two moves are alike, so nothing is learned yet; the bound then reduces the
     * learned slope. */
    cr_expect_lt(learnt, careful * 3 / 4, "%.1f, not %.1f", learnt, careful);
}

/* With a measurement error of up to `part` the lever stays near the target: it never uses a
 * slope that comes from noise. */
Test(lever, noise_is_not_taken_for_a_slope) {
    uint64_t seed = 5;
    for (int i = 0; i < PLANTS; i++) {
        struct plant p = reachable(&seed);
        struct lever l = {0};
        double before = 0, sum = 0;
        for (int k = 0; k < STEPS; k++) {
            control(&l, &p, &before, 0.02 * p.target * (2 * draw(&seed) - 1));
            if (k >= STEPS / 2) sum += fabs(latency(&p, &l) - p.target) / p.target;
        }
        cr_assert_lt(sum / (STEPS / 2), 0.05, "plant %d: slope %g of %g", i, p.slope, p.n);
    }
}

/* The load changes while the lever moves: it spoils one move, and no later one. */
Test(lever, a_load_that_changes_spoils_one_move) {
    uint64_t seed = 6;
    for (int i = 0; i < PLANTS; i++) {
        struct plant p = reachable(&seed);
        struct lever l = {0};
        double before = 0, jump = 1 + 0.3 * draw(&seed);
        for (int k = 0; k < STEPS; k++)
            control(&l, &p, &before, 0);
        p.n *= jump;
        p.slope *= jump;
        p.target *= jump;
        for (int k = 0; k < STEPS; k++)
            control(&l, &p, &before, 0);
        expect_settled(&p, &l, "after a jump");
    }
}

/* ---- a nonlinear lever ----------------------------------------------------------------------- */

/* Up to its knee the lever has hardly any effect, beyond it the whole effect. */
struct bent {
    double n, knee, drop, target;
};

static struct bent bent(uint64_t *seed) {
    struct bent p = {.n = 1e6 + 1e9 * draw(seed), .knee = 0.1 + 0.6 * draw(seed)};
    p.drop = p.n * (0.2 + 0.6 * draw(seed));
    p.target = p.n - p.drop * (0.1 + 0.8 * draw(seed));
    return p;
}

static double bent_latency(const struct bent *p, double at) {
    double flat = 0.01 * p->drop;
    if (at <= p->knee) return p->n - flat * at / p->knee;
    return p->n - flat - (p->drop - flat) * (at - p->knee) / (1 - p->knee);
}

/* The range of a lever as the test observed it, independently of the lever's own record. */
struct seen {
    double low, high;
};

static void expect_near_seen(const struct seen *s, double at, int plant) {
    double past = 0.25 * (s->high - s->low);
    if (past < 0.1) past = 0.1;
    cr_assert_leq(at, s->high + past + 1e-9, "plant %d: from %g to %g, then %g", plant, s->low,
                  s->high, at);
    cr_assert_geq(at, s->low - past - 1e-9, "plant %d: from %g to %g, then %g", plant, s->low,
                  s->high, at);
}

/* With the slope of the flat part, the lever would move to its end at once. */
Test(lever, a_move_goes_no_further_than_what_was_learnt_says_and_settles) {
    uint64_t seed = 7;
    for (int i = 0; i < PLANTS; i++) {
        struct bent p = bent(&seed);
        struct lever l = {0};
        struct seen s = {0, 0};
        double before = 0;
        for (int k = 0; k < STEPS; k++) {
            double measured = bent_latency(&p, l.at);
            if (before > 0) lever_learn(&l, measured - before);
            before = measured;
            lever_move_learnt(&l, measured - p.target, -p.n, 1);
            if (k >= 2) expect_near_seen(&s, l.at, i);
            if (l.at > s.high) s.high = l.at;
            if (l.at < s.low) s.low = l.at;
        }
        cr_assert_lt(fabs(bent_latency(&p, l.at) - p.target), 1e-3 * p.target, "plant %d", i);
    }
}

/* After other jobs come, positions learned with the old ones no longer count. */
Test(lever, what_is_forgotten_is_no_place_that_it_was_at) {
    struct lever l = {0};
    for (int k = 0; k < 2; k++) {
        lever_move(&l, 40, -100, 1);
        lever_learn(&l, -1);
    }
    lever_forget(&l);
    l.at = 0.5;
    for (int k = 0; k < 2; k++) {
        lever_move(&l, 1, -100, 1);
        lever_learn(&l, -0.01);
    }
    lever_move_learnt(&l, 90, -100, 1);
    cr_expect_float_eq(l.at, 0.62, 1e-9, "a tenth beyond 0.52, not 0.8 with what was before: %g",
                       l.at);
}

Test(lever, what_is_forgotten_is_unknown) {
    struct lever l = {0};
    for (int k = 0; k < 5; k++) {
        lever_move(&l, 10, -100, 1);
        lever_learn(&l, -5);
    }
    cr_expect_float_eq(lever_slope(&l, -1000), -50, 1e-6);
    lever_forget(&l);
    cr_expect_eq(lever_slope(&l, -1000), -1000);
    cr_expect_float_eq(l.at, 0.5, 1e-9, "where it stands it stays");
}

/* Equal moves with effects of -5 and -15: -100 on average; the bound allows for the uncertainty
 * of that mean. */
Test(lever, a_slope_is_as_steep_as_its_moves_allow) {
    struct lever l = {.moved = 0.1};
    lever_learn(&l, -5);
    cr_expect_eq(lever_slope(&l, -300), -300, "one move says nothing");
    l.moved = 0.1;
    lever_learn(&l, -15);
    cr_expect_lt(lever_slope(&l, -300), -200);
    cr_expect_gt(lever_slope(&l, -300), -400);
    lever_forget(&l);
    for (int k = 0; k < 9; k++) {
        l.moved = 0.001;
        lever_learn(&l, -50);
    }
    cr_expect_eq(lever_slope(&l, -300), -300, "of moves too short nothing is learnt");
}
