/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning c0 and c1 of (4.3) from batches.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/serve/plan/outlook/batchtime.h"

#define MS 1e6

static uint64_t seed = 1;

static double draw(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(seed >> 11) + 0.5) * 0x1p-53;
}

static void feed(struct batchtime *b, int batches, double c0_ns, double c1, double noise) {
    for (int i = 0; i < batches; i++) {
        uint32_t count = 1u << (int)(draw() * 5);
        double longest = (5 + 20 * draw()) * MS;
        double ns = c0_ns + c1 * count * longest;
        batchtime_add(b, count, longest, ns * (1 + noise * (draw() - 0.5)));
    }
}

Test(plan_batchtime, is_what_is_assumed_at_first) {
    struct batchtime b;
    batchtime_init(&b, 3 * MS, 0.5);
    cr_expect_float_eq(batchtime_of(&b, 4, 10 * MS), 23 * MS, 1);
    feed(&b, 7, 1 * MS, 0.1, 0);
    cr_expect_float_eq(batchtime_of(&b, 4, 10 * MS), 23 * MS, 1);
}

Test(plan_batchtime, finds_what_the_batches_were_made_with) {
    struct batchtime b;
    batchtime_init(&b, 0, 1);
    feed(&b, 20, 7 * MS, 0.3, 0);
    cr_expect_float_eq(b.c0_ns, 7 * MS, 1);
    cr_expect_float_eq(b.c1, 0.3, 1e-9);
    batchtime_init(&b, 0, 1);
    feed(&b, 400, 7 * MS, 0.3, 0.1);
    cr_expect_float_eq(b.c1, 0.3, 0.02);
}

Test(plan_batchtime, forgets_what_was_long_ago) {
    struct batchtime b;
    batchtime_init(&b, 0, 1);
    feed(&b, 1000, 7 * MS, 0.3, 0);
    feed(&b, 1000, 2 * MS, 0.6, 0);
    cr_expect_float_eq(b.c0_ns, 2 * MS, 0.05 * MS);
    cr_expect_float_eq(b.c1, 0.6, 0.01);
}

/* If all batches are alike, they do not determine c1. */
Test(plan_batchtime, from_batches_of_one_kind_only_their_time_is_learnt) {
    struct batchtime b;
    batchtime_init(&b, 0, 0.5);
    for (int i = 0; i < 20; i++)
        batchtime_add(&b, 4, 10 * MS, 26 * MS);
    cr_expect_float_eq(b.c1, 0.5, 1e-12);
    cr_expect_float_eq(b.c0_ns, 6 * MS, 1);
    batchtime_init(&b, 0, 0.5);
    for (int i = 0; i < 20; i++)
        batchtime_add(&b, 4, 10 * MS, 10 * MS); /* less than c1 k l: c0 must not become negative */
    cr_expect_eq(b.c0_ns, 0);
    cr_expect_float_eq(b.c1, 0.25, 1e-12);
}

/* Large batches that take more than proportionally long: the line would start below 0. */
Test(plan_batchtime, c0_is_never_below_nothing) {
    struct batchtime b;
    batchtime_init(&b, 0, 1);
    for (int i = 0; i < 40; i++) {
        uint32_t count = 1 + i % 8;
        batchtime_add(&b, count, 10 * MS, (0.5 * count * 10 - 4) * MS);
    }
    cr_expect_eq(b.c0_ns, 0);
    cr_expect(b.c1 > 0.35 && b.c1 < 0.5, "%g", b.c1);
}

Test(plan_batchtime, nothing_that_is_seen_makes_batches_take_less_than_nothing) {
    for (int round = 0; round < 200; round++) {
        struct batchtime b;
        batchtime_init(&b, 0, 1);
        for (int i = 0; i < 50; i++) {
            batchtime_add(&b, 1u << (int)(draw() * 6), draw() * 30 * MS, draw() * 90 * MS);
            cr_assert_geq(b.c0_ns, 0);
            cr_assert_gt(b.c1, 0);
        }
    }
}
