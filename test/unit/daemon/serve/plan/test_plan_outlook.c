/* SPDX-License-Identifier: Apache-2.0
 *
 * The expected times of batches, computed from times of single requests.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/serve/plan/outlook/outlook.h"

#define MS 1000000ull
#define BIN 0.033 /* largest width of a bin, relative to its time */

static struct plan_config config(uint32_t apps) {
    return (struct plan_config){.sizes = {1, 2, 8},
                                .size_count = 3,
                                .apps = apps,
                                .window_ns = PLAN_FOREVER,
                                .refresh_ns = 1000 * MS,
                                .prior_ns = 20 * MS,
                                .c0_ns = 5 * MS,
                                .c1 = 0.5,
                                .b_per_ms = 1e-4};
}

static void expect_ms(uint64_t got_ns, double want_ms, const char *what) {
    cr_expect_leq(fabs((double)got_ns / 1e6 - want_ms), BIN * want_ms, "%s: %g ms, not %g", what,
                  (double)got_ns / 1e6, want_ms);
}

Test(plan_outlook, before_anything_was_seen_it_is_what_is_assumed) {
    struct plan_config c = config(2);
    struct outlook o;
    cr_assert_eq(outlook_init(&o, &c), 0);
    expect_ms(o.size[0].mean_ns, 15, "5 + 0.5 20");
    expect_ms(o.size[2].mean_ns, 85, "5 + 0.5 8 20");
    expect_ms(o.size[2].tail_ns, 85, "all alike");
    cr_expect_eq(outlook_alone_ns(&o), 0);
    outlook_finish(&o);
}

/* 10 ms and 30 ms, equally likely. A single request takes 20 on average. The longest of two is
 * 10 in one of four cases, 25 on average; the longest of eight is 10 in one of 256 cases. */
Test(plan_outlook, the_longest_of_a_batch_is_expected_not_the_mean) {
    struct plan_config c = config(1);
    struct outlook o;
    cr_assert_eq(outlook_init(&o, &c), 0);
    for (int i = 0; i < 100; i++)
        outlook_alone(&o, 0, i % 2 ? 10 * MS : 30 * MS, 0);
    outlook_refresh(&o, 0);
    expect_ms(o.size[0].mean_ns, 5 + 0.5 * 20, "one");
    expect_ms(o.size[1].mean_ns, 5 + 0.5 * 2 * 25, "two");
    expect_ms(o.size[2].mean_ns, 5 + 0.5 * 8 * (30 - 20 / 256.0), "eight");
    expect_ms(o.size[2].plain_ns, 5 + 0.5 * 8 * 20, "eight of the mean");
    expect_ms(o.size[0].tail_ns, 5 + 0.5 * 30, "one, 0.99");
    cr_expect_eq(o.size[1].point_ns, o.size[1].mean_ns);
    cr_expect_eq(outlook_alone_ns(&o), 20 * MS);
    outlook_finish(&o);
}

/* All applications with samples have equal weight, however many samples each has (thesis,
 * section 5.2); the third has none. */
Test(plan_outlook, applications_are_mixed_equally) {
    struct plan_config c = config(3);
    struct outlook o;
    cr_assert_eq(outlook_init(&o, &c), 0);
    for (int i = 0; i < 100; i++)
        outlook_alone(&o, 0, 10 * MS, 0);
    outlook_alone(&o, 1, 30 * MS, 0);
    outlook_refresh(&o, 0);
    expect_ms(o.size[0].mean_ns, 5 + 0.5 * 20, "one");
    expect_ms(o.size[1].mean_ns, 5 + 0.5 * 2 * 25, "two");
    for (uint32_t app = 0; app < 3; app++)
        cr_expect_eq(outlook_batch_ns(&o, 1, app), o.size[1].mean_ns);
    outlook_finish(&o);
}

Test(plan_outlook, with_own_a_request_is_of_its_own_application) {
    struct plan_config c = config(3);
    struct outlook o;
    c.own = true;
    cr_assert_eq(outlook_init(&o, &c), 0);
    outlook_alone(&o, 0, 10 * MS, 0);
    outlook_alone(&o, 1, 30 * MS, 0);
    outlook_refresh(&o, 0);
    expect_ms(outlook_batch_ns(&o, 0, 0), 5 + 0.5 * 10, "one, short");
    expect_ms(outlook_batch_ns(&o, 0, 1), 5 + 0.5 * 30, "one, long");
    expect_ms(outlook_batch_ns(&o, 0, 2), 5 + 0.5 * 20, "one, not known");
    expect_ms(outlook_batch_ns(&o, 1, 0), 5 + 0.5 * 2 * 20, "short with any");
    expect_ms(outlook_batch_ns(&o, 1, 1), 5 + 0.5 * 2 * 30, "long with any");
    outlook_finish(&o);
}

/* (4.9): the shape uses times of the batch. A request with more time left than any batch takes
 * has the first form for all bins; one with less than the shortest has none. */
Test(plan_outlook, the_shape_is_that_of_the_batch) {
    static struct score_piece pieces[OUTLOOK_PIECES];
    struct plan_config c = config(1);
    struct outlook o;
    struct score_shape s = {.pieces = pieces};
    struct score_clock clock = {1e-10, 0};
    cr_assert_eq(outlook_init(&o, &c), 0);
    for (int i = 0; i < 100; i++)
        outlook_alone(&o, 0, i % 2 ? 10 * MS : 30 * MS, 0);
    outlook_refresh(&o, 0);
    outlook_shape(&o, 1, 0, clock.b_per_ns, &s);
    cr_expect_eq(score_at(&s, &clock, 1000 * MS, 1000 * MS - 14 * MS).beta, 0); /* 5 + 10 */
    cr_expect_eq(score_at(&s, &clock, 1000 * MS, 1000 * MS - 14 * MS).until_ns, SCORE_NEVER);
    uint64_t last_ns = 1000 * MS - score_at(&s, &clock, 1000 * MS, 0).until_ns;
    expect_ms(last_ns, 5 + 30, "the end of the last bin");
    outlook_finish(&o);
}

Test(plan_outlook, it_is_made_anew_when_there_is_twice_as_much_or_it_is_time) {
    struct plan_config c = config(1);
    struct outlook o;
    cr_assert_eq(outlook_init(&o, &c), 0);
    cr_expect_not(outlook_due(&o, 5000 * MS), "nothing is new");
    outlook_alone(&o, 0, 10 * MS, 0);
    cr_expect(outlook_due(&o, 0));
    outlook_refresh(&o, 0);
    outlook_alone(&o, 0, 10 * MS, 0);
    cr_expect_not(outlook_due(&o, 999 * MS), "two are not more than twice one");
    cr_expect(outlook_due(&o, 1000 * MS));
    outlook_alone(&o, 0, 10 * MS, 0);
    cr_expect(outlook_due(&o, 0));
    outlook_refresh(&o, 0);
    outlook_batch(&o, 1, 0, 50 * MS);
    cr_expect(outlook_due(&o, 1000 * MS), "batches are news as well");
    outlook_finish(&o);
}

/* For batches whose longest request is unknown, its expectation is used. */
Test(plan_outlook, c0_and_c1_are_learnt_from_batches_alone) {
    struct plan_config c = config(1);
    struct outlook o;
    cr_assert_eq(outlook_init(&o, &c), 0);
    for (int i = 0; i < 100; i++)
        outlook_alone(&o, 0, 10 * MS, 0);
    outlook_refresh(&o, 0);
    for (int i = 0; i < 40; i++)
        outlook_batch(&o, i % 3, 0, (uint64_t)(3e6 + 0.25e7 * c.sizes[i % 3]));
    cr_expect_float_eq(o.batchtime.c0_ns, 3e6, BIN * 3e6);
    cr_expect_float_eq(o.batchtime.c1, 0.25, BIN * 0.25);
    outlook_finish(&o);
}
