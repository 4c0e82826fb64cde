/* SPDX-License-Identifier: Apache-2.0
 *
 * The maximum of several requests: the thesis's (4.6) and (4.8) computed in other ways than by the
 * product, and compared with random draws.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "daemon/serve/plan/outlook/histogram.h"
#include "daemon/serve/plan/outlook/maximum.h"

#define ROW (HISTOGRAM_BINS + 1)
#define MOST 6u

static double rows[MOST][ROW];

/* A uniform distribution between two edges. */
static void fill_uniform(double *cdf, uint32_t from, uint32_t to) {
    double begin = (double)histogram_edge(from), end = (double)histogram_edge(to);
    for (uint32_t i = 0; i < ROW; i++) {
        double part = ((double)histogram_edge(i) - begin) / (end - begin);
        cdf[i] = part < 0 ? 0 : part > 1 ? 1 : part;
    }
}

static uint64_t seed = 1;

static double draw(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(seed >> 11) + 0.5) * 0x1p-53;
}

/* Any F: a random increasing sequence between two edges. */
static void fill_random(double *cdf) {
    uint32_t from = 300 + (uint32_t)(draw() * 50), to = from + 10 + (uint32_t)(draw() * 100);
    memset(cdf, 0, ROW * sizeof(*cdf));
    for (uint32_t i = from; i < ROW; i++)
        cdf[i] = i < to ? cdf[i - 1] + draw() : i == to ? cdf[i - 1] : cdf[to];
    double all = cdf[to];
    for (uint32_t i = from; i < ROW; i++)
        cdf[i] /= all;
}

/* (4.8) integrated: the sum over all subsets s of the batch, whose density k [F^s]^(k-1) f^s
 * integrates to [F^s]^k, where F^s is the mean of the F_i in s (4.7). */
static double sum_over_subsets(uint32_t k, uint32_t at) {
    double sum = 0, factorial = 1;
    for (uint32_t i = 2; i <= k; i++)
        factorial *= i;
    for (uint32_t s = 1; s < 1u << k; s++) {
        uint32_t n = (uint32_t)__builtin_popcount(s);
        double mean = 0;
        for (uint32_t i = 0; i < k; i++)
            if (s >> i & 1) mean += rows[i][at] / n;
        sum += ((k - n) % 2 ? -1 : 1) * pow(n, k) / factorial * pow(mean, k);
    }
    return sum;
}

Test(plan_maximum, of_equal_ones_is_a_power) { /* (4.6) */
    fill_uniform(rows[0], 320, 400);
    for (uint32_t k = 1; k <= 128; k *= 2)
        for (uint32_t i = 0; i < ROW; i++)
            cr_assert_float_eq(maximum_at(&(struct maximum_of){rows[0], k}, 1, i),
                               pow(rows[0][i], k), 1e-12);
}

Test(plan_maximum, of_different_ones_is_the_sum_over_all_subsets) { /* (4.8) */
    for (uint32_t k = 1; k <= MOST; k++) {
        struct maximum_of groups[MOST];
        for (uint32_t i = 0; i < k; i++) {
            fill_random(rows[i]);
            groups[i] = (struct maximum_of){rows[i], 1};
        }
        for (uint32_t at = 0; at < ROW; at++)
            cr_assert_float_eq(maximum_at(groups, k, at), sum_over_subsets(k, at), 1e-10,
                               "%u requests, edge %u", k, at);
    }
}

/* The largest of k samples that are uniform in [a, b] is a + (b - a) k / (k + 1) on average. */
Test(plan_maximum, its_mean_is_that_of_an_order_statistic) {
    double begin = (double)histogram_edge(320), end = (double)histogram_edge(400);
    fill_uniform(rows[0], 320, 400);
    for (uint32_t k = 1; k <= 128; k *= 2)
        cr_expect_float_eq(maximum_mean(&(struct maximum_of){rows[0], k}, 1),
                           begin + (end - begin) * k / (k + 1), 1e-4 * begin, "%u requests", k);
}

Test(plan_maximum, its_quantile_is_where_f_says) {
    double begin = (double)histogram_edge(320), end = (double)histogram_edge(400);
    fill_uniform(rows[0], 320, 400);
    for (uint32_t k = 1; k <= 64; k *= 2)
        cr_expect_float_eq(maximum_quantile(&(struct maximum_of){rows[0], k}, 1, 990),
                           begin + (end - begin) * pow(0.99, 1.0 / k), 2e-3 * begin, "%u", k);
}

static double draw_from(const double *cdf) {
    double u = draw();
    uint32_t i = 0;
    while (cdf[i + 1] < u)
        i++;
    double begin = (double)histogram_edge(i), width = (double)histogram_edge(i + 1) - begin;
    return begin + width * (u - cdf[i]) / (cdf[i + 1] - cdf[i]);
}

Test(plan_maximum, its_mean_is_what_draws_give) {
    enum { DRAWS = 20000 };
    struct maximum_of groups[2] = {{rows[0], 3}, {rows[1], 5}};
    fill_random(rows[0]);
    fill_random(rows[1]);
    double sum = 0;
    for (int n = 0; n < DRAWS; n++) {
        double longest = 0;
        for (uint32_t g = 0; g < 2; g++)
            for (uint32_t i = 0; i < groups[g].count; i++)
                longest = fmax(longest, draw_from(groups[g].cdf));
        sum += longest;
    }
    double mean = maximum_mean(groups, 2);
    cr_expect_float_eq(sum / DRAWS, mean, 0.005 * mean);
}
