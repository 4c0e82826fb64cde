/* SPDX-License-Identifier: Apache-2.0
 *
 * The particular behaviour of each policy, as timed traces. A single request takes 10 or 30 ms,
 * equally often (within a bin of 3 %); a batch of k takes k times its longest.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/serve/plantrace.h"

#define MS 1000000ull

static struct plan_config config(const char *policy) {
    return (struct plan_config){.policy = policy,
                                .apps = 2,
                                .c1 = 1,
                                .sizes = {1, 2, 4},
                                .size_count = 3,
                                .refresh_ns = PLAN_FOREVER};
}

static struct plan *make(struct plan_config c) {
    struct plan *p;
    cr_assert_eq(plan_create(&p, &c, NULL, 0), 0);
    plantrace_learn(p, 0, 10 * MS, 1);
    plantrace_learn(p, 1, 30 * MS, 1);
    plantrace_learn(p, 0, 10 * MS, 1); /* more than twice the time of one, and therefore used */
    return p;
}

static void expect(struct plan_config c, const char *script, const char *trace) {
    struct plan *p = make(c);
    plantrace_expect(p, script, trace);
    plan_destroy(p);
}

/* ---- edf: estimates a batch by its 0.99 quantile, 30 ms a request
 * ----------------------------- */

/* Four requests would take 115 ms on average, 122 at most: the first one has 117. */
Test(plan_policies, edf_serves_by_deadline_what_its_tail_allows) {
    expect(config("edf"), "@0 +1<400 +2<300 +3<200 +4<118\n@1 w0\n@50 w0=49\n",
           "@0 arm 87.6018\n@1 w0:4,3 arm 269.602\n@50 w0:2,1\n");
}

Test(plan_policies, edf_gives_up_what_its_tail_does_not_allow) {
    expect(config("edf"), "@1 +1<30 +2<40 +3<300\n@9\n@10\n",
           "@1 1 late arm 9.60178\n@9\n@10 2 late arm 269.602\n");
}

/* ---- clockwork: estimates a batch by its mean; 20 ms, 2 x 25 ms, 4 x 28.75 ms
 * ----------------- */

/* At 1 the request that cannot wait is sent, to complete at 21. A later request starts after
 * that batch or, when four requests have earlier deadlines, after a batch of those, 115 ms
 * later. */
Test(plan_policies, clockwork_refuses_what_has_no_place_in_the_plan) {
    expect(config("clockwork"),
           "@0 w0\n@1 +1<500 +2<35\n@2 +3<39 +4<45\n@3 +5<140 +6<141 +7<142 +8<143 +9<170\n@4 "
           "+10<150\n",
           "@0\n@1 w0:2 arm 479.88\n@2 3 refused arm 24.8804\n@3 8 refused\n@4 10 refused\n");
}

/* By the 0.99 quantile, 30 ms, the second request is too late: 1 + 30 > 30. */
Test(plan_policies, clockwork_may_take_a_quantile_for_its_estimate) {
    struct plan_config c = config("clockwork");
    c.point_milli = 990;
    expect(c, "@0 w0\n@1 +2<30\n", "@0\n@1 2 refused\n");
}

/* ---- nexus: estimates a request by the mean, 20 ms; two batches fit into the latency goal
 * ----- */

Test(plan_policies, nexus_takes_the_batch_of_which_two_fit) {
    expect(config("nexus"), "@0 +1<90 +2<90 +3<90 +4<90\n@1 w0\n@30 w0=29\n",
           "@0 arm 90\n@1 w0:1,2\n@30 w0:3,4\n");
}

Test(plan_policies, nexus_drops_those_that_the_window_would_miss) {
    expect(config("nexus"), "@0 +1<200 +2<200 +3<400 +4<400\n@150 w0\n",
           "@0 arm 200\n@150 1 late w0:2,3 arm 400\n");
}

/* ---- clipper ----------------------------------------------------------------------------------
 */

Test(plan_policies, clipper_adds_one_while_batches_are_in_time_and_backs_off_by_a_tenth) {
    expect(config("clipper"),
           "@0 w0 +1<100 +2<100 +3<100 +4<100 +5<100 +6<100 +7<100 +8<100 +9<200 +10<200 +11<200 "
           "+12<200 +13<200 +14<200\n"
           "@10 w0=10\n@20 w0=10\n@30 w0=10\n@40 w0=101\n@50 w0=10\n@60 w0=10\n",
           "@0 w0:1 arm 100\n@10 w0:2,3\n@20 w0:4,5\n@30 w0:6,7,8,9 arm 200\n@40 w0:10,11\n"
           "@50 w0:12,13\n@60 w0:14\n");
}

Test(plan_policies, clipper_gives_up_only_what_is_over) {
    expect(config("clipper"), "@0 +1<5 +2<50\n@5\n@6\n", "@0 arm 5\n@5\n@6 1 late arm 50\n");
}

/* ---- infer5: estimates by the mean of requests; 20 ms, 40 ms, 80 ms (20.12 alone)
 * ------------- */

static struct plan_config infer5(void) {
    struct plan_config c = config("infer5");
    c.plain = true;
    return c;
}

/* The batch of request 1 is due to complete at 20.12. 10 ms before that, 2 and 3 are planned,
 * and 4 arrives too late for that batch. At 30.12 the batch could not begin, and it never does.
 * 4 is sent as soon as the worker is free. */
Test(plan_policies, infer5_loses_the_batch_behind_a_late_one) {
    expect(infer5(), "@0 w0 +1<100\n@5 +2<100 +3<100\n@11\n@12 +4<200\n@31\n@40 w0=40\n",
           "@0 w0:1\n@5 arm 10.1196\n@11 arm 30.1196\n@12\n@31 2 late 3 late arm 200\n"
           "@40 w0:4\n");
}

Test(plan_policies, infer5_begins_what_is_not_too_late) {
    expect(infer5(), "@0 w0 +1<100\n@5 +2<100 +3<100\n@11\n@30 w0=30\n",
           "@0 w0:1\n@5 arm 10.1196\n@11 arm 30.1196\n@30 w0:2,3\n");
}

/* Request 1 could run alone; it is dropped because it would delay the larger batch. */
Test(plan_policies, infer5_drops_whom_the_larger_batch_cannot_keep) {
    expect(infer5(), "@0 +1<30 +2<200 +3<200 +4<200 +5<200\n@1 w0\n",
           "@0 arm 30\n@1 1 late w0:2,3,4,5\n");
}

/* After a batch of one took 60 ms, the estimate is 60, even when the next one took 5: a request
 * with 50 ms left is not served. */
Test(plan_policies, infer5_goes_by_the_longest_of_the_latest_ten) {
    struct plan_config c = config("infer5");
    const char *script = "@0 w0 +1<100\n@60 w0=60\n@70 +2<120\n@80 +3<200\n@85 w0=5\n@90 +4<140\n";
    expect(c, script, "@0 w0:1\n@60\n@70 2 late\n@80 w0:3\n@85\n@90 4 late\n");
}

/* All three requests wait again, and a batch of the first two starts at once. */
Test(plan_policies, infer5_plans_for_nobody_who_is_gone) {
    expect(infer5(), "@0 w0 +1<100\n@5 +2<100 +3<100\n@11\n@12 w0! w1\n",
           "@0 w0:1\n@5 arm 10.1196\n@11 arm 30.1196\n@12 w1:1,2 arm 42.2391\n");
}

/* Three of four planned requests are left: two form a batch, the third waits again. */
Test(plan_policies, infer5_makes_a_batch_of_what_is_left) {
    expect(infer5(),
           "@0 w0 +1<100\n@5 +2<200 +3<200 +4<200 +5<200\n@11\n@12 -2\n@20 w0=20\n@60 w0=40\n",
           "@0 w0:1\n@5 arm 10.1196\n@11 arm 30.1196\n@12\n@20 w0:5,3 arm 50.2391\n@60 w0:4\n");
}

/* ---- clipper_fit ------------------------------------------------------------------------------
 */

/* Five batches of one take 10 ms, five of two take 20. A larger batch is tried while the first
 * request has more time than any batch took (92 of 100 ms). */
Test(plan_policies, clipper_fit_tries_a_larger_batch_after_five) {
    expect(config("clipper_fit"),
           "@0 w0 +1<100 +2<100 +3<100 +4<100 +5<100 +6<190 +7<190 +8<190 +9<190\n@10 w0=10\n@20 "
           "w0=10\n@30 w0=10\n@40 w0=10\n@50 w0=10\n@70 w0=20\n",
           "@0 w0:1 arm 100\n@10 w0:2\n@20 w0:3\n@30 w0:4\n@40 w0:5 arm 190\n@50 w0:6,7\n"
           "@70 w0:8,9\n");
}

/* Batches of one took 10 ms, of two 20 and 40. On the line through 10 ms for 1 and 30 ms for 2,
 * 11.04 of 12 ms correspond to a batch of 1.05, and 36.8 of 40 to one of 2.3. */
Test(plan_policies, clipper_fit_goes_by_the_time_that_the_first_has_left) {
    const struct {
        uint32_t deadline;
        const char *sent;
    } cases[] = {{132, "@120 w0:10 "}, {160, "@120 w0:10,11"}};
    for (uint32_t i = 0; i < 2; i++) {
        char script[512];
        snprintf(script, sizeof(script),
                 "@0 w0 +1<100 +2<100 +3<100 +4<100 +5<100 +6<190 +7<190\n@10 w0=10\n@20 w0=10\n"
                 "@30 w0=10\n@40 w0=10\n@50 w0=10\n@70 w0=20\n@71 +8<400 +9<400\n@111 w0=40\n"
                 "@120 +10<%u +11<400\n",
                 cases[i].deadline);
        struct plan *p = make(config("clipper_fit"));
        char *trace = plantrace_run(p, script);
        cr_expect(strstr(trace, cases[i].sent), "%s", trace);
        free(trace);
        plan_destroy(p);
    }
}

/* A free worker starts no request after its deadline. */
Test(plan_policies, infer5_begins_nothing_after_its_deadline) {
    struct plan_config c = infer5();
    c.grace_ns = 100 * MS;
    expect(c, "@0 w0 +1<100\n@5 +2<60\n@11\n@70 w0=70\n",
           "@0 w0:1\n@5 arm 10.1196\n@11 arm 60\n@70 2 late\n");
}
