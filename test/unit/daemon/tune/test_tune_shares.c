/* SPDX-License-Identifier: Apache-2.0
 *
 * Line 3 of the algorithms, and the order of trials.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tune/salus_fluid.h"
#include "daemon/tune/shares.h"

static struct shares_ask ask(double left, uint32_t packed_most, uint32_t spread_most) {
    return (struct shares_ask){
        .left_ns = left, .packed_most = packed_most, .spread_most = spread_most, .curve = {1, 1}};
}

static void expect(const double *left, uint32_t count, uint32_t gpus, uint32_t flags,
                   const double *want) {
    struct shares_ask asks[8];
    for (uint32_t i = 0; i < count; i++)
        asks[i] = ask(left[i], 4, 4);
    shares_plan(asks, count, gpus, flags);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_float_eq(asks[i].share, want[i], 1e-9, "%u: %g", i, asks[i].share);
}

Test(tune_shares, shares_are_whole_or_one_of_c) {
    expect((double[]){30, 12, 4, 4}, 4, 5, 0, (double[]){3, 1, 0.25, 0.25});
    expect((double[]){19, 19, 2}, 3, 4, 0, (double[]){1, 1, 0.25});
}

Test(tune_shares, nobody_gets_more_than_d) {
    expect((double[]){10}, 1, 64, 0, (double[]){4});
}

Test(tune_shares, without_idle_gpus_all_get_one_of_c) {
    expect((double[]){10, 1}, 2, 0, 0, (double[]){0.25, 0.25});
}

Test(tune_shares, a_quotient_of_just_one_is_one) {
    double left[7];
    for (int i = 0; i < 7; i++)
        left[i] = 0.1;
    expect(left, 7, 7, 0, (double[]){1, 1, 1, 1, 1, 1, 1});
}

Test(tune_shares, fractions_are_their_own) {
    expect((double[]){6, 3, 1}, 3, 2, SALUS_FLUID_FRACTIONS, (double[]){1, 0.6, 0.25});
    expect((double[]){6, 3, 1}, 3, 2, 0, (double[]){1, 0.25, 0.25});
}

Test(tune_shares, fifo_is_a_gpu_a_trial) {
    expect((double[]){6, 3, 1}, 3, 64, SALUS_FLUID_FIFO | SALUS_FLUID_FILL, (double[]){1, 1, 1});
}

/* 3.46 and 1.54 of five: rounding down leaves one GPU, which goes to the trial that ends last:
 * 18 / 3 = 6 before 8 / 1. */
Test(tune_shares, what_floors_leave_goes_to_the_last) {
    expect((double[]){18, 8}, 2, 5, 0, (double[]){3, 1});
    expect((double[]){18, 8}, 2, 5, SALUS_FLUID_FILL, (double[]){3, 2});
}

/* A trial on a part of a GPU without others has the whole GPU: of six GPUs two are left, not
 * three. */
Test(tune_shares, whoever_shares_has_one_to_itself_before_others_get_more) {
    expect((double[]){9, 9, 2}, 3, 6, 0, (double[]){2, 2, 0.25});
    expect((double[]){9, 9, 2}, 3, 6, SALUS_FLUID_FILL, (double[]){3, 2, 0.25});
}

Test(tune_shares, filling_ends_where_it_does_not_help_the_last) {
    struct shares_ask asks[] = {ask(10, 1, 2), ask(9, 1, 4)};
    shares_plan(asks, 2, 8, SALUS_FLUID_FILL);
    cr_expect_eq(asks[0].share, 2);
    cr_expect_eq(asks[1].share, 3, "the other one does not end the group");
    struct shares_ask slow[] = {ask(10, 1, 8), ask(9, 1, 8)};
    slow[0].curve.beta = 3;
    shares_plan(slow, 2, 3, SALUS_FLUID_FILL);
    cr_expect_eq(slow[0].share, 1, "on two it would be slower");
    cr_expect_eq(slow[1].share, 1);
}

/* Compared with an insertion sort, with many equal entries. */
Test(tune_shares, they_go_by_turn_then_the_longest_first) {
    struct shares_ask asks[100];
    struct shares_ask spare[100];
    srand(1);
    for (uint32_t count = 0; count <= 100; count++) {
        for (uint32_t i = 0; i < count; i++) {
            asks[i] = ask(rand() % 7, 1, 1);
            asks[i].turn = (uint64_t)(rand() % 3);
            asks[i].place = (i * 37) % 101;
        }
        shares_sort(asks, spare, count);
        for (uint32_t i = 1; i < count; i++) {
            const struct shares_ask *a = &asks[i - 1], *b = a + 1;
            bool right =
                a->turn < b->turn ||
                (a->turn == b->turn &&
                 (a->left_ns > b->left_ns || (a->left_ns == b->left_ns && a->place < b->place)));
            cr_assert(right, "%u of %u", i, count);
        }
    }
}
