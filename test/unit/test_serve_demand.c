/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests at random: what their numbers are distributed like, by statistics of many.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/serve/sim/demand.h"
#include "daemon/serve/sim/draw.h"

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

/* All take 55 ms: batches of 16 take 25 + 0.15 16 55 = 157 ms, 101.9 requests a second. */
Test(serve_demand, requests_come_at_a_part_of_the_capacity) {
    struct demand_spec spec = make_spec();
    struct demand d;
    cr_assert_eq(demand_init(&d, &spec), 0);
    cr_expect_float_eq(d.capacity, 101.91, 0.01);
    cr_expect_float_eq(d.p99_ns, 55 * MS, 1);
    double rate = spec.count / ((double)d.requests[spec.count - 1].arrived_ns / 1e9);
    cr_expect_float_eq(rate, 0.5 * d.capacity, 0.02 * d.capacity);
    for (uint32_t i = 0; i < spec.count; i++) {
        uint64_t slo_ns = d.requests[i].deadline_ns - d.requests[i].arrived_ns;
        cr_assert_float_eq((double)slo_ns, 165 * MS, 2);
        if (i) cr_assert_geq(d.requests[i].arrived_ns, d.requests[i - 1].arrived_ns);
    }
    demand_finish(&d);
    spec.workers = 3;
    cr_assert_eq(demand_init(&d, &spec), 0);
    cr_expect_float_eq(d.capacity, 3 * 101.91, 0.03);
    demand_finish(&d);
}

/* Four modes at 10, 40, 70 and 100 ms. */
Test(serve_demand, each_application_has_its_mode) {
    struct demand_spec spec = make_spec();
    struct demand d;
    double sum[4] = {0}, square[4] = {0}, count[4] = {0};
    spec.modes = 4;
    spec.sigma_ms = 2;
    cr_assert_eq(demand_init(&d, &spec), 0);
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
    demand_finish(&d);
}

/* Counts within a second: of a Poisson process their variance is their mean; of one that bursts
 * more. */
static double dispersion(bool bursty) {
    static double counts[4000];
    struct demand_spec spec = make_spec();
    struct demand d;
    uint32_t seconds = 0;
    double sum = 0, square = 0;
    spec.bursty = bursty;
    cr_assert_eq(demand_init(&d, &spec), 0);
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
    demand_finish(&d);
    double mean = sum / seconds;
    return (square / seconds - mean * mean) / mean;
}

Test(serve_demand, bursts_are_bursts) {
    cr_expect_float_eq(dispersion(false), 1, 0.2);
    cr_expect_gt(dispersion(true), 5);
}
