/* SPDX-License-Identifier: Apache-2.0
 *
 * The first point compared with a search over all points, while points come, go and change and x
 * grows.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/serve/plan/policy/tournament.h"

#define PLACES 300u
#define STEPS 300000u

struct world {
    struct tournament t;
    struct tournament_point points[PLACES];
    bool in[PLACES];
    uint32_t count, reformed;
    uint64_t seed;
    double growth; /* most growth of x in a step */
    bool still;    /* points stay unchanged until they are removed */
};

static double draw(struct world *w) {
    w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(w->seed >> 11) + 0.5) * 0x1p-53;
}

static uint32_t draw_below(struct world *w, uint32_t below) {
    return (uint32_t)(draw(w) * below);
}

/* Draws points of every kind: steep ones that fall below zero, equal ones, and ones that change
 * soon or never. */
static struct tournament_point draw_point(struct world *w) {
    struct tournament_point p = {draw(w), draw(w), INFINITY};
    if (draw(w) < 0.3) p.alpha = -p.alpha;
    if (draw(w) < 0.2) p.alpha = floor(4 * p.alpha) / 4;
    if (draw(w) < 0.2) p.beta = floor(4 * p.beta) / 4;
    if (draw(w) < 0.1) p.alpha = p.beta = 0;
    if (!w->still && draw(w) < 0.7) p.until = w->t.x * (1 + draw(w));
    return p;
}

static struct tournament_point reform(void *arg, uint32_t place) {
    struct world *w = arg;
    cr_assert(w->in[place]);
    w->reformed++;
    return w->points[place] = draw_point(w);
}

static double best_of(const struct world *w) {
    double best = -INFINITY;
    for (uint32_t i = 0; i < PLACES; i++)
        if (w->in[i]) best = fmax(best, w->points[i].alpha * w->t.x + w->points[i].beta);
    return best;
}

/* Except for ties, the first point's value equals the best. */
static void expect_first(const struct world *w) {
    uint32_t first = tournament_first(&w->t);
    cr_assert_eq(first == TOURNAMENT_NONE, w->count == 0);
    if (first == TOURNAMENT_NONE) return;
    cr_assert(w->in[first]);
    double best = best_of(w), got = tournament_value(&w->t, first);
    cr_assert_leq(best - got, 1e-12 * fabs(best), "%.17g, not %.17g", got, best);
}

static void come_or_go(struct world *w) {
    uint32_t i = draw_below(w, PLACES);
    if (w->count && draw(w) < 0.3)
        i = tournament_first(&w->t); /* the first point leaves most often */
    if (w->in[i]) {
        tournament_remove(&w->t, i);
    } else {
        w->points[i] = draw_point(w);
        tournament_add(&w->t, i, w->points[i]);
    }
    w->in[i] = !w->in[i];
    w->count += w->in[i] ? 1 : UINT32_MAX;
}

static uint32_t run_world(double growth, bool still) {
    struct world *w = calloc(1, sizeof(*w));
    *w = (struct world){.t = {.x = 1}, .seed = 1, .growth = growth, .still = still};
    cr_assert_eq(tournament_reserve(&w->t, 20), 0);
    cr_assert_eq(tournament_reserve(&w->t, PLACES), 0);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (draw(w) < 0.5)
            come_or_go(w);
        else
            tournament_advance(&w->t, w->t.x * (draw(w) < 0.9 ? 1 + w->growth * draw(w) : 1),
                               reform, w);
        if (w->t.x > 1e3 && still) tournament_rebuild(&w->t, 0.001, reform, w);
        if (w->t.x > 1e100) tournament_rebuild(&w->t, 1, reform, w); /* moves the base */
        expect_first(w);
        if (i % 64 == 0) cr_assert_null(tournament_check(&w->t), "%s", tournament_check(&w->t));
    }
    uint32_t reformed = w->reformed;
    tournament_finish(&w->t);
    free(w);
    return reformed;
}

Test(plan_tournament, the_first_is_the_best_of_all_at_every_step) {
    cr_expect_gt(run_world(0.01, false), STEPS / 10);
}

/* A new search is needed only when one point overtakes another. */
Test(plan_tournament, so_it_is_among_points_that_stay) {
    run_world(0.001, true);
}

Test(plan_tournament, of_equal_ones_the_lower_place_is_first) {
    struct tournament t = {.x = 1};
    struct tournament_point p = {1, 1, INFINITY};
    cr_assert_eq(tournament_reserve(&t, 8), 0);
    for (uint32_t i = 8; i-- > 0;)
        tournament_add(&t, i, p);
    for (uint32_t i = 0; i < 8; i++) {
        cr_expect_eq(tournament_first(&t), i);
        tournament_remove(&t, i);
    }
    cr_expect_eq(tournament_first(&t), TOURNAMENT_NONE);
    tournament_finish(&t);
}

/* 2 x passes x + 3 at x = 3. */
Test(plan_tournament, the_faster_one_passes_when_they_are_equal) {
    struct tournament t = {.x = 1};
    cr_assert_eq(tournament_reserve(&t, 2), 0);
    tournament_add(&t, 0, (struct tournament_point){1, 3, INFINITY});
    tournament_add(&t, 1, (struct tournament_point){2, 0, INFINITY});
    cr_expect_eq(tournament_first(&t), 0);
    cr_expect_eq(t.nodes[1].until, 3);
    tournament_advance(&t, 2.999, NULL, NULL);
    cr_expect_eq(tournament_first(&t), 0);
    tournament_advance(&t, 3.001, NULL, NULL);
    cr_expect_eq(tournament_first(&t), 1);
    tournament_finish(&t);
}

Test(plan_tournament, more_room_leaves_everybody_where_he_was) {
    struct tournament t = {.x = 1};
    cr_assert_eq(tournament_reserve(&t, 1), 0);
    tournament_add(&t, 0, (struct tournament_point){1, 0, INFINITY});
    tournament_add(&t, 5, (struct tournament_point){5, 0, INFINITY});
    cr_assert_eq(tournament_reserve(&t, 1000), 0);
    cr_expect(tournament_has(&t, 0) && tournament_has(&t, 5) && !tournament_has(&t, 900));
    cr_expect_eq(tournament_first(&t), 5);
    tournament_add(&t, 900, (struct tournament_point){9, 0, INFINITY});
    cr_expect_eq(tournament_first(&t), 900);
    cr_expect_eq(t.count, 3);
    tournament_finish(&t);
    cr_expect_eq(tournament_first(&t), TOURNAMENT_NONE);
}
