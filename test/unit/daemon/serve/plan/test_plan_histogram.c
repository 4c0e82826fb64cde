/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of single requests as a distribution: bins, mean, quantiles, F, and windows that expire.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/serve/plan/outlook/histogram.h"

#define MS 1000000ull

static struct histogram *make(uint64_t window_ns) {
    struct histogram *h = malloc(sizeof(*h));
    cr_assert_not_null(h);
    histogram_init(h, window_ns, 0);
    return h;
}

Test(plan_histogram, bins_lie_side_by_side_and_hold_their_times) {
    cr_expect_eq(histogram_bin(0), 0);
    cr_expect_eq(histogram_bin(UINT64_MAX), HISTOGRAM_BINS - 1);
    for (uint32_t i = 0; i < HISTOGRAM_BINS; i++) {
        uint64_t begin = histogram_edge(i), end = histogram_edge(i + 1);
        cr_assert_lt(begin, end);
        cr_assert_eq(histogram_bin(begin), i);
        cr_assert_eq(histogram_bin(end - 1), i);
        if (i) cr_assert_leq((double)(end - begin), 0.0322 * (double)begin, "bin %u", i);
    }
}

Test(plan_histogram, the_mean_is_exact_and_quantiles_are_of_what_was_seen) {
    struct histogram *h = make(0);
    cr_expect_eq(histogram_quantile(h, 500), 0);
    for (uint64_t i = 1; i <= 1000; i++)
        histogram_add(h, i * MS, 0);
    cr_expect_eq(histogram_count(h), 1000);
    cr_expect_float_eq(histogram_mean(h), 500.5e6, 1e-3);
    for (uint32_t milli = 10; milli < 1000; milli += 10) /* within a bin of the true value */
        cr_expect_leq(fabs((double)histogram_quantile(h, milli) - milli * 1e6),
                      0.033 * milli * 1e6);
    cr_expect_eq(histogram_quantile(h, 1000), 1000 * MS);
    free(h);
}

/* All samples are equal: no quantile may differ, although a bin is wider. */
Test(plan_histogram, a_constant_is_that_constant) {
    struct histogram *h = make(0);
    for (int i = 0; i < 10; i++)
        histogram_add(h, 7777777, 0);
    cr_expect_eq(histogram_quantile(h, 10), 7777777);
    cr_expect_eq(histogram_quantile(h, 990), 7777777);
    cr_expect_eq(histogram_mean(h), 7777777.0);
    free(h);
}

Test(plan_histogram, f_is_the_part_below_each_edge) {
    static double cdf[HISTOGRAM_BINS + 1];
    struct histogram *h = make(0);
    uint64_t times[] = {1 * MS, 2 * MS, 2 * MS, 50 * MS};
    for (int i = 0; i < 4; i++)
        histogram_add(h, times[i], 0);
    histogram_cdf(h, cdf);
    cr_expect_eq(cdf[0], 0);
    cr_expect_eq(cdf[HISTOGRAM_BINS], 1);
    for (uint32_t i = 0; i <= HISTOGRAM_BINS; i++) {
        double below = 0;
        for (int k = 0; k < 4; k++)
            below += times[k] < histogram_edge(i);
        cr_assert_eq(cdf[i], below / 4, "edge %u", i);
    }
    free(h);
}

Test(plan_histogram, a_window_is_forgotten_when_the_one_after_it_ends) {
    struct histogram *h = make(100);
    for (int i = 0; i < 100; i++)
        histogram_add(h, 1 * MS, 50);
    for (int i = 0; i < 100; i++)
        histogram_add(h, 3 * MS, 150); /* a new window: both count */
    cr_expect_eq(histogram_count(h), 200);
    cr_expect_eq(histogram_mean(h), 2e6);
    histogram_add(h, 5 * MS, 250);
    cr_expect_eq(histogram_count(h), 101);
    cr_expect_eq(histogram_quantile(h, 0), 3 * MS);
    free(h);
}

/* Otherwise an application with few requests would be judged by a handful of samples. */
Test(plan_histogram, nothing_is_forgotten_for_too_few) {
    struct histogram *h = make(100);
    for (uint32_t i = 0; i < HISTOGRAM_ENOUGH; i++)
        histogram_add(h, 1 * MS, 0);
    for (uint32_t i = 0; i < HISTOGRAM_ENOUGH; i++)
        histogram_add(h, 3 * MS, 1000 * (i + 1));
    cr_expect_eq(histogram_count(h), 2 * HISTOGRAM_ENOUGH);
    histogram_add(h, 3 * MS, 100000);
    cr_expect_eq(histogram_count(h), HISTOGRAM_ENOUGH + 1);
    free(h);
}
