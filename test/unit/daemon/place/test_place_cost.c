/* SPDX-License-Identifier: Apache-2.0
 *
 * Equations (5) and (7) to (10) with numbers computed by hand.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>

#include "daemon/place/state/curve.h"
#include "test/lib/place/placecase.h"

static const struct place_curve gtx_1080 = {1.32198, -0.00728, 6e-5};
static const struct place_curve rtx_2080 = {1.16664, -0.00302, 4e-5};

static void expect_near(double is, double must, const char *what) {
    cr_expect_float_eq(is, must, 1e-12, "%s: %.15g, not %.15g", what, is, must);
}

/* Section 3.2: with half a GPU of excess demand, 1.16664 / 4 - 0.00302 / 2 + 0.00004. */
Test(place_cost, the_curves_of_the_paper) {
    expect_near(curve_slowdown(&rtx_2080, 1500000), 0.29019, "2080, 150 %");
    expect_near(curve_slowdown(&rtx_2080, 2000000), 1.16366, "2080, 200 %");
    expect_near(curve_slowdown(&gtx_1080, 2000000), 1.31476, "1080, 200 %");
    expect_near(curve_slowdown(&rtx_2080, 1000000), 0, "as much as there is");
    expect_near(curve_slowdown(&rtx_2080, 1), 0, "next to nothing");
}

Test(place_cost, a_slowdown_is_never_negative) {
    const struct place_curve falls = {0, -1, 0.1};
    expect_near(curve_slowdown(&falls, 1050000), 0.05, "a little too much");
    expect_near(curve_slowdown(&falls, 3000000), 0, "far too much");
}

/* Bounds of other curves: an upper bound may not be below any of them, a lower bound not above. */
Test(place_cost, bounds_of_curves) {
    const struct place_curve curves[] = {
        gtx_1080, rtx_2080, {0, 0.5, 0}, {-0.1, 0.5, 0.2}, {0.5, -1, 0.4}};
    for (size_t i = 0; i < sizeof(curves) / sizeof(*curves); i++) {
        double highest = 0, lowest = INFINITY;
        for (uint64_t ppm = 900000; ppm < 4000000; ppm += 997) {
            highest = fmax(highest, curve_slowdown(&curves[i], ppm));
            cr_assert_geq(curve_most(&curves[i], ppm), highest, "curve %zu, %lu", i, ppm);
        }
        for (uint64_t ppm = 4000000; ppm > 900000; ppm -= 997) {
            lowest = fmin(lowest, curve_slowdown(&curves[i], ppm));
            cr_assert_leq(curve_least(&curves[i], ppm), lowest, "curve %zu, %lu", i, ppm);
        }
    }
    cr_expect_float_eq(curve_least(&rtx_2080, 1500000), 0.29019, 1e-8);
}

Test(place_cost, how_much_is_within_a_slack) {
    const struct place_curve line = {0, 0.5, 0};
    cr_expect_eq(curve_within(&line, 0.25), 1500000);
    cr_expect_eq(curve_within(&line, 0), 1000000);
    cr_expect_eq(curve_within(&rtx_2080, 0), 1000000, "4e-5 is more than nothing");
    uint64_t ppm = curve_within(&rtx_2080, 0.29019);
    cr_expect(ppm == 1500000 || ppm == 1499999, "%lu", ppm);
}

/* (8): 4 of 16 GiB used and 4 wanted are half; (9) and (10): 0.6 + 0.9 is 0.5 too much. */
Test(place_cost, memory_and_utilisation) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){0});
    placecase_node(&c, 1, 1, 16);
    expect_near(placecase_cost(&c, placecase_job(9, 0.9, 4), 1, 0), 0.25, "empty");
    placecase_come(&c, placecase_job(1, 0.6, 4));
    expect_near(placecase_said(&c, 1)->cost, 0.25, "as it was started");
    expect_near(placecase_cost(&c, placecase_job(9, 0.9, 4), 1, 0), 0.5 + 0.29019, "(7)");
    expect_near(placecase_cost(&c, placecase_job(9, 0.4, 4), 1, 0), 0.5, "all of it, no more");
    placecase_come(&c, placecase_job(2, 0.9, 4));
    struct place_use use = placecase_use(&c, 1, 0);
    cr_expect_eq(use.jobs, 2);
    cr_expect_eq(use.memory_bytes, 8 * PLACECASE_GIB);
    expect_near(use.util, 1.5, "summed");
    expect_near(use.slowdown, 0.29019, "of both");
    placecase_finish(&c);
}

Test(place_cost, weights) {
    struct placecase c;
    placecase_init(&c,
                   &(struct place_config){
                       .w_mem = 2, .w_util = 10, .curve_count = 2, .curves = {rtx_2080, gtx_1080}});
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, placecase_job(1, 1, 4));
    expect_near(placecase_cost(&c, placecase_job(9, 1, 4), 1, 0), 2 * 0.5 + 10 * 1.16366, "(7)");
    placecase_finish(&c);
    placecase_init(&c, &(struct place_config){.w_util = 1});
    placecase_node(&c, 1, 1, 16);
    expect_near(placecase_cost(&c, placecase_job(9, 1, 4), 1, 0), 0, "w_mem is 0 then");
    placecase_finish(&c);
}

/* Each GPU uses its own curve. */
Test(place_cost, curves_are_of_gpus) {
    const struct place_gpu gpus[] = {{16 * PLACECASE_GIB, 0}, {16 * PLACECASE_GIB, 1}};
    const struct place_node node = {1, 64000, 0, 0, 2, gpus};
    struct placecase c;
    placecase_init(&c, &(struct place_config){.curve_count = 2, .curves = {rtx_2080, gtx_1080}});
    placecase_tell(&c, (struct place_event){.kind = PLACE_NODE, .node = &node});
    placecase_come(&c, placecase_job(1, 1, 4));
    placecase_come(&c, placecase_job(2, 1, 4));
    expect_near(placecase_cost(&c, placecase_job(9, 1, 4), 1, 0), 0.5 + 1.16366, "2080");
    expect_near(placecase_cost(&c, placecase_job(9, 1, 4), 1, 1), 0.5 + 1.31476, "1080");
    placecase_come(&c, placecase_job(3, 1, 4));
    cr_expect_eq(placecase_on(&c, 3), 100);
    placecase_finish(&c);
}

static struct place_job with_ephemeral(uint64_t id, uint64_t p_gib, uint64_t e_gib) {
    struct place_job job = placecase_job(id, 0.1, p_gib);
    job.ephemeral_bytes = e_gib * PLACECASE_GIB;
    return job;
}

/* The GPU has P 4 and E 6, the new job P 2 and E 8: 20 as a sum, 4 + 2 + 8 with lanes. */
Test(place_cost, lanes_use_ephemeral_memory_in_turns) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.memory = PLACE_MEMORY_LANES});
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, with_ephemeral(1, 4, 6));
    expect_near(placecase_cost(&c, with_ephemeral(9, 2, 8), 1, 0), 14.0 / 16, "lanes");
    placecase_come(&c, with_ephemeral(2, 2, 8));
    cr_expect_eq(placecase_use(&c, 1, 0).memory_bytes, 14 * PLACECASE_GIB);
    placecase_go(&c, 2);
    cr_expect_eq(placecase_use(&c, 1, 0).memory_bytes, 10 * PLACECASE_GIB);
    placecase_finish(&c);
    placecase_init(&c, &(struct place_config){0});
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, with_ephemeral(1, 4, 6));
    cr_expect_eq(placecase_cost(&c, with_ephemeral(9, 2, 8), 1, 0), -1);
    expect_near(placecase_cost(&c, with_ephemeral(9, 2, 4), 1, 0), 1, "to the last byte");
    placecase_finish(&c);
}

/* (5), for each resource. */
Test(place_cost, what_does_not_fit) {
    struct placecase c;
    struct place_job job = placecase_job(9, 0.5, 4);
    placecase_init(&c, &(struct place_config){0});
    placecase_node_of(&c, (struct place_node){1, 4000, 8 * PLACECASE_GIB, 6, 2, NULL}, 16);
    cr_expect_geq(placecase_cost(&c, job, 1, 0), 0);
    cr_expect_lt(placecase_cost(&c, placecase_job(9, 0.5, 17), 1, 0), 0, "GPU memory");
    cr_expect_lt(placecase_cost(&c, placecase_job(9, 0, 1), 1, 0), 0, "no job");
    cr_expect_lt(placecase_cost(&c, job, 1, 2), 0, "no GPU");
    cr_expect_lt(placecase_cost(&c, job, 2, 0), 0, "no node");
    job.cpu_milli = 4001;
    cr_expect_lt(placecase_cost(&c, job, 1, 0), 0, "CPU");
    job.cpu_milli = 4000;
    job.memory_bytes = 8 * PLACECASE_GIB + 1;
    cr_expect_lt(placecase_cost(&c, job, 1, 0), 0, "memory");
    job.memory_bytes = 8 * PLACECASE_GIB;
    job.labels = 1;
    cr_expect_lt(placecase_cost(&c, job, 1, 0), 0, "label");
    job.labels = 3;
    cr_expect_geq(placecase_cost(&c, job, 1, 0), 0);
    placecase_come(&c, job);
    cr_expect_lt(placecase_cost(&c, job, 1, 1), 0, "CPU and memory are used");
    struct place_job alone = placecase_job(9, 0.5, 4);
    alone.alone = true;
    cr_expect_lt(placecase_cost(&c, alone, 1, 0), 0, "somebody is there");
    cr_expect_geq(placecase_cost(&c, alone, 1, 1), 0);
    placecase_at(&c, PLACE_NODE_SHUT, 1);
    cr_expect_lt(placecase_cost(&c, alone, 1, 1), 0, "shut");
    placecase_finish(&c);
}

Test(place_cost, nobody_looks_at_a_gpu_that_is_not_there) {
    struct placecase c;
    struct place_use use;
    placecase_init(&c, &(struct place_config){0});
    placecase_node(&c, 1, 1, 16);
    cr_expect_eq(place_look(c.p, &(struct place_where){1, 1}, &use), -ENOENT);
    cr_expect_eq(place_look(c.p, &(struct place_where){2, 0}, &use), -ENOENT);
    placecase_finish(&c);
}
