/* SPDX-License-Identifier: Apache-2.0
 *
 * Orloj: the thesis's toy example (Fig. 4.6), the order of batch sizes, and every batch of a random
 * world compared with a search by (4.2) as printed.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/plan/outlook/maximum.h"
#include "daemon/serve/plan/plan_core.h"
#include "daemon/serve/plan/policy/tournament.h"
#include "test/lib/part.h"
#include "test/lib/serve/plantrace.h"

#define MS 1000000ull
#define NS_PER_MS 1e6

static struct plan *make(struct plan_config c) {
    struct plan *p;
    if (!c.size_count) {
        c.size_count = 3;
        memcpy(c.sizes, (uint32_t[]){1, 2, 4}, 3 * sizeof(uint32_t));
    }
    c.apps = 2;
    c.refresh_ns = PLAN_FOREVER;
    cr_assert_eq(plan_create(&p, &c, NULL, 0), 0);
    return p;
}

/* ---- the toy example --------------------------------------------------------------------------
 */

/* Fig. 4.6: two distributions with the same mean, 30 ms. The first is mostly 30 ms, the second
 * early or late; batches of 2, c0 = 0, c1 k = 1. */
static void learn_toy(struct plan *p) {
    plantrace_learn(p, 0, 20 * MS, 1);
    plantrace_learn(p, 0, 30 * MS, 8);
    plantrace_learn(p, 0, 40 * MS, 1);
    plantrace_learn(p, 1, 10 * MS, 5);
    plantrace_learn(p, 1, 50 * MS, 5);
    outlook_refresh(&p->st.outlook, 0);
}

/* (4.6b): the longer of one of each is never 10 ms, 20 with 0.1 0.5, 30 with 0.8 0.5, 40 with
 * 0.1 0.5, 50 with 0.5: 41 ms on average, which is above both means. */
Test(plan_orloj, toy_the_batch_is_skewed_to_the_right) {
    struct plan *p = make((struct plan_config){.c1 = 0.5});
    learn_toy(p);
    const double *cdf = p->st.outlook.cdf;
    struct maximum_of groups[2] = {{cdf, 1}, {cdf + HISTOGRAM_BINS + 1, 1}};
    const uint64_t times[] = {10 * MS, 20 * MS, 30 * MS, 40 * MS, 50 * MS};
    const double mass[] = {0, 0.05, 0.4, 0.05, 0.5};
    for (int i = 0; i < 5; i++) {
        uint32_t bin = histogram_bin(times[i]);
        double got = maximum_at(groups, 2, bin + 1) - maximum_at(groups, 2, bin);
        cr_expect_float_eq(got, mass[i], 1e-12, "%d", i);
    }
    cr_expect_float_eq(maximum_mean(groups, 2) / 1e6, 41, 0.033 * 41);
    plan_destroy(p);
}

/* (4.6c): three requests with deadlines at 100, 105 and 130 ms. At first the two with the
 * earliest deadlines are the best pair. Then r2, which can only be early or never, falls behind
 * r3. At last r1 is lost. */
static void best_pair(const struct score_shape *s, const struct score_clock *c, uint64_t now_ns,
                      uint32_t pair[2]) {
    const uint64_t deadlines[] = {100 * MS, 105 * MS, 130 * MS};
    struct tournament t = {.x = score_x(c, now_ns)};
    cr_assert_eq(tournament_reserve(&t, 3), 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct score_point p = score_at(s, c, deadlines[i], now_ns);
        tournament_add(&t, i, (struct tournament_point){p.alpha, p.beta, INFINITY});
    }
    for (uint32_t i = 0; i < 2; i++) {
        pair[i] = 1 + tournament_first(&t);
        tournament_remove(&t, pair[i] - 1);
    }
    tournament_finish(&t);
}

Test(plan_orloj, toy_who_is_first_changes_as_time_goes_on) {
    struct score_piece pieces[8];
    struct score_shape s = {.pieces = pieces};
    struct score_clock c = {0.05 / NS_PER_MS, 0};
    const uint64_t edges[] = {15 * MS, 25 * MS, 35 * MS, 45 * MS, 55 * MS};
    const struct {
        uint64_t ms;
        uint32_t low, high;
    } want[] = {{0, 1, 2}, {50, 1, 2}, {62, 1, 3}, {65, 1, 3}, {70, 2, 3}, {84, 2, 3}};
    score_build(&s, edges, (double[]){0.05, 0.4, 0.05, 0.5}, 4, 40 * NS_PER_MS, c.b_per_ns);
    for (uint32_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        uint32_t pair[2];
        best_pair(&s, &c, want[i].ms * MS, pair);
        cr_expect_eq(pair[0] + pair[1], want[i].low + want[i].high, "@%lu", want[i].ms);
        cr_expect(pair[0] == want[i].low || pair[0] == want[i].high, "@%lu", want[i].ms);
    }
}

/* ---- the order of batch sizes -----------------------------------------------------------------
 */

/* 10 ms a request. At 1 the first request can wait only for a batch of one, all others for the
 * largest size. */
static const char urgent[] = "@1 w0 +1<15 +2<500 +3<500 +4<500 +5<500\n";

Test(plan_orloj, the_largest_batch_is_taken_that_enough_can_wait_for) {
    struct plan *p = make((struct plan_config){0});
    plantrace_expect(p, urgent, "@1 w0:2,3,4,5 arm 4.90746\n");
    plan_destroy(p);
}

Test(plan_orloj, with_urgent_the_earliest_deadline_decides_the_size) {
    struct plan *p = make((struct plan_config){.urgent = true});
    char *got = plantrace_run(p, urgent);
    cr_expect_eq(strncmp(got, "@1 w0:", 6), 0);
    cr_expect_null(strchr(got, ','), "a batch of one: %s", got);
    free(got);
    plan_destroy(p);
}

/* All requests can wait for all sizes: each queue has the same earliest deadline. */
Test(plan_orloj, of_equal_deadlines_the_largest_size_is_taken) {
    struct plan *p = make((struct plan_config){.urgent = true});
    plantrace_expect(p, "@0 +1<500 +2<500 +3<500 +4<500 +5<500\n@1 w0\n",
                     "@0 arm 489.907\n@1 w0:1,2,3,4\n");
    plan_destroy(p);
}

/* Latest start before the shared deadline: 40.7 ms for a batch of four, 20.3 for two, 10.1 for
 * one. */
Test(plan_orloj, a_request_leaves_the_sizes_that_it_cannot_meet_and_then_times_out) {
    const struct {
        uint64_t ms;
        const char *what;
    } want[] = {{59, "w0:1,2,3,4"}, {60, "w0:1,2 "}, {79, "w0:1,2 "},
                {80, "w0:1 "},      {89, "w0:1 "},   {90, "1 late 2 late 3 late 4 late"}};
    for (uint32_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        struct plan *p = make((struct plan_config){0});
        char script[80];
        snprintf(script, sizeof(script), "@1 +1<100 +2<100 +3<100 +4<100\n@%lu w0\n", want[i].ms);
        char *got = plantrace_run(p, script);
        for (char *end = got; (end = strchr(end, '\n'));)
            *end = ' ';
        cr_expect(strstr(got, want[i].what), "@%lu: %s", want[i].ms, got);
        free(got);
        plan_destroy(p);
    }
}

/* ---- compared with a search over all requests
 * ------------------------------------------------- */

#define PENDING 200u

struct request {
    uint64_t id, deadline_ns;
    uint32_t app;
};

struct world {
    struct plan *p;
    const struct plan_config *config;
    struct request pending[PENDING];
    uint32_t count;
    uint64_t seed, now_ns, next_id, batches, late, sizes_seen;
    uint64_t longest_ns;
    bool learns; /* times of single requests get longer meanwhile */
};

static uint32_t draw(struct world *w, uint32_t below) {
    w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((w->seed >> 33) % below);
}

/* Returns the estimate at the time when the scheduler last used its learned times. */
static double batch_ms(double k, uint32_t edge) {
    return (4e6 + 0.4 * k * (double)histogram_edge(edge)) / 1e6;
}

/* (4.2) as printed, with h a density, over the histogram of the batch. */
static double printed_score(const struct world *w, uint32_t size, const struct request *r) {
    const struct outlook *o = &w->p->st.outlook;
    const struct plan_config *c = o->config;
    const double *mix = o->cdf + (size_t)c->apps * (HISTOGRAM_BINS + 1);
    const double *own = c->own ? o->cdf + (size_t)r->app * (HISTOGRAM_BINS + 1) : mix;
    double b = c->b_per_ms, k = c->sizes[size], p = 0;
    double left = (double)r->deadline_ns / 1e6 - (double)w->now_ns / 1e6;
    double mean = (double)outlook_batch_ns(o, size, r->app) / 1e6;
    for (uint32_t i = 0; i < HISTOGRAM_BINS; i++) {
        double h = own[i + 1] * pow(mix[i + 1], k - 1) - own[i] * pow(mix[i], k - 1);
        double l1 = batch_ms(k, i);
        double l2 = batch_ms(k, i + 1);
        if (left > l2)
            p += h / (l2 - l1) / (mean * b) * (exp(b * (l2 - left)) - exp(b * (l1 - left)));
        else if (left > l1)
            p += h / (l2 - l1) / (mean * b) * (1 - exp(b * (l1 - left)));
    }
    return p;
}

static bool viable(const struct world *w, uint32_t size, const struct request *r) {
    return w->now_ns + outlook_batch_ns(&w->p->st.outlook, size, r->app) <= r->deadline_ns;
}

/* Lines 15 to 19 of the algorithm, over all requests. */
static uint32_t wanted_size(const struct world *w) {
    const struct plan_config *c = &w->p->st.config;
    uint32_t best = STATE_NONE;
    uint64_t best_ns = 0;
    for (uint32_t size = 0; size < c->size_count; size++) {
        uint32_t count = 0;
        uint64_t earliest = UINT64_MAX;
        for (uint32_t i = 0; i < w->count; i++) {
            if (!viable(w, size, &w->pending[i])) continue;
            count++;
            if (w->pending[i].deadline_ns < earliest) earliest = w->pending[i].deadline_ns;
        }
        if (count < c->sizes[size]) continue;
        if (best == STATE_NONE || (c->urgent ? earliest <= best_ns : earliest >= best_ns)) {
            best = size;
            best_ns = earliest;
        }
    }
    return best;
}

static uint32_t find(const struct world *w, uint64_t id) {
    for (uint32_t i = 0; i < w->count; i++)
        if (w->pending[i].id == id) return i;
    cr_assert_fail("%lu is not pending", (unsigned long)id);
    return 0;
}

/* The worst request that was sent scores no less than the best one that could have been sent
 * instead. */
static void expect_best(struct world *w, const struct plan_action *a) {
    uint32_t size = wanted_size(w);
    cr_assert_neq(size, STATE_NONE);
    cr_assert_eq(a->size, w->p->st.config.sizes[size]);
    double worst = INFINITY, missed = 0, unit = 0;
    for (uint32_t i = 0; i < a->size; i++) {
        uint32_t at = find(w, a->ids[i]);
        cr_assert(viable(w, size, &w->pending[at]));
        worst = fmin(worst, printed_score(w, size, &w->pending[at]));
        w->pending[at] = w->pending[--w->count];
    }
    for (uint32_t i = 0; i < w->count; i++)
        if (viable(w, size, &w->pending[i]))
            missed = fmax(missed, printed_score(w, size, &w->pending[i]));
    unit = 1e6 / (w->p->st.config.b_per_ms * (double)w->p->st.outlook.size[size].mean_ns);
    cr_assert_geq(worst, missed - 1e-9 * missed - 1e-13 * unit, "@%lu, size %u: %.17g before %.17g",
                  (unsigned long)w->now_ns, a->size, worst, missed);
    w->batches++;
    w->sizes_seen |= 1u << size;
}

static void take_actions(struct world *w, const struct plan_actions *out) {
    for (uint32_t i = 0; i < out->count; i++) {
        const struct plan_action *a = &out->items[i];
        cr_assert_neq(a->kind, PLAN_REJECT);
        if (a->kind == PLAN_TIMEOUT) {
            uint32_t at = find(w, a->id);
            cr_assert_not(viable(w, 0, &w->pending[at]), "given up too soon");
            w->pending[at] = w->pending[--w->count];
            w->late++;
        }
    }
    for (uint32_t i = 0; i < w->count; i++)
        cr_assert(viable(w, 0, &w->pending[i]), "not given up");
    for (uint32_t i = 0; i < out->count; i++)
        if (out->items[i].kind == PLAN_SEND) expect_best(w, &out->items[i]);
}

/* Times get longer only: a request that could wait for a size may no longer be able to, but
 * never the reverse. */
static void relearn(struct world *w) {
    struct outlook *o = &w->p->st.outlook;
    for (uint32_t i = 0; i < 30; i++)
        outlook_alone(o, draw(w, 2), w->longest_ns += draw(w, 1000000), w->now_ns);
    w->p->st.now_ns = w->now_ns;
    batchtime_init(&o->batchtime, 4e6, 0.4); /* this test ignores times learned from batches */
    outlook_refresh(o, w->now_ns);
    w->p->policy->learned(&w->p->st);
}

static void step_world(struct world *w) {
    struct plan_event events[24];
    struct plan_actions out;
    uint32_t count = 0, arrivals = draw(w, 12);
    w->now_ns += draw(w, 40000000);
    if (w->p->st.crew.workers[0].count)
        events[count++] =
            (struct plan_event){.kind = PLAN_DONE, .done = {.batch_ns = 1 + w->now_ns}};
    for (; arrivals && w->count < PENDING; arrivals--) {
        struct request r = {++w->next_id, w->now_ns + draw(w, 900) * MS, draw(w, 2)};
        w->pending[w->count++] = r;
        events[count++] =
            (struct plan_event){.kind = PLAN_ARRIVED, .arrived = {r.id, 0, r.deadline_ns, r.app}};
    }
    if (w->learns && draw(w, 50) == 0) relearn(w);
    cr_assert_eq(plan_step(w->p, w->now_ns, events, count, &out), 0);
    take_actions(w, &out);
    cr_assert_null(plan_check(w->p), "%s", plan_check(w->p));
}

static void run_world(struct plan_config c, uint64_t seed, bool learns) {
    struct world *w = calloc(1, sizeof(*w));
    uint32_t steps = part_of(1500);
    w->seed = seed;
    w->learns = learns;
    w->longest_ns = 60 * MS;
    c.c0_ns = 4 * MS;
    c.c1 = 0.4;
    w->p = make(c);
    learn_toy(w->p);
    w->p->policy->learned(&w->p->st);
    step_world(w);
    struct plan_event ready = {.kind = PLAN_READY};
    struct plan_actions out;
    cr_assert_eq(plan_step(w->p, w->now_ns, &ready, 1, &out), 0);
    take_actions(w, &out);
    for (uint32_t i = 0; i < steps; i++)
        step_world(w);
    cr_expect_gt(w->batches, steps * 2 / 3);
    cr_expect_gt(w->late, steps * 2 / 3);
    cr_expect_gt(w->sizes_seen, 3, "only batches of one size: %lx", w->sizes_seen);
    plan_destroy(w->p);
    free(w);
}

Test(plan_orloj, every_batch_is_the_best_by_what_is_printed) {
    for (double b = 1e-6; b < 0.11; b *= 100)
        run_world((struct plan_config){.b_per_ms = b}, 1, false);
}

/* The base moves every 3 s. */
Test(plan_orloj, so_it_is_across_moves_of_the_base) {
    run_world((struct plan_config){.b_per_ms = 0.1}, 2, false);
}

Test(plan_orloj, so_it_is_with_the_size_by_the_earliest_deadline) {
    run_world((struct plan_config){.urgent = true}, 3, false);
}

Test(plan_orloj, so_it_is_with_distributions_of_their_own) {
    run_world((struct plan_config){.own = true, .b_per_ms = 0.01}, 4, false);
    run_world((struct plan_config){.own = true, .b_per_ms = 0.1}, 5, false);
}

Test(plan_orloj, so_it_is_when_more_is_learnt) {
    run_world((struct plan_config){.b_per_ms = 0.01}, 6, true);
}
