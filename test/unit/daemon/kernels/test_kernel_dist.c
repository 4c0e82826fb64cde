/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions of durations: bins, means, quantiles, and decay of old samples.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_dist.h"

static struct kernel_dist d;

static void add(uint64_t ns, uint32_t times) {
    for (uint32_t i = 0; i < times; i++)
        kernel_dist_add(&d, ns);
}

/* Expects a value within an eighth of `wanted`. */
static void near(uint64_t got, uint64_t wanted) {
    cr_assert_leq(got, wanted + wanted / 8, "%lu for %lu", got, wanted);
    cr_assert_geq(got, wanted - wanted / 8, "%lu for %lu", got, wanted);
}

Test(kernel_dist, empty_is_zero) {
    cr_assert_eq(kernel_dist_mean(&d), 0);
    cr_assert_eq(kernel_dist_quantile(&d, 990), 0);
    cr_assert(kernel_dist_settle(&d));
}

Test(kernel_dist, one_sample_is_every_quantile_to_an_eighth) {
    for (uint64_t ns = 512; ns < KERNEL_DIST_NS_MAX; ns += ns / 3) {
        memset(&d, 0, sizeof(d));
        add(ns, 1);
        cr_assert_eq(kernel_dist_mean(&d), ns);
        near(kernel_dist_quantile(&d, 1), ns);
        near(kernel_dist_quantile(&d, 990), ns);
        cr_assert(kernel_dist_settle(&d));
    }
}

Test(kernel_dist, every_duration_has_its_bin) {
    add(0, 1);
    add(511, 1);
    add(575, 1);
    cr_assert_eq(d.bins[0], 3);
    add(576, 1);
    cr_assert_eq(d.bins[1], 1);
    add(1023, 1);
    cr_assert_eq(d.bins[7], 1);
    add(1024, 1);
    cr_assert_eq(d.bins[8], 1);
    add(KERNEL_DIST_NS_MAX, 1);
    add(KERNEL_DIST_NS_MAX + 1, 1);
    add(UINT64_MAX, 1);
    cr_assert_eq(d.bins[KERNEL_DIST_BINS - 1], 3);
    cr_assert_eq(d.sum_ns, 511 + 575 + 576 + 1023 + 1024 + 3 * KERNEL_DIST_NS_MAX);
    cr_assert(kernel_dist_settle(&d));
}

Test(kernel_dist, quantiles_of_two_modes) {
    add(2000, 98);
    add(100000, 2);
    near(kernel_dist_quantile(&d, 500), 2000);
    near(kernel_dist_quantile(&d, 980), 2000);
    near(kernel_dist_quantile(&d, 990), 100000);
    cr_assert_eq(kernel_dist_mean(&d), (98 * 2000 + 2 * 100000) / 100);
}

Test(kernel_dist, a_quantile_grows_with_its_part) {
    uint64_t before = 0;

    srand(3);
    for (int i = 0; i < 1000; i++)
        kernel_dist_add(&d, (uint64_t)rand() % 10000000);
    for (uint32_t milli = 0; milli <= 1000; milli++) {
        uint64_t q = kernel_dist_quantile(&d, milli);

        cr_assert_geq(q, before);
        before = q;
    }
    cr_assert_leq(before, 10000000u + 10000000u / 8);
}

Test(kernel_dist, what_was_long_ago_fades) {
    add(1000000, 30000);
    add(1000, 60000);
    cr_assert_eq(d.count, 90000);
    add(1000, 65535 - 60000);
    cr_assert_not(kernel_dist_add(&d, 5000));
    cr_assert(kernel_dist_add(&d, 1000), "the counter was full");
    cr_assert_eq(d.count, 65535 / 2 + 30000 / 2 + 1, "the odd ones lose one: %u", d.count);
    add(1000, 200000);
    cr_assert_lt(kernel_dist_mean(&d), 100000);
    near(kernel_dist_quantile(&d, 500), 1000);
    cr_assert(kernel_dist_settle(&d));
}

/* After any sample the bins are consistent with the sum, and the mean is unchanged. */
Test(kernel_dist, the_sum_stays_that_of_the_bins) {
    srand(4);
    for (int i = 0; i < 600000; i++) {
        kernel_dist_add(&d, (uint64_t)rand() % 3 ? 1500 : (uint64_t)rand() << (rand() % 5));
        if (i % 1000 == 0) cr_assert(kernel_dist_settle(&d));
    }
    memset(&d, 0, sizeof(d));
    add(700, 65535);
    add(KERNEL_DIST_NS_MAX, 1);
    add(700, 1); /* the long sample was the only one of its bin, which has faded */
    near(kernel_dist_mean(&d), 700);
    cr_assert(kernel_dist_settle(&d));
}

Test(kernel_dist, the_odd_ones_that_go_take_their_time_with_them) {
    add(1000000000, 3);
    add(700, 65536);
    cr_assert_eq(d.count, 1 + 32767 + 1);
    near(kernel_dist_mean(&d), (1000000000 + 32768 * 700ull) / d.count);
}

Test(kernel_dist, merging_is_adding) {
    struct kernel_dist other = {0}, both;

    add(1000, 50000);
    add(8000, 7);
    for (int i = 0; i < 3000; i++)
        kernel_dist_add(&other, 64000);
    both = d;
    kernel_dist_merge(&both, &other);
    cr_assert_eq(both.count, 53007);
    cr_assert_eq(both.sum_ns, d.sum_ns + other.sum_ns);
    kernel_dist_merge(&both, &d); /* 100000 in a bin exceeds the limit */
    cr_assert(kernel_dist_settle(&both));
    cr_assert_eq(both.count, 25000 + 3 + 1500 + 25000 + 3);
    near(kernel_dist_quantile(&both, 990), 64000);
}

Test(kernel_dist, a_sum_that_is_not_theirs_is_seen) {
    add(1000, 10);
    d.count = 99;
    cr_assert(kernel_dist_settle(&d));
    cr_assert_eq(d.count, 10);
    d.sum_ns = 10 * 959;
    cr_assert_not(kernel_dist_settle(&d));
    d.sum_ns = 10 * 1024;
    cr_assert_not(kernel_dist_settle(&d));
    d.sum_ns = 10 * 960;
    cr_assert(kernel_dist_settle(&d));
}
