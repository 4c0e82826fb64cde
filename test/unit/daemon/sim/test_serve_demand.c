/* SPDX-License-Identifier: Apache-2.0
 *
 * Random requests: statistics of many requests check their distributions.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>

#include "daemon/sim/serve/draw.h"
#include "daemon/sim/serve/lognormal.h"
#include "daemon/sim/serve/serving_demand.h"

#define MS 1e6
#define MANY 200000

static struct demand_spec make_spec(void) {
    return (struct demand_spec){.modes = 1,
                                .low_ms = 10,
                                .high_ms = 100,
                                .c0_ms = 25,
                                .c1 = 0.15,
                                .largest = 16,
                                .load = 0.5,
                                .slo = 3,
                                .count = 20000,
                                .workers = 1,
                                .seed = 1};
}

Test(serve_demand, exponential_numbers_are_exponential) {
    struct draw d = {1};
    double sum = 0, beyond[5] = {0};
    for (int i = 0; i < MANY; i++) {
        double x = draw_exponential(&d);
        sum += x;
        for (int k = 0; k < 5; k++)
            beyond[k] += x > k / 2.0;
    }
    cr_expect_float_eq(sum / MANY, 1, 0.01);
    for (int k = 0; k < 5; k++)
        cr_expect_float_eq(beyond[k] / MANY, exp(-k / 2.0), 0.005, "beyond %g", k / 2.0);
}

Test(serve_demand, normal_numbers_are_nearly_normal) {
    struct draw d = {1};
    double sum = 0, square = 0, within = 0;
    for (int i = 0; i < MANY; i++) {
        double x = draw_normal(&d);
        sum += x;
        square += x * x;
        within += fabs(x) < 1;
    }
    cr_expect_float_eq(sum / MANY, 0, 0.01);
    cr_expect_float_eq(square / MANY, 1, 0.01);
    cr_expect_float_eq(within / MANY, 0.6827, 0.01);
}

/* All requests take 55 ms: batches of 16 take 25 + 0.15 16 55 = 157 ms, 101.9 requests a second. */
Test(serve_demand, requests_come_at_a_part_of_the_capacity) {
    struct demand_spec spec = make_spec();
    struct demand d;
    cr_assert_eq(serving_demand_init(&d, &spec), 0);
    cr_expect_float_eq(d.capacity, 101.91, 0.01);
    cr_expect_float_eq(d.p99_ns, 55 * MS, 1);
    double rate = spec.count / ((double)d.requests[spec.count - 1].arrived_ns / 1e9);
    cr_expect_float_eq(rate, 0.5 * d.capacity, 0.02 * d.capacity);
    for (uint32_t i = 0; i < spec.count; i++) {
        uint64_t slo_ns = d.requests[i].deadline_ns - d.requests[i].arrived_ns;
        cr_assert_float_eq((double)slo_ns, 165 * MS, 2);
        if (i) cr_assert_geq(d.requests[i].arrived_ns, d.requests[i - 1].arrived_ns);
    }
    serving_demand_finish(&d);
    spec.workers = 3;
    cr_assert_eq(serving_demand_init(&d, &spec), 0);
    cr_expect_float_eq(d.capacity, 3 * 101.91, 0.03);
    serving_demand_finish(&d);
}

/* Four modes at 10, 40, 70 and 100 ms. */
Test(serve_demand, each_application_has_its_mode) {
    struct demand_spec spec = make_spec();
    struct demand d;
    double sum[4] = {0}, square[4] = {0}, count[4] = {0};
    spec.modes = 4;
    spec.sigma_ms = 2;
    cr_assert_eq(serving_demand_init(&d, &spec), 0);
    for (uint32_t i = 0; i < spec.count; i++) {
        double ms = (double)d.requests[i].alone_ns / MS;
        uint32_t app = d.requests[i].app;
        cr_assert_lt(app, 4);
        sum[app] += ms;
        square[app] += ms * ms;
        count[app]++;
    }
    for (int a = 0; a < 4; a++) {
        double mean = sum[a] / count[a];
        cr_expect_float_eq(mean, 10 + 30 * a, 0.2);
        cr_expect_float_eq(sqrt(square[a] / count[a] - mean * mean), 2, 0.1);
        cr_expect_float_eq(count[a] / spec.count, 0.25, 0.02);
    }
    serving_demand_finish(&d);
}

/* Variance of counts per second divided by their mean: 1 for a Poisson process, more for a
 * bursty one. */
static double dispersion(bool bursty) {
    static double counts[4000];
    struct demand_spec spec = make_spec();
    struct demand d;
    uint32_t seconds = 0;
    double sum = 0, square = 0;
    spec.bursty = bursty;
    cr_assert_eq(serving_demand_init(&d, &spec), 0);
    for (uint32_t i = 0; i < 4000; i++)
        counts[i] = 0;
    for (uint32_t i = 0; i < spec.count; i++) {
        seconds = (uint32_t)(d.requests[i].arrived_ns / 1000000000u);
        cr_assert_lt(seconds, 4000);
        counts[seconds]++;
    }
    for (uint32_t i = 0; i < seconds; i++) {
        sum += counts[i];
        square += counts[i] * counts[i];
    }
    serving_demand_finish(&d);
    double mean = sum / seconds;
    return (square / seconds - mean * mean) / mean;
}

Test(serve_demand, bursts_are_bursts) {
    cr_expect_float_eq(dispersion(false), 1, 0.2);
    cr_expect_gt(dispersion(true), 5);
}

/* The narrowest and the widest distribution of Table 4.1. */
Test(serve_demand, a_lognormal_distribution_has_its_mean_and_its_quantile) {
    const double told[][2] = {{200.39, 242.27}, {683.15, 2667.54}};
    for (int i = 0; i < 2; i++) {
        struct demand_spec spec = make_spec();
        struct demand d;
        double sum = 0;
        spec.mean_ms = told[i][0];
        spec.p99_ms = told[i][1];
        spec.count = MANY;
        cr_assert_eq(serving_demand_init(&d, &spec), 0);
        for (uint32_t k = 0; k < spec.count; k++)
            sum += (double)d.requests[k].alone_ns / MS;
        cr_expect_float_eq(sum / MANY, told[i][0], 0.01 * told[i][0]);
        cr_expect_float_eq(d.p99_ns / MS, told[i][1], 0.03 * told[i][1]);
        serving_demand_finish(&d);
    }
}

/* Requests below e^mu belong to the first application. */
Test(serve_demand, short_requests_and_long_ones_are_two_applications) {
    struct demand_spec spec = make_spec();
    struct demand d;
    uint32_t of_first = 0;
    spec.mean_ms = 79.47;
    spec.p99_ms = 143.40;
    cr_assert_eq(serving_demand_apps(&spec), 2);
    cr_assert_eq(serving_demand_init(&d, &spec), 0);
    double median_ns = lognormal_at(spec.mean_ms, spec.p99_ms, 0) * MS;
    for (uint32_t i = 0; i < spec.count; i++) {
        cr_assert_eq(d.requests[i].app, (double)d.requests[i].alone_ns > median_ns);
        of_first += d.requests[i].app == 0;
    }
    cr_expect_float_eq((double)of_first / spec.count, 0.5, 0.02);
    serving_demand_finish(&d);
}

/* sigma^2 / 2 - 2.3263 sigma + ln 15 = 0 has no root. */
Test(serve_demand, some_quantiles_are_nobodys) {
    struct demand_spec spec = make_spec();
    struct demand d;
    spec.mean_ms = 10;
    spec.p99_ms = 150;
    cr_expect_eq(serving_demand_init(&d, &spec), -EDOM);
    spec.p99_ms = 9;
    cr_expect_eq(serving_demand_init(&d, &spec), -EDOM);
}

/* 2 ms to 6 ms over three modes. */
Test(serve_demand, deviations_widen_from_mode_to_mode) {
    struct demand_spec spec = make_spec();
    struct demand d;
    double sum[3] = {0}, square[3] = {0}, count[3] = {0};
    spec.modes = 3;
    spec.low_ms = 50;
    spec.sigma_ms = 2;
    spec.widening = 3;
    cr_assert_eq(serving_demand_init(&d, &spec), 0);
    for (uint32_t i = 0; i < spec.count; i++) {
        double ms = (double)d.requests[i].alone_ns / MS;
        uint32_t app = d.requests[i].app;
        sum[app] += ms;
        square[app] += ms * ms;
        count[app]++;
    }
    for (int a = 0; a < 3; a++) {
        double mean = sum[a] / count[a];
        cr_expect_float_eq(sqrt(square[a] / count[a] - mean * mean), 2 + 2 * a, 0.1 + 0.05 * a);
    }
    serving_demand_finish(&d);
}

/* Three gaps with mean 2 at half the rate: half as many requests. */
Test(serve_demand, gaps_come_in_their_order_at_the_rate_of_the_load) {
    const double gaps[] = {1, 2, 3};
    struct demand_spec spec = make_spec();
    struct demand d;
    spec.gaps = gaps;
    spec.gap_count = 3;
    cr_assert_eq(serving_demand_init(&d, &spec), 0);
    double mean_ns = 1e9 / (spec.load * d.capacity), last = 0;
    for (uint32_t i = 1; i < spec.count; i++) {
        double gap = (double)(d.requests[i].arrived_ns - d.requests[i - 1].arrived_ns) / mean_ns;
        double which = round(2 * gap);
        cr_assert_float_eq(2 * gap, which, 1e-3, "request %u", i);
        if (i > 1) cr_assert_eq(which, last == 3 ? 1 : last + 1, "request %u", i);
        last = which;
    }
    serving_demand_finish(&d);
}
