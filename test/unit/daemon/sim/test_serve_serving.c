/* SPDX-License-Identifier: Apache-2.0
 *
 * A served model in virtual time: every request is accounted for, equal runs give equal results,
 * and the thesis's statements about the policies hold.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "daemon/sim/serve/serving.h"

#define MS 1e6

static struct demand_spec make_spec(double load) {
    return (struct demand_spec){.modes = 3,
                                .low_ms = 10,
                                .high_ms = 100,
                                .sigma_ms = 3,
                                .c0_ms = 25,
                                .c1 = 0.15,
                                .largest = 16,
                                .load = load,
                                .slo = 3,
                                .count = 4000,
                                .workers = 1,
                                .seed = 1};
}

static struct serving_result run(const struct demand_spec *spec, struct plan_config config) {
    struct demand d;
    struct serving_result r;
    cr_assert_eq(serving_demand_init(&d, spec), 0);
    cr_assert_eq(serving_run(&d, spec, config, &r), 0);
    serving_demand_finish(&d);
    cr_assert_eq(r.finished + r.served_late + r.timed_out + r.refused, spec->count);
    return r;
}

static double rate(const struct demand_spec *spec, const char *policy) {
    return (double)run(spec, (struct plan_config){.policy = policy}).finished / spec->count;
}

/* Requests are so rare that each is alone: 25 + 0.15 55 = 33.25 ms. */
Test(serve_serving, whoever_is_alone_is_served_at_once) {
    struct demand_spec spec = make_spec(0.001);
    spec.modes = 1;
    spec.sigma_ms = 0;
    for (uint32_t i = 0; plan_policy_name(i); i++) {
        struct serving_result r = run(&spec, (struct plan_config){.policy = plan_policy_name(i)});
        cr_expect_geq(r.finished, spec.count - 2, "%s", plan_policy_name(i));
        cr_expect_float_eq((double)r.busy_ns / (double)(r.batches * MS), 33.25, 0.2);
    }
}

Test(serve_serving, the_same_seed_gives_the_same) {
    struct demand_spec spec = make_spec(1.0);
    spec.bursty = true;
    spec.workers = 2;
    struct serving_result a = run(&spec, (struct plan_config){0});
    struct serving_result b = run(&spec, (struct plan_config){0});
    cr_expect_eq(memcmp(&a, &b, sizeof(a)), 0);
    spec.seed = 2;
    b = run(&spec, (struct plan_config){0});
    cr_expect_neq(memcmp(&a, &b, sizeof(a)), 0);
}

/* Three modes, deadlines of 3 times P99 (thesis, Fig. 4.8c): Orloj is best, then Clockwork. */
Test(serve_serving, orloj_finishes_most_when_there_is_too_much) {
    struct demand_spec spec = make_spec(1.0);
    double orloj = rate(&spec, "orloj"), clockwork = rate(&spec, "clockwork");
    cr_expect_gt(orloj, 0.85);
    cr_expect_gt(orloj, 1.15 * clockwork, "%g, %g", orloj, clockwork);
    cr_expect_gt(orloj, 1.15 * rate(&spec, "nexus"));
    cr_expect_gt(orloj, 1.15 * rate(&spec, "edf"));
    cr_expect_gt(orloj, 2 * rate(&spec, "clipper"));
}

/* The comparison described in pol_orloj.c. */
Test(serve_serving, by_the_most_urgent_request_fewer_are_finished) {
    struct demand_spec spec = make_spec(1.0);
    struct serving_result printed = run(&spec, (struct plan_config){0});
    struct serving_result urgent = run(&spec, (struct plan_config){.urgent = true});
    cr_expect_gt(printed.finished, urgent.finished + spec.count / 20);
    cr_expect_lt(printed.batches, urgent.batches);
}

/* "ORLOJ is not sensitive to the value of b" (Fig. 4.13). */
Test(serve_serving, b_does_not_matter_much) {
    struct demand_spec spec = make_spec(0.9);
    double least = 1, most = 0;
    for (double b = 1e-6; b < 0.11; b *= 10) {
        struct serving_result r = run(&spec, (struct plan_config){.b_per_ms = b});
        least = fmin(least, (double)r.finished / spec.count);
        most = fmax(most, (double)r.finished / spec.count);
    }
    cr_expect_lt(most - least, 0.03, "%g to %g", least, most);
}

/* With a constant time: "no worse than Clockwork" (Fig. 4.11). */
Test(serve_serving, of_a_static_model_it_is_no_worse_than_clockwork) {
    struct demand_spec spec = make_spec(0.9);
    spec.modes = 1;
    spec.sigma_ms = 0;
    cr_expect_geq(rate(&spec, "orloj"), rate(&spec, "clockwork") - 0.01);
}

/* 25 + 0.15 55 + 2 = 35.25 ms. */
Test(serve_serving, overhead_is_time_of_the_worker) {
    struct demand_spec spec = make_spec(0.001);
    spec.modes = 1;
    spec.sigma_ms = 0;
    spec.overhead_ms = 2;
    struct serving_result r = run(&spec, (struct plan_config){0});
    cr_expect_float_eq((double)r.busy_ns / (double)(r.batches * MS), 35.25, 0.2);
}

/* Before any sample, 10 ms a request are assumed, a fifth of the mean. */
Test(serve_serving, what_nobody_has_seen_is_learnt) {
    struct demand_spec spec = make_spec(0.9);
    spec.unknown = true;
    struct serving_result unknown = run(&spec, (struct plan_config){0});
    spec.unknown = false;
    struct serving_result known = run(&spec, (struct plan_config){0});
    cr_expect_neq(unknown.batches, known.batches);
    cr_expect_float_eq(unknown.finished, known.finished, 0.03 * spec.count);
}

/* "Causing the subsequent batch to fail" (section 4.2.3): close to half fail, whatever the
 * deadline. If all requests take equally long, no batch is late and none fails. */
Test(serve_serving, where_times_vary_a_late_batch_costs_infer5_the_next) {
    struct demand_spec spec = make_spec(0.7);
    struct plan_config explained = {.policy = "infer5", .plain = true};
    spec.slo = 5;
    spec.c0_ms = 0.75 * 55;
    spec.c1 = 0.25;
    double some = (double)run(&spec, explained).finished / spec.count;
    cr_expect(some > 0.3 && some < 0.75, "%g", some);
    spec.modes = 1;
    spec.sigma_ms = 0;
    cr_expect_gt((double)run(&spec, explained).finished / spec.count, 0.9);
}
