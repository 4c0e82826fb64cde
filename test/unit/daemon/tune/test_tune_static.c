/* SPDX-License-Identifier: Apache-2.0
 *
 * StaticFluid: the thesis's toy example (Fig. 3.5), the placement of fractions, and the order of
 * waiting trials.
 */
#include <criterion/criterion.h>

#include "test/lib/tune/fluidrun.h"

#define S 1000000000ll

static const struct salus_fluid_config toy = {
    .gpus = 5, .packed_most = 4, .spread_most = 5, .flags = SALUS_FLUID_STATIC};

static void join_toy(struct salus_fluid_event *events) {
    const int64_t budget_s[] = {4, 4, 12, 30};
    for (uint32_t i = 0; i < 4; i++)
        events[i] = fluidrun_join(i + 1, budget_s[i] * S);
}

static const struct salus_fluid_trial *at(const struct fluidrun *r, uint64_t id) {
    return fluidrun_trial(r, id);
}

static uint32_t gpu_of(const struct fluidrun *r, uint64_t id) {
    cr_assert_eq(at(r, id)->gpu_count, 1);
    return r->plan.gpus[at(r, id)->gpu_first];
}

/* Fig. 3.5c: the longest trial on three GPUs, the two short ones together on one. */
Test(tune_static, fig_3_5_shares_and_places) {
    struct salus_fluid_event events[4];
    struct fluidrun r;
    fluidrun_init(&r, &toy);
    join_toy(events);
    fluidrun_step(&r, events, 4);
    cr_expect_null(r.broken, "%s", r.broken);
    cr_expect_eq(at(&r, 4)->share, 3);
    cr_expect_eq(at(&r, 4)->gpu_count, 3);
    cr_expect_eq(at(&r, 3)->share, 1);
    cr_expect_eq(at(&r, 1)->share, 0.25);
    cr_expect_eq(at(&r, 1)->part, 0.5);
    cr_expect_eq(gpu_of(&r, 1), gpu_of(&r, 2));
    cr_expect_neq(gpu_of(&r, 1), gpu_of(&r, 3));
    cr_expect_eq(r.plan.idle, 0);
    cr_expect_eq(r.plan.waiting, 0);
    fluidrun_finish(&r);
}

/* a: 30 s; b: the optimum is 10 s, all 50 GPU seconds on five GPUs; c: 12 s, when the third
 * ends. */
Test(tune_static, fig_3_5_makespans) {
    struct salus_fluid_event events[4];
    struct salus_fluid_config fifo = toy;
    fifo.flags = SALUS_FLUID_FIFO;
    join_toy(events);
    cr_expect_eq(fluidrun_makespan(&fifo, events, 4, NULL), 30 * S);
    cr_expect_eq(fluidrun_makespan(&toy, events, 4, NULL), 12 * S);
    for (uint32_t i = 0; i < 4; i++)
        events[i].alpha = SALUS_FLUID_EVEN;
    cr_expect_eq(fluidrun_makespan(&toy, events, 4, NULL), 12 * S, "8 s for the two that share");
}

/* At 4 s, rounding 1.54 and 3.46 down leaves the freed GPU idle; at 10 s the third gets all
 * five. */
Test(tune_static, fig_3_5_with_dynamic_fluid) {
    struct salus_fluid_event events[4];
    struct salus_fluid_config dynamic = toy;
    uint64_t resizes;
    dynamic.flags = 0;
    dynamic.change_ns = S / 10;
    join_toy(events);
    cr_expect_eq(fluidrun_makespan(&dynamic, events, 4, &resizes), 10500000000ll);
    cr_expect_eq(resizes, 1);
    dynamic.flags = SALUS_FLUID_FILL;
    cr_expect_lt(fluidrun_makespan(&dynamic, events, 4, &resizes), 10500000000ll);
}

/* ---- placement of fractions ------------------------------------------------------------------ */

static void join(struct fluidrun *r, const int64_t *left_s, uint32_t count, double alpha) {
    struct salus_fluid_event events[64];
    for (uint32_t i = 0; i < count; i++) {
        events[i] = fluidrun_join(i + 1, left_s[i] * S);
        events[i].alpha = alpha;
    }
    fluidrun_step(r, events, count);
}

/* 10, 10 and 9 have a GPU each; then 8 joins 9, and 3 and 2 join the tens. */
Test(tune_static, the_longest_first_to_whoever_has_least_to_do) {
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 3, .packed_most = 2});
    join(&r, (int64_t[]){3, 10, 2, 9, 8, 10}, 6, 1);
    cr_expect_eq(r.plan.waiting, 0);
    cr_expect_eq(gpu_of(&r, 5), gpu_of(&r, 4));
    cr_expect_eq(gpu_of(&r, 1), gpu_of(&r, 2));
    cr_expect_eq(gpu_of(&r, 3), gpu_of(&r, 6));
    cr_expect_eq(at(&r, 2)->part, 0.5);
    fluidrun_finish(&r);
}

Test(tune_static, no_more_than_c_share_a_gpu) {
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 2, .packed_most = 3});
    join(&r, (int64_t[]){5, 5, 5, 5, 5, 5, 5, 5}, 8, 1);
    cr_expect_eq(r.plan.waiting, 2);
    cr_expect_null(r.broken, "%s", r.broken);
    cr_expect(fluidrun_next(&r));
    cr_expect_eq(r.plan.count, 2);
    cr_expect_eq(r.plan.waiting, 0);
    fluidrun_finish(&r);
}

/* alpha 1.4 allows three (lemma 4), whatever c is. */
Test(tune_static, alpha_limits_c) {
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 1, .packed_most = 9});
    join(&r, (int64_t[]){5, 5, 5, 5, 5}, 5, 1.4);
    cr_expect_eq(r.plan.count - r.plan.waiting, 3);
    cr_expect_float_eq(at(&r, 1)->end_ns / 1e9, 5 * 1.4 * 1.4, 1e-6);
    fluidrun_finish(&r);
}

/* The trial whose c is 2 has no third trial on its GPU, although the third would accept three. */
Test(tune_static, the_least_c_counts_for_all_on_a_gpu) {
    struct salus_fluid_event events[3];
    struct fluidrun r;
    for (uint32_t i = 0; i < 3; i++) {
        events[i] = fluidrun_join(i + 1, 5 * S - i);
        events[i].packed_most = i == 0 ? 2 : 3;
    }
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 1});
    fluidrun_step(&r, events, 3);
    cr_expect_eq(r.plan.waiting, 1);
    cr_expect_null(r.broken, "%s", r.broken);
    fluidrun_finish(&r);
}

/* 0.6, 0.3 and a quarter exceed one GPU. */
Test(tune_static, fractions_add_up_to_one_gpu) {
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){
                          .gpus = 1, .packed_most = 4, .flags = SALUS_FLUID_FRACTIONS});
    join(&r, (int64_t[]){60, 30, 10}, 3, 1);
    cr_expect_eq(r.plan.waiting, 1);
    cr_expect_float_eq(at(&r, 1)->part, 0.6 / 0.9, 1e-9);
    fluidrun_finish(&r);
}

/* ---- waiting trials -------------------------------------------------------------------------- */

/* A waiting trial is planned again on GPUs that have become idle. */
Test(tune_static, who_waited_gets_whole_gpus_where_many_are_idle) {
    struct salus_fluid_event events[2] = {fluidrun_join(10, 4 * S), fluidrun_join(11, 4 * S)};
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 4, .packed_most = 2, .spread_most = 4});
    join(&r, (int64_t[]){8}, 1, 1);
    cr_expect_eq(at(&r, 1)->share, 4);
    events[0].group = events[1].group = 2;
    fluidrun_step(&r, events, 2);
    cr_expect_eq(r.plan.waiting, 2);
    cr_expect(fluidrun_next(&r));
    cr_expect_eq(at(&r, 10)->share, 2);
    cr_expect_eq(at(&r, 11)->share, 2);
    fluidrun_finish(&r);
}

Test(tune_static, an_earlier_group_goes_first) {
    struct salus_fluid_event events[2] = {fluidrun_join(10, 1 * S), fluidrun_join(11, 99 * S)};
    struct fluidrun r;
    fluidrun_init(&r, &(struct salus_fluid_config){.gpus = 1});
    join(&r, (int64_t[]){8}, 1, 1);
    events[0].group = 2;
    events[1].group = 3;
    fluidrun_step(&r, events, 2);
    cr_expect(fluidrun_next(&r));
    cr_expect_eq(at(&r, 10)->state, SALUS_FLUID_RUNNING);
    cr_expect_eq(at(&r, 11)->state, SALUS_FLUID_WAITING);
    fluidrun_finish(&r);
}

Test(tune_static, fifo_takes_them_as_they_joined) {
    struct fluidrun r;
    fluidrun_init(&r,
                  &(struct salus_fluid_config){
                      .gpus = 2, .packed_most = 4, .spread_most = 4, .flags = SALUS_FLUID_FIFO});
    join(&r, (int64_t[]){1, 5, 9, 2}, 4, 1);
    cr_expect_eq(at(&r, 1)->share, 1);
    cr_expect_eq(at(&r, 2)->share, 1);
    cr_expect_eq(r.plan.waiting, 2);
    cr_expect(fluidrun_next(&r));
    cr_expect_eq(at(&r, 3)->state, SALUS_FLUID_RUNNING);
    cr_expect_eq(at(&r, 4)->state, SALUS_FLUID_WAITING);
    fluidrun_finish(&r);
}
