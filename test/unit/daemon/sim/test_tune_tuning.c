/* SPDX-License-Identifier: Apache-2.0
 *
 * Tuning jobs in virtual time: compared with times computed by hand, and invariants of all of them.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/sim/tune/tuners.h"
#include "daemon/sim/tune/tuning.h"
#include "daemon/tune/salus_fluid.h"

/* A task whose epochs all take a second, with the given overheads. */
static struct work_task plain(double alpha, double beta) {
    struct work_task task = *work_find("cifar");
    task.epoch_s = task.costs = 1;
    task.alpha = alpha;
    task.beta = beta;
    return task;
}

static struct tuning_config job(const char *kind, const struct work_task *task, uint32_t gpus) {
    return (struct tuning_config){.kind = tuners_find(kind),
                                  .task = task,
                                  .seed = 1,
                                  .gpus = gpus,
                                  .trials = 4,
                                  .concurrent = 8,
                                  .threshold = 0.1,
                                  .limit_s = 1e7};
}

static struct tuning_result run(struct tuning_config config) {
    struct tuning_result r;
    cr_assert_eq(tuning_run(&config, &r), 0);
    return r;
}

/* Five trials of 81 s on two GPUs: three one after the other. */
Test(tune_tuning, fifo_takes_as_long_as_it_must) {
    struct work_task task = plain(1.2, 1.1);
    struct tuning_config c = job("grid", &task, 2);
    c.trials = 5;
    c.flags = SALUS_FLUID_FIFO;
    struct tuning_result r = run(c);
    cr_expect_float_eq(r.end_s, 3 * 81, 1e-6);
    cr_expect_float_eq(r.busy, 5 / 6.0, 1e-6);
    cr_expect_float_eq(r.work, 5 / 6.0, 1e-6);
    cr_expect_eq(r.runs, 5);
    cr_expect_eq(r.resizes, 0);
    c.begin_s = 2;
    cr_expect_float_eq(run(c).end_s, 3 * 83, 1e-6, "each is set up");
}

/* By (3.1), 1.15 allows four on a GPU: all of them at once. */
Test(tune_tuning, packed_trials_take_as_long_as_the_equation_says) {
    struct work_task task = plain(1.15, 1.1);
    struct tuning_config c = job("grid", &task, 1);
    cr_expect_float_eq(run(c).end_s, 81 * 1.15 * 1.15 * 1.15, 1e-6);
    c.threshold = 0.2; /* first three, then one */
    cr_expect_float_eq(run(c).end_s, 81 * 1.15 * 1.15 + 81, 1e-6);
    c.packed_most = 2;
    cr_expect_float_eq(run(c).end_s, 2 * 81 * 1.15, 1e-6);
    cr_expect_float_eq(run(c).work, 2 / 1.15, 1e-6);
}

/* Four trials on eight GPUs get two each. */
Test(tune_tuning, spread_trials_take_as_long_as_the_equation_says) {
    struct work_task task = plain(1.2, 1.1);
    struct tuning_result r = run(job("grid", &task, 8));
    cr_expect_float_eq(r.end_s, 81 / 2.0 * 1.1, 1e-6);
    cr_expect_float_eq(r.busy, 1, 1e-6);
}

/* 108 and 162 s on two GPUs. When the first ends, the other one has 54 s left, or 27 and
 * epsilon. */
Test(tune_tuning, a_resize_costs_epsilon) {
    struct work_task task = plain(1.2, 1);
    task.costs = 3;
    struct tuning_config c = job("grid", &task, 2);
    c.trials = 2; /* epochs of 4/3 and of 2 s */
    c.flags = SALUS_FLUID_STATIC;
    cr_expect_float_eq(run(c).end_s, 162, 1e-6);
    c.flags = 0;
    c.change_s = 5;
    struct tuning_result r = run(c);
    cr_expect_float_eq(r.end_s, 108 + 5 + 54 / 2.0, 1e-6);
    cr_expect_eq(r.resizes, 1);
}

Test(tune_tuning, it_ends_at_the_epoch_that_reaches_the_target) {
    struct work_task task = plain(1.2, 1.1);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct tuning_config c = job("asha", &task, 4);
        c.seed = seed;
        struct tuning_result r = run(c);
        cr_expect_eq(r.target_s, r.end_s);
        struct work w;
        work_init(&w, &task, seed);
        cr_expect_geq(r.best, w.target);
        c.limit_s = r.end_s - 0.5;
        cr_expect_lt(run(c).target_s, 0, "not before");
        cr_expect_float_eq(run(c).end_s, r.end_s - 0.5, 1e-6);
    }
}

/* Every algorithm in every mode: two runs give the same, and Fluid's rules hold. */
Test(tune_tuning, all_algorithms_come_to_an_end, .timeout = 60) {
    const uint32_t modes[] = {SALUS_FLUID_FIFO, SALUS_FLUID_STATIC,    0,
                              SALUS_FLUID_FILL, SALUS_FLUID_FRACTIONS, SALUS_FLUID_DOWN_ANY,
                              SALUS_FLUID_ROOM};
    for (uint32_t kind = 0; tuners_kind(kind); kind++)
        for (uint32_t mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++)
            for (uint32_t gpus = 1; gpus <= 16; gpus *= 4) {
                struct tuning_config c =
                    job(tuners_kind(kind)->name, work_find(mode % 2 ? "wlm" : "dcgan"), gpus);
                c.flags = modes[mode];
                c.noise = 0.1;
                c.change_s = 3;
                struct tuning_result a = run(c), b = run(c);
                cr_expect(a.end_s == b.end_s && a.work == b.work && a.best == b.best);
                cr_expect_gt(a.end_s, 0);
                cr_expect(a.busy > 0 && a.busy <= 1 + 1e-9, "%g", a.busy);
                cr_expect_gt(a.work, 0);
                bool limited = a.target_s < 0 && kind > 1;
                cr_expect_not(limited, "%s on %u", tuners_kind(kind)->name, gpus);
            }
}
