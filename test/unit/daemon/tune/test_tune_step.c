/* SPDX-License-Identifier: Apache-2.0
 *
 * Valid and invalid events: the results, the changes, and that no trial is lost, whatever happens.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/tune/fluidrun.h"

#define S 1000000000ll

static const struct salus_fluid_config four = {
    .gpus = 4, .gpus_most = 6, .packed_most = 4, .spread_most = 4, .change_ns = S / 10};

static void tell(struct fluidrun *r, uint32_t kind, uint64_t id) {
    fluidrun_step(r, &(struct salus_fluid_event){.kind = kind, .id = id, .gpu = (uint32_t)id}, 1);
    cr_assert_null(r->broken, "%s", r->broken);
}

static void join(struct fluidrun *r, uint64_t id, int64_t left_ns) {
    struct salus_fluid_event e = fluidrun_join(id, left_ns);
    fluidrun_step(r, &e, 1);
    cr_assert_eq(r->plan.refused, 0);
}

static const struct salus_fluid_trial *at(const struct fluidrun *r, uint64_t id) {
    return fluidrun_trial(r, id);
}

/* ---- invalid events -------------------------------------------------------------------------- */

static void expect_refused(struct fluidrun *r, struct salus_fluid_event e, uint32_t fault) {
    uint32_t count = r->plan.count, idle = r->plan.idle;
    struct salus_fluid_event events[3] = {
        {.kind = SALUS_FLUID_TIME}, e, {.kind = SALUS_FLUID_TIME}};
    fluidrun_step(r, events, 3);
    cr_assert_eq(r->plan.refused, 1, "%s", salus_fluid_fault_text(fault));
    cr_expect_eq(r->plan.refusals[0].index, 1);
    cr_expect_eq(r->plan.refusals[0].fault, fault, "%s, not %s",
                 salus_fluid_fault_text(r->plan.refusals[0].fault), salus_fluid_fault_text(fault));
    cr_expect_eq(r->plan.count, count);
    cr_expect_eq(r->plan.idle, idle);
    cr_expect_null(r->broken);
}

static struct salus_fluid_event with(int64_t left_ns, double alpha, double beta) {
    struct salus_fluid_event e = fluidrun_join(7, left_ns);
    e.alpha = alpha;
    e.beta = beta;
    return e;
}

Test(tune_step, a_trial_that_cannot_be_does_not_join) {
    struct fluidrun r;
    fluidrun_init(&r, &four);
    join(&r, 1, S);
    expect_refused(&r, with(0, 1, 1), SALUS_FLUID_FAULT_BUDGET);
    expect_refused(&r, with(-1, 1, 1), SALUS_FLUID_FAULT_BUDGET);
    expect_refused(&r, with(INT64_MIN, 1, 1), SALUS_FLUID_FAULT_BUDGET);
    expect_refused(&r, with(INT64_MAX, 1, 1), SALUS_FLUID_FAULT_BUDGET);
    expect_refused(&r, with(S, 0.9, 1), SALUS_FLUID_FAULT_OVERHEAD);
    expect_refused(&r, with(S, NAN, 1), SALUS_FLUID_FAULT_OVERHEAD);
    expect_refused(&r, with(S, 1, INFINITY), SALUS_FLUID_FAULT_OVERHEAD);
    expect_refused(&r, with(S, 1, 0), SALUS_FLUID_FAULT_OVERHEAD);
    expect_refused(&r, fluidrun_join(1, S), SALUS_FLUID_FAULT_TWICE);
    fluidrun_finish(&r);
}

Test(tune_step, events_of_nobody_are_refused) {
    struct fluidrun r;
    fluidrun_init(&r, &four);
    join(&r, 1, S);
    for (uint32_t kind = SALUS_FLUID_LEFT; kind <= SALUS_FLUID_SETTLED; kind++)
        expect_refused(&r, (struct salus_fluid_event){.kind = kind, .id = 2},
                       SALUS_FLUID_FAULT_NO_TRIAL);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_EVENTS},
                   SALUS_FLUID_FAULT_KIND);
    expect_refused(&r, (struct salus_fluid_event){.kind = UINT32_MAX}, SALUS_FLUID_FAULT_KIND);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_SETTLED, .id = 1},
                   SALUS_FLUID_FAULT_SETTLED);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_LEFT, .id = 1, .left_ns = -1},
                   SALUS_FLUID_FAULT_BUDGET);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_GPU_CAME, .gpu = 6},
                   SALUS_FLUID_FAULT_GPU);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_GPU_CAME, .gpu = 3},
                   SALUS_FLUID_FAULT_GPU_TWICE);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_GPU_GONE, .gpu = 6},
                   SALUS_FLUID_FAULT_GPU);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_GPU_GONE, .gpu = 5},
                   SALUS_FLUID_FAULT_NO_GPU);
    fluidrun_finish(&r);
}

Test(tune_step, one_that_waits_cannot_die) {
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 1});
    join(&r, 1, S);
    join(&r, 2, S);
    expect_refused(&r, (struct salus_fluid_event){.kind = SALUS_FLUID_DIED, .id = 2},
                   SALUS_FLUID_FAULT_WAITS);
    fluidrun_finish(&r);
}

Test(tune_step, there_is_room_for_as_many_as_was_said) {
    struct salus_fluid_plan plan;
    struct salus_fluid_event events[5];
    struct salus_fluid *f;
    cr_assert_eq(salus_fluid_create(&f, &(struct salus_fluid_config){.trials_most = 2}, NULL, 0),
                 0);
    for (uint32_t i = 0; i < 5; i++)
        events[i] = fluidrun_join(i, S);
    cr_expect_eq(salus_fluid_step(f, 0, events, 5, &plan), -E2BIG);
    cr_assert_eq(salus_fluid_step(f, 0, events, 3, &plan), 0);
    cr_expect_eq(plan.count, 2);
    cr_expect_eq(plan.waiting, 2, "there is no GPU");
    cr_expect_eq(plan.refusals[0].fault, SALUS_FLUID_FAULT_FULL);
    salus_fluid_destroy(f);
}

/* 1,000 more trials than GPUs: as many run as may, the others wait, and all end. */
Test(tune_step, a_thousand_more_than_gpus) {
    struct salus_fluid_event *events = calloc(1004, sizeof(*events));
    struct salus_fluid_plan plan;
    struct salus_fluid *f;
    int64_t now_ns = 0;
    cr_assert_eq(salus_fluid_create(&f, &four, NULL, 0), 0);
    for (uint32_t i = 0; i < 1004; i++)
        events[i] = fluidrun_join(i, S + i);
    cr_assert_eq(salus_fluid_step(f, 0, events, 1004, &plan), 0);
    cr_expect_eq(plan.count, 1004);
    cr_expect_eq(plan.waiting, 1004 - 16);
    while (plan.count) {
        uint32_t count = 0;
        cr_assert_geq(plan.end_ns, now_ns);
        now_ns = plan.end_ns;
        for (uint32_t i = 0; i < plan.count; i++)
            if (plan.trials[i].end_ns <= now_ns)
                events[count++] =
                    (struct salus_fluid_event){.kind = SALUS_FLUID_END, .id = plan.trials[i].id};
            else if (plan.trials[i].state == SALUS_FLUID_RESIZING)
                events[count++] = (struct salus_fluid_event){.kind = SALUS_FLUID_SETTLED,
                                                             .id = plan.trials[i].id};
        cr_assert_eq(salus_fluid_step(f, now_ns, events, count, &plan), 0);
        cr_assert_null(salus_fluid_check(f), "%s", salus_fluid_check(f));
    }
    cr_expect_leq(now_ns, 66 * S, "sixteen at a time");
    salus_fluid_destroy(f);
    free(events);
}

/* ---- trials that die, GPUs that disappear ---------------------------------------------------- */

Test(tune_step, one_that_dies_starts_again_before_others) {
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 1});
    join(&r, 1, 4 * S);
    struct salus_fluid_event other = fluidrun_join(2, 9 * S);
    other.group = 2;
    fluidrun_step(&r, &other, 1);
    r.now_ns = S;
    tell(&r, SALUS_FLUID_DIED, 1);
    cr_expect_eq(at(&r, 1)->state, SALUS_FLUID_RUNNING);
    cr_expect_eq(at(&r, 1)->deaths, 1);
    cr_expect_eq(at(&r, 1)->left_ns, 3 * S, "from where it was, unless the caller says otherwise");
    cr_expect_eq(at(&r, 1)->changed, 1);
    cr_expect_eq(at(&r, 2)->state, SALUS_FLUID_WAITING);
    fluidrun_finish(&r);
}

Test(tune_step, a_gpu_that_goes_makes_a_wide_trial_narrower) {
    struct fluidrun r;
    fluidrun_init(&r, &four);
    join(&r, 1, 8 * S);
    cr_assert_eq(at(&r, 1)->share, 4);
    r.now_ns = S;
    tell(&r, SALUS_FLUID_GPU_GONE, 2);
    cr_expect_eq(at(&r, 1)->share, 3);
    cr_expect_eq(at(&r, 1)->state, SALUS_FLUID_RESIZING);
    cr_expect_eq(at(&r, 1)->end_ns, S + S / 10 + 4 * S / 3 + 1);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_neq(r.plan.gpus[at(&r, 1)->gpu_first + i], 2);
    tell(&r, SALUS_FLUID_GPU_CAME, 2);
    cr_expect_eq(at(&r, 1)->share, 3, "while it is being resized");
    r.now_ns += S / 10;
    tell(&r, SALUS_FLUID_SETTLED, 1);
    cr_expect_eq(at(&r, 1)->share, 4);
    fluidrun_finish(&r);
}

Test(tune_step, a_gpu_that_goes_sends_those_who_share_it_elsewhere) {
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 2, .packed_most = 4});
    struct salus_fluid_event events[4];
    for (uint32_t i = 0; i < 4; i++)
        events[i] = fluidrun_join(i + 1, 4 * S);
    fluidrun_step(&r, events, 4);
    cr_assert_eq(at(&r, 1)->part, 0.5);
    tell(&r, SALUS_FLUID_GPU_GONE, 1);
    cr_expect_eq(r.plan.waiting, 0, "four fit on the other one");
    cr_expect_eq(at(&r, 1)->part, 0.25);
    tell(&r, SALUS_FLUID_GPU_GONE, 0);
    cr_expect_eq(r.plan.waiting, 4);
    cr_expect_eq(r.plan.idle, 0);
    tell(&r, SALUS_FLUID_GPU_CAME, 1);
    cr_expect_eq(r.plan.waiting, 0);
    fluidrun_finish(&r);
}

/* ---- time ------------------------------------------------------------------------------------ */

Test(tune_step, work_goes_on_between_steps_and_can_be_corrected) {
    struct fluidrun r;
    fluidrun_init(&r, &four);
    join(&r, 1, 8 * S);
    r.now_ns = S;
    tell(&r, SALUS_FLUID_TIME, 0);
    cr_expect_eq(at(&r, 1)->left_ns, 4 * S, "four GPUs");
    cr_expect_eq(at(&r, 1)->changed, 0);
    struct salus_fluid_event left = {.kind = SALUS_FLUID_LEFT, .id = 1, .left_ns = 6 * S};
    fluidrun_step(&r, &left, 1);
    cr_expect_eq(at(&r, 1)->end_ns, S + 6 * S / 4);
    r.now_ns = 0;
    tell(&r, SALUS_FLUID_TIME, 0);
    cr_expect_eq(at(&r, 1)->end_ns, S + 6 * S / 4, "time does not go back");
    r.now_ns = 1000 * S;
    tell(&r, SALUS_FLUID_TIME, 0);
    cr_expect_eq(at(&r, 1)->left_ns, 1, "it did not say that it has ended");
    fluidrun_finish(&r);
}

/* ---- random events --------------------------------------------------------------------------- */

struct chaos {
    struct fluidrun r;
    uint64_t seed, next_id;
    uint64_t ids[FLUIDRUN_TRIALS];
    uint32_t count, most;
};

static uint32_t draw(struct chaos *c, uint32_t below) {
    c->seed = c->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((c->seed >> 33) % below);
}

/* Draws the members of JOIN and KNOWN. */
static void draw_limits(struct chaos *c, struct salus_fluid_event *e) {
    e->alpha = draw(c, 2) ? 1 + draw(c, 100) / 100.0 : SALUS_FLUID_EVEN;
    e->beta = 1 + draw(c, 30) / 100.0;
    e->packed_most = draw(c, 6);
    e->spread_most = draw(c, 6);
}

static struct salus_fluid_event draw_join(struct chaos *c) {
    struct salus_fluid_event e = fluidrun_join(++c->next_id, 1 + draw(c, 100) * S / 10);
    e.group = draw(c, 3);
    draw_limits(c, &e);
    c->ids[c->count++] = e.id;
    return e;
}

/* Draws an event, mostly about existing trials; GPU events agree with the set of GPUs. */
static struct salus_fluid_event draw_event(struct chaos *c) {
    uint32_t kind = draw(c, SALUS_FLUID_EVENTS), i = draw(c, c->count + 1), gpu = draw(c, 6);
    if (kind == SALUS_FLUID_JOIN && c->count < c->most) return draw_join(c);
    struct salus_fluid_event e = {.kind = kind, .id = i < c->count ? c->ids[i] : 0, .gpu = gpu};
    if (kind == SALUS_FLUID_JOIN) e.kind = SALUS_FLUID_END;
    if (kind == SALUS_FLUID_LEFT) e.left_ns = (int64_t)draw(c, 50) * S / 10;
    if (kind == SALUS_FLUID_KNOWN) draw_limits(c, &e);
    if (e.kind == SALUS_FLUID_END && i < c->count) c->ids[i] = c->ids[--c->count];
    return e;
}

static void expect_all_there(const struct chaos *c) {
    cr_assert_null(c->r.broken, "%s", c->r.broken);
    cr_assert_eq(c->r.plan.count, c->count, "a trial is lost");
    for (uint32_t i = 0; i < c->count; i++)
        fluidrun_trial(&c->r, c->ids[i]);
}

/* Every GPU of the plan has one trial, or is shared, as the caller sees it, independently of the
 * library's own checks. */
static void expect_no_overlap(const struct chaos *c) {
    double used[6] = {0};
    uint32_t sharers[6] = {0};
    for (uint32_t i = 0; i < c->r.plan.count; i++) {
        const struct salus_fluid_trial *t = &c->r.plan.trials[i];
        for (uint32_t k = 0; k < t->gpu_count; k++) {
            uint32_t gpu = c->r.plan.gpus[t->gpu_first + k];
            cr_assert_lt(gpu, 6);
            used[gpu] += t->share < 1 ? t->part : 1;
            sharers[gpu]++;
        }
        cr_assert_eq(t->gpu_count, ceil(t->share));
    }
    for (uint32_t i = 0; i < 6; i++)
        cr_assert_lt(used[i], 1 + 1e-9, "GPU %u", i);
}

static void run_chaos(struct salus_fluid_config config, uint64_t seed) {
    struct chaos c = {.seed = seed};
    fluidrun_init(&c.r, &config);
    for (uint32_t i = 0; i < 4000; i++) {
        struct salus_fluid_event events[4];
        uint32_t count = draw(&c, 5);
        c.most = i / 100 % 2 ? 40 : 4; /* alternates crowds with times in which no trial waits */
        for (uint32_t k = 0; k < count; k++)
            events[k] = draw_event(&c);
        c.r.now_ns += draw(&c, 1000) * (S / 1000);
        fluidrun_step(&c.r, events, count);
        expect_all_there(&c);
        expect_no_overlap(&c);
    }
    cr_expect_gt(c.r.plan.resizes, config.flags & SALUS_FLUID_STATIC ? 0 : 50);
    fluidrun_finish(&c.r);
}

Test(tune_step, no_trial_is_lost_and_no_gpu_is_given_twice, .timeout = 60) {
    const uint32_t flags[] = {0,
                              SALUS_FLUID_ROOM,
                              SALUS_FLUID_ROOM | SALUS_FLUID_FILL,
                              SALUS_FLUID_FRACTIONS,
                              SALUS_FLUID_FILL,
                              SALUS_FLUID_DOWN_ANY,
                              SALUS_FLUID_FILL | SALUS_FLUID_FRACTIONS};
    for (uint32_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        struct salus_fluid_config config = four;
        config.flags = flags[i];
        run_chaos(config, i);
    }
}

/* The same events give the same plans, byte for byte. */
Test(tune_step, it_is_a_function_of_its_events) {
    struct chaos a = {.seed = 9, .most = 9}, b = {.seed = 9, .most = 9};
    fluidrun_init(&a.r, &four);
    fluidrun_init(&b.r, &four);
    for (uint32_t i = 0; i < 500; i++) {
        struct salus_fluid_event ea = draw_event(&a), eb = draw_event(&b);
        a.r.now_ns = b.r.now_ns += S / 10;
        fluidrun_step(&a.r, &ea, 1);
        fluidrun_step(&b.r, &eb, 1);
        cr_assert_eq(a.r.plan.count, b.r.plan.count);
        cr_assert_eq(
            memcmp(a.r.plan.trials, b.r.plan.trials, a.r.plan.count * sizeof(*a.r.plan.trials)), 0);
    }
    fluidrun_finish(&a.r);
    fluidrun_finish(&b.r);
}
