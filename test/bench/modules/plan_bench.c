/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a served model's scheduler with many requests pending (thesis, Fig. 4.12): inserting
 * a point into the tournament that ranks requests, querying the first as time advances, removing
 * the first. The same with hulls of logarithmic levels, the alternative. And whole steps, in which
 * a request arrives and a batch is formed, with five batch sizes.
 *
 *   plan_bench [samples]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/fdutil.h"
#include "daemon/serve/plan/outlook/score.h"
#include "daemon/serve/plan/plan.h"
#include "daemon/serve/plan/policy/tournament.h"
#include "test/bench/lib/floor.h"
#include "test/bench/modules/hull_levels.h"

#define MS 1000000ull
#define MOST 100000u
#define INSERT_NS 5000.0 /* goals at MANY */
#define QUERY_NS 1000.0
#define MANY 10000u
#define SPAN_NS (2000 * MS) /* range of the deadlines */
#define BINS 60u

static const uint32_t crowds[] = {10, 100, 1000, MANY, MOST};

struct bench {
    struct tournament t;
    struct hull_levels h;
    struct score_shape shape;
    struct score_piece pieces[2 * BINS];
    struct score_clock clock;
    uint64_t deadline_ns[2 * MOST], now_ns, seed, next_id;
    uint32_t n;
    struct plan *p;
};

static uint64_t draw(struct bench *b, uint64_t below) {
    b->seed = b->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint64_t)(((unsigned __int128)(b->seed >> 1) * below) >> 63);
}

static struct tournament_point point_of(void *arg, uint32_t place) {
    struct bench *b = arg;
    struct score_point p = score_at(&b->shape, &b->clock, b->deadline_ns[place], b->now_ns);
    double until = p.until_ns == SCORE_NEVER ? INFINITY : score_x(&b->clock, p.until_ns);
    return (struct tournament_point){p.alpha, p.beta, until};
}

/* A distribution with two modes, at 20 and at 120 ms. */
static void make_shape(struct bench *b) {
    uint64_t edges[BINS + 1];
    double mass[BINS], sum = 0;
    for (uint32_t i = 0; i <= BINS; i++)
        edges[i] = (10 + 2 * i) * MS;
    for (uint32_t i = 0; i < BINS; i++)
        sum += mass[i] = exp(-pow((i - 5.0) / 4, 2)) + exp(-pow((i - 50.0) / 6, 2));
    for (uint32_t i = 0; i < BINS; i++)
        mass[i] /= sum;
    b->shape.pieces = b->pieces;
    b->clock.b_per_ns = 1e-10;
    score_build(&b->shape, edges, mass, BINS, 70e6, b->clock.b_per_ns);
}

static struct bench *create(uint32_t n) {
    struct bench *b = calloc(1, sizeof(*b));
    if (!b) abort();
    b->n = n;
    b->seed = 1;
    make_shape(b);
    return b;
}

static void add_tournament(struct bench *b, uint32_t place) {
    b->deadline_ns[place] = b->now_ns + draw(b, SPAN_NS);
    tournament_add(&b->t, place, point_of(b, place));
}

static struct bench *create_tournament(uint32_t n) {
    struct bench *b = create(n);
    if (tournament_reserve(&b->t, 2 * n)) abort();
    b->t.x = score_x(&b->clock, 0);
    for (uint32_t i = 0; i < n; i++)
        add_tournament(b, i);
    return b;
}

static void add_level(struct bench *b, uint32_t place) {
    b->deadline_ns[place] = b->now_ns + draw(b, SPAN_NS);
    struct tournament_point p = point_of(b, place);
    hull_levels_add(&b->h, place, p.alpha, p.beta);
}

/* Points that do not change. */
static struct bench *create_still(uint32_t n) {
    struct bench *b = create_tournament(n);
    for (uint32_t i = 0; i < n; i++) {
        struct tournament_point p = b->t.points[i];
        p.until = INFINITY;
        tournament_remove(&b->t, i);
        tournament_add(&b->t, i, p);
    }
    return b;
}

static struct bench *create_levels(uint32_t n) {
    struct bench *b = create(n);
    hull_levels_init(&b->h, 2 * n);
    for (uint32_t i = 0; i < n; i++)
        add_level(b, i);
    return b;
}

static void destroy(struct bench *b) {
    tournament_finish(&b->t);
    if (b->h.alpha) hull_levels_finish(&b->h);
    plan_destroy(b->p);
    free(b);
}

/* ---- ranking only ---------------------------------------------------------------------------- */

#define ROUNDS 200u

static uint32_t few(const struct bench *b) {
    return b->n < ROUNDS ? b->n : ROUNDS;
}

static double insert_tournament(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns();
    for (uint32_t i = 0; i < few(b); i++)
        add_tournament(b, b->n + i);
    double ns = (double)(fdutil_now_ns() - start) / few(b);
    for (uint32_t i = 0; i < few(b); i++)
        tournament_remove(&b->t, b->n + i);
    return ns;
}

static double insert_levels(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns();
    for (uint32_t i = 0; i < few(b); i++)
        add_level(b, b->n + i);
    double ns = (double)(fdutil_now_ns() - start) / few(b);
    for (uint32_t i = 0; i < few(b); i++)
        hull_levels_remove(&b->h, b->n + i);
    return ns;
}

/* Time advances by 10 us between queries: points overtake each other. */
static double query_tournament(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), sum = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        b->now_ns += 10000;
        tournament_advance(&b->t, score_x(&b->clock, b->now_ns), NULL, NULL);
        sum += tournament_first(&b->t);
    }
    return sum == 1 ? 0 : (double)(fdutil_now_ns() - start) / ROUNDS;
}

/* The same, with points rebuilt at their milestones. A request that is over is replaced by a new
 * one. */
static double query_reformed(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), sum = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        b->now_ns += 10000;
        tournament_advance(&b->t, score_x(&b->clock, b->now_ns), point_of, b);
        sum += tournament_first(&b->t);
    }
    double ns = (double)(fdutil_now_ns() - start) / ROUNDS;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->deadline_ns[i] < b->now_ns) {
            tournament_remove(&b->t, i);
            add_tournament(b, i);
        }
    return sum == 1 ? 0 : ns;
}

static double query_levels(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), sum = 0;
    for (uint32_t i = 0; i < ROUNDS; i++)
        sum += hull_levels_first(&b->h, score_x(&b->clock, b->now_ns += 10000));
    return sum == 1 ? 0 : (double)(fdutil_now_ns() - start) / ROUNDS;
}

/* Removes the first and inserts another. */
static double churn_tournament(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t first = tournament_first(&b->t);
        tournament_remove(&b->t, first);
        add_tournament(b, first);
    }
    return (double)(fdutil_now_ns() - start) / ROUNDS;
}

static double churn_levels(void *arg) {
    struct bench *b = arg;
    double x = score_x(&b->clock, b->now_ns);
    uint64_t start = fdutil_now_ns();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t first = hull_levels_first(&b->h, x);
        hull_levels_remove(&b->h, first);
        add_level(b, first);
    }
    return (double)(fdutil_now_ns() - start) / ROUNDS;
}

/* ---- whole steps ----------------------------------------------------------------------------- */

static void step(struct bench *b, const struct plan_event *events, uint32_t count) {
    struct plan_actions out;
    if (plan_step(b->p, b->now_ns, events, count, &out)) abort();
}

/* An arrival with a deadline far enough that no request expires during the measurement. */
static struct plan_event arrival(struct bench *b) {
    uint64_t deadline_ns = b->now_ns + 3600000 * MS + draw(b, SPAN_NS);
    return (struct plan_event){.kind = PLAN_ARRIVED,
                               .arrived = {++b->next_id, b->now_ns, deadline_ns, 0}};
}

static struct bench *create_plan(uint32_t n) {
    struct bench *b = create(n);
    if (plan_create(&b->p, &(struct plan_config){.c0_ns = 5 * MS, .refresh_ns = PLAN_FOREVER}, NULL,
                    0))
        abort();
    for (uint32_t i = 0; i < 127; i++) /* a power of two minus one: all slots are used */
        step(b,
             &(struct plan_event){
                 .kind = PLAN_ALONE,
                 .alone = {i % 2 ? 10 * MS + draw(b, 20 * MS) : 100 * MS + draw(b, 40 * MS), 0}},
             1);
    for (uint32_t i = 0; i < n; i++) {
        struct plan_event e = arrival(b);
        step(b, &e, 1);
    }
    step(b, &(struct plan_event){.kind = PLAN_READY}, 1);
    for (uint32_t i = 0; i < 16; i++) {
        struct plan_event e = arrival(b);
        step(b, &e, 1);
    }
    return b;
}

static double step_arrived(void *arg) {
    struct bench *b = arg;
    uint64_t first = b->next_id + 1, start = fdutil_now_ns();
    for (uint32_t i = 0; i < few(b); i++) {
        struct plan_event e = arrival(b);
        b->now_ns += 1000;
        step(b, &e, 1);
    }
    double ns = (double)(fdutil_now_ns() - start) / few(b);
    for (; first <= b->next_id; first++)
        step(b, &(struct plan_event){.kind = PLAN_CANCELLED, .id = first}, 1);
    return ns;
}

static double step_batch(void *arg) {
    struct bench *b = arg;
    uint64_t taken = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        b->now_ns += 10 * MS;
        uint64_t start = fdutil_now_ns();
        step(b, &(struct plan_event){.kind = PLAN_DONE, .done = {10 * MS, NULL}}, 1);
        taken += fdutil_now_ns() - start;
        for (uint32_t k = 0; k < 16; k++) {
            struct plan_event e = arrival(b);
            step(b, &e, 1);
        }
    }
    return (double)taken / ROUNDS;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static const struct {
    const char *what;
    double (*measure)(void *);
    struct bench *(*create)(uint32_t n);
    double goal_ns;
} cases[] = {
    {"insertion, tournament", insert_tournament, create_tournament, INSERT_NS},
    {"insertion, hulls of levels", insert_levels, create_levels, 0},
    {"query, tournament", query_tournament, create_still, QUERY_NS},
    {"query with the milestones of 10 us, tournament", query_reformed, create_tournament, 0},
    {"query, hulls of levels", query_levels, create_levels, 0},
    {"the first leaves, one comes, tournament", churn_tournament, create_tournament, 0},
    {"the first leaves, one comes, hulls of levels", churn_levels, create_levels, 0},
    {"a step: a request arrives, five sizes", step_arrived, create_plan, INSERT_NS},
    {"a step: a batch of 16, five sizes", step_batch, create_plan, 0},
};

static void run_case(uint32_t index, uint32_t n, int samples) {
    char name[96];
    bool goal = cases[index].goal_ns > 0 && n == MANY;
    struct floor_series s = {
        .name = name, .goal = goal ? cases[index].goal_ns : 0, .goal_is_ns = true};
    snprintf(name, sizeof(name), "%s, %u pending", cases[index].what, n);
    struct bench *b = cases[index].create(n);
    cases[index].measure(b);
    for (int i = 0; i < samples; i++)
        floor_sample(&s, cases[index].measure, b);
    floor_print(&s);
    floor_print_json("plan", &s);
    destroy(b);
}

/* Batches of 16 need that many requests; hulls of 100,000 points take 4 ms for each rebuild. */
static bool is_sensible(uint32_t index, uint32_t n) {
    if (cases[index].create == create_plan) return n >= 16;
    return cases[index].measure != churn_levels || n < MOST;
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 40;
    if (!floor_start()) {
        fprintf(stderr, "plan_bench: needs two CPUs\n");
        return 77;
    }
    if (samples > FLOOR_SAMPLES) samples = FLOOR_SAMPLES;
    floor_print_head("plan");
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint32_t k = 0; k < sizeof(crowds) / sizeof(*crowds); k++)
            if (is_sensible(i, crowds[k])) run_case(i, crowds[k], samples);
    floor_stop();
    return 0;
}
