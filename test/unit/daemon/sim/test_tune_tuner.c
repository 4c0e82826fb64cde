/* SPDX-License-Identifier: Apache-2.0
 *
 * Tuning algorithms of the simulator: the runs that they request, in which order, and the
 * configurations that continue.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "daemon/sim/tune/tuner.h"
#include "daemon/sim/tune/tuners.h"

struct rig {
    struct work work;
    struct tuner tuner;
};

static struct rig *create(const char *name, uint32_t trials) {
    struct rig *r = calloc(1, sizeof(*r));
    cr_assert(r && tuners_find(name));
    work_init(&r->work, work_find("cifar"), 1);
    cr_assert_eq(tuner_init(&r->tuner, tuners_find(name), &r->work, trials), 0);
    return r;
}

static void destroy(struct rig *r) {
    tuner_finish(&r->tuner);
    free(r);
}

static uint32_t epochs_of(const struct tuner_run *run) {
    return run->to - run->from;
}

/* Completes all runs that may begin now, each with its configuration's number as its accuracy:
 * later ones are better. Returns the number of runs; *last: the last one. */
static uint32_t run_stage(struct rig *r, struct tuner_run *last) {
    struct tuner_run runs[128];
    uint32_t count = 0;
    while (count < 128 && tuner_next(&r->tuner, &runs[count]))
        count++;
    for (uint32_t i = count; i > 0; i--)
        tuner_told(&r->tuner, &runs[i - 1], runs[i - 1].config);
    *last = runs[count ? count - 1 : 0];
    return count;
}

static void expect_stage(struct rig *r, uint32_t count, uint32_t from, uint32_t to) {
    struct tuner_run last = {0};
    cr_expect_eq(run_stage(r, &last), count, "%u to %u", from, to);
    cr_expect_eq(last.from, from);
    cr_expect_eq(last.to, to);
}

Test(tune_tuner, grid_and_random_try_a_number_of_trials_to_the_end) {
    const char *names[] = {"grid", "random"};
    for (int i = 0; i < 2; i++) {
        struct rig *r = create(names[i], 27);
        struct tuner_run run;
        expect_stage(r, 27, 0, 81);
        cr_expect_not(tuner_next(&r->tuner, &run));
        destroy(r);
    }
}

/* The first bracket of both algorithms; then halving starts again, and Hyperband continues with
 * fewer and longer runs. */
static void expect_first_bracket(struct rig *r) {
    expect_stage(r, 81, 0, 1);
    expect_stage(r, 27, 1, 3);
    expect_stage(r, 9, 3, 9);
    expect_stage(r, 3, 9, 27);
    expect_stage(r, 1, 27, 81);
}

Test(tune_tuner, halving_keeps_a_third) {
    struct rig *r = create("halving", 0);
    expect_first_bracket(r);
    cr_expect_eq(r->tuner.group, 5, "each stage is a group");
    expect_stage(r, 81, 0, 1);
    destroy(r);
}

Test(tune_tuner, hyperband_has_brackets_of_five_lengths) {
    struct rig *r = create("hyperband", 0);
    const uint32_t counts[][4] = {{34, 11, 3, 1}, {15, 5, 1}, {8, 2}, {5}};
    expect_first_bracket(r);
    for (uint32_t b = 0, first = 3; b < 4; b++, first *= 3)
        for (uint32_t k = 0, to = first; k < 4 - b; k++, to *= 3)
            expect_stage(r, counts[b][k], k ? to / 3 : 0, to);
    expect_stage(r, 81, 0, 1);
    destroy(r);
}

/* No configuration continues before the stage is complete; then the best do. */
Test(tune_tuner, a_stage_waits_for_its_last) {
    struct rig *r = create("halving", 0);
    struct tuner_run runs[81], next;
    for (uint32_t i = 0; i < 81; i++)
        cr_assert(tuner_next(&r->tuner, &runs[i]));
    for (uint32_t i = 0; i < 80; i++)
        tuner_told(&r->tuner, &runs[i], (i * 7) % 81);
    cr_expect_not(tuner_next(&r->tuner, &next));
    tuner_told(&r->tuner, &runs[80], -1);
    cr_assert(tuner_next(&r->tuner, &next));
    cr_expect_eq(next.config * 7 % 81, 80);
    cr_expect_eq(next.from, 1);
    destroy(r);
}

/* One of three trials in a rung continues; the rest of the time new trials begin. */
Test(tune_tuner, asha_goes_on_with_the_best_third_so_far) {
    struct rig *r = create("asha", 0);
    struct tuner_run run;
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(tuner_next(&r->tuner, &run));
        cr_expect_eq(run.to, 1);
        tuner_told(&r->tuner, &run, i == 1 ? 0.9 : 0.1);
    }
    cr_assert(tuner_next(&r->tuner, &run));
    cr_expect_eq(run.config, 1);
    cr_expect_eq(run.from, 1);
    cr_expect_eq(run.to, 3);
    cr_assert(tuner_next(&r->tuner, &run));
    cr_expect_eq(run.config, 3, "nobody goes on twice");
    cr_expect_eq(run.to, 1);
    destroy(r);
}

Test(tune_tuner, asha_reaches_the_highest_rung) {
    struct rig *r = create("asha", 0);
    uint32_t full = 0, first = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        struct tuner_run run;
        cr_assert(tuner_next(&r->tuner, &run));
        full += run.to == WORK_EPOCHS;
        first += run.to == 1;
        tuner_told(&r->tuner, &run, work_accuracy(&r->work, &r->tuner.configs[run.config], run.to));
    }
    cr_expect(full >= 5 && full <= 15, "%u", full);
    cr_expect(first > 600 && first < 720, "two of three: %u", first);
    destroy(r);
}

Test(tune_tuner, a_population_keeps_its_size_and_loses_its_worst_quarter) {
    struct rig *r = create("pbt", 0);
    struct tuner_run last;
    for (uint32_t epoch = 0; epoch < WORK_EPOCHS; epoch += 3) {
        cr_assert_eq(run_stage(r, &last), 8);
        cr_expect_eq(last.from, epoch);
        cr_expect_eq(epochs_of(&last), 3);
    }
    cr_expect_eq(r->tuner.config_count, 8 + 26 * 2);
    cr_assert_eq(run_stage(r, &last), 8);
    cr_expect_eq(last.from, 0, "another population");
    cr_expect_eq(r->tuner.config_count, 8 + 26 * 2 + 8);
    destroy(r);
}

/* Mean accuracy of the drawn configurations, with the model and without. */
static double mean_accuracy(const char *name) {
    struct rig *r = create(name, 0);
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < 1500; i++) {
        struct tuner_run run;
        cr_assert(tuner_next(&r->tuner, &run));
        double got = work_accuracy(&r->work, &r->tuner.configs[run.config], run.to);
        tuner_told(&r->tuner, &run, got);
        if (run.from > 0 || run.config < 300) continue;
        sum += work_accuracy(&r->work, &r->tuner.configs[run.config], WORK_EPOCHS);
        count++;
    }
    destroy(r);
    cr_assert_gt(count, 100);
    return sum / count;
}

Test(tune_tuner, a_model_draws_better_ones) {
    cr_expect_gt(mean_accuracy("bohb"), mean_accuracy("asha") + 0.03);
}

Test(tune_tuner, the_table_is_whole) {
    uint32_t count = 0;
    for (; tuners_kind(count); count++)
        cr_expect(tuners_find(tuners_kind(count)->name) == tuners_kind(count) &&
                  tuners_sentence(count));
    cr_expect_eq(count, 8);
    cr_expect_null(tuners_find("oracle"));
    cr_expect_null(tuners_sentence(count));
}
