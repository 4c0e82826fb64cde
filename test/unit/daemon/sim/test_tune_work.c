/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks of the simulator follow their rule (docs/results/2026-11-tuning.md).
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "daemon/sim/tune/work.h"

static struct work make(const char *task, uint64_t seed) {
    struct work w;
    cr_assert(work_find(task));
    work_init(&w, work_find(task), seed);
    return w;
}

Test(tune_work, the_same_seed_is_the_same_world) {
    struct work a = make("cifar", 3), b = make("cifar", 3), c = make("cifar", 4);
    struct work_config x, y, z;
    work_random(&a, 7, &x);
    work_random(&b, 7, &y);
    work_random(&c, 7, &z);
    cr_expect_eq(memcmp(x.x, y.x, sizeof(x.x)), 0);
    cr_expect_neq(memcmp(x.x, z.x, sizeof(x.x)), 0);
    cr_expect_eq(work_accuracy(&a, &x, 9), work_accuracy(&b, &y, 9));
    cr_expect_eq(a.target, b.target);
    cr_expect_neq(a.target, c.target);
}

Test(tune_work, about_one_in_fifty_reaches_the_target) {
    uint32_t reached = 0;
    struct work w = make("wlm", 1);
    for (uint32_t i = 0; i < 5000; i++) {
        struct work_config c;
        work_random(&w, i, &c);
        reached += work_accuracy(&w, &c, WORK_EPOCHS) >= w.target;
    }
    cr_expect(reached > 50 && reached < 200, "%u of 5000", reached);
}

/* The time of an epoch alone on a GPU is distributed evenly between the cheapest and the
 * dearest. */
Test(tune_work, epochs_cost_what_the_task_says) {
    struct work w = make("wlm", 1);
    struct work_config c = {.x = {0}};
    cr_expect_float_eq(work_epoch_s(&w, &c), 30, 1e-9);
    c.x[4] = 1;
    cr_expect_float_eq(work_epoch_s(&w, &c), 120, 1e-9);
    c.x[4] = 0.5;
    cr_expect_float_eq(work_epoch_s(&w, &c), 75, 1e-9);
}

Test(tune_work, accuracy_grows_with_epochs_and_quality) {
    struct work w = make("dcgan", 2);
    struct work_config best = {.number = 1}, far = {.number = 2};
    memcpy(best.x, w.best, sizeof(best.x));
    for (uint32_t i = 0; i < WORK_DIMENSIONS; i++)
        far.x[i] = w.best[i] > 0.5 ? 0 : 1;
    best.x[5] = far.x[5] = 0;
    cr_expect_float_eq(work_accuracy(&w, &best, WORK_EPOCHS), 0.9 * 81 / (81 + 1.5), 0.02);
    cr_expect_lt(work_accuracy(&w, &far, WORK_EPOCHS), work_accuracy(&w, &best, WORK_EPOCHS) - 0.1);
    for (uint32_t e = 3; e <= WORK_EPOCHS; e *= 3)
        cr_expect_gt(work_accuracy(&w, &best, e), work_accuracy(&w, &best, e / 3));
}

Test(tune_work, what_is_near_is_near) {
    struct work w = make("cifar", 5);
    double sum = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        struct work_config at = {.x = {0.5, 0.5, 0.5, 0.01, 0.99, 0.5}}, near;
        work_near(&w, &at, i, &near);
        for (uint32_t k = 0; k < WORK_DIMENSIONS; k++)
            cr_assert(near.x[k] >= 0 && near.x[k] <= 1, "%g", near.x[k]);
        sum += (near.x[0] - 0.5) * (near.x[0] - 0.5);
    }
    cr_expect_float_eq(sqrt(sum / 1000), 0.1, 0.01);
}

Test(tune_work, a_lattice_has_no_point_twice) {
    for (uint32_t i = 0; i < 27; i++)
        for (uint32_t k = 0; k < i; k++) {
            struct work_config a, b;
            work_lattice(i, &a);
            work_lattice(k, &b);
            cr_assert_neq(memcmp(a.x, b.x, sizeof(a.x)), 0, "%u, %u", i, k);
        }
}
