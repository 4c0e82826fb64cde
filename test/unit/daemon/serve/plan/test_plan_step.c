/* SPDX-License-Identifier: Apache-2.0
 *
 * The step as timed traces: the behaviour that all policies share. Batches take 10 ms and 10 ms a
 * request unless stated otherwise (c0 and c1 k l). A single request takes 10 ms, known to within a
 * bin, [9.961, 10.224), whose 0.99 quantile is 10.221 ms.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "test/lib/serve/plantrace.h"

#define MS 1000000ull

static struct plan *make(const char *policy) {
    struct plan_config c = {.policy = policy,
                            .apps = 2,
                            .c0_ns = 10 * MS,
                            .sizes = {1, 2, 4},
                            .size_count = 3,
                            .refresh_ns = PLAN_FOREVER};
    struct plan *p;
    cr_assert_eq(plan_create(&p, &c, NULL, 0), 0);
    return p;
}

static void expect(const char *policy, const char *script, const char *trace) {
    struct plan *p = make(policy);
    plantrace_expect(p, script, trace);
    plan_destroy(p);
}

Test(plan_step, a_request_goes_at_once_to_an_idle_worker) {
    expect("edf", "@0 w0\n@1 +7<1000\n@2 +8<1000\n@21 w0=20\n",
           "@0\n@1 w0:7\n@2 arm 979.779\n@21 w0:8\n");
}

Test(plan_step, the_lowest_idle_worker_is_first) {
    expect("edf", "@0 w3 w1\n@1 +7<1000\n@2 +8<1000\n@21 w1=20\n@22 +9<1000\n",
           "@0\n@1 w1:7\n@2 w3:8\n@21\n@22 w1:9\n");
}

Test(plan_step, what_is_cancelled_is_not_answered) {
    expect("edf", "@0 +7<1000 +8<1000\n@1 -7\n@2 w0\n@3 -8 +8<1000\n@22 w0=20\n",
           "@0 arm 979.779\n@1\n@2 w0:8\n@3 arm 979.779\n@22 w0:8\n");
}

/* Requests of a batch whose worker dies are pending again, except those that no client waits for.
 */
Test(plan_step, a_lost_workers_batch_is_pending_again) {
    expect("edf", "@0 +7<1000 +8<900 w0\n@1 -8\n@2 w0!\n@3 w1\n",
           "@0 w0:8,7\n@1\n@2 arm 979.779\n@3 w1:7\n");
}

Test(plan_step, what_is_lost_too_late_is_late) {
    expect("edf", "@0 +7<30 w0\n@25 w0! w1\n", "@0 w0:7\n@25 7 late\n");
}

Test(plan_step, events_that_cannot_be_change_nothing) {
    expect("edf",
           "@0 w0 w0 w64 w1=5 w1! w0=5\n"
           "@1 +7<1000 +7<1000 +8/2<1000 -9 a2=5 a0=0\n"
           "@21 w0=0\n"
           "@22 w0=20\n",
           "@0 rejected (this worker is ready already) rejected (the worker's number is too large)"
           " rejected (no worker has this number) rejected (no worker has this number)"
           " rejected (the worker has no batch)\n"
           "@1 rejected (a request with this id exists already) rejected (the event's application "
           "is unknown)"
           " rejected (no request has this id) rejected (the event's application is unknown)"
           " rejected (a measured time is 0) w0:7\n"
           "@21 rejected (a measured time is 0)\n"
           "@22\n");
}

Test(plan_step, an_event_of_no_kind_is_rejected) {
    struct plan *p = make(NULL);
    struct plan_event e = {.kind = PLAN_EVENTS};
    struct plan_actions out;
    cr_assert_eq(plan_step(p, 0, &e, 1, &out), 0);
    cr_assert_eq(out.count, 1);
    cr_expect_eq(out.items[0].kind, PLAN_REJECT);
    cr_expect_eq(out.items[0].rejected.fault, PLAN_FAULT_KIND);
    cr_expect_str_eq(plan_fault_text((enum plan_fault)99), "?");
    plan_destroy(p);
}

Test(plan_step, time_never_goes_back) {
    expect("edf", "@500 +7<510 +8<1000\n@1 w0 +9<400\n",
           "@500 7 late arm 979.779\n@1 9 late w0:8\n");
}

/* A request takes 30 ms, not 10: the mean of the bin [29.884, 30.409) at the 0.99 quantile. */
Test(plan_step, what_is_learnt_is_used_of_those_who_wait) {
    const char script[] = "@0 +7<1000 +8<1040\n@1 a0=30 a1=30\n@970\n";
    expect("edf", script, "@0 arm 979.779\n@1 arm 959.597\n@970 7 late arm 999.597\n");
    expect("clockwork", script, "@0 arm 979.907\n@1 arm 959.853\n@970 7 late arm 999.853\n");
    expect("orloj", script, "@0 arm 979.907\n@1 arm 959.853\n@970 7 late arm 999.853\n");
    expect("nexus", script, "@0 arm 1000\n@1\n@970\n");
}

/* The time of a single request is also learned from batches that report it. */
Test(plan_step, batches_teach_what_requests_take) {
    struct plan *p = make("edf");
    struct plan_view v;
    plan_view(p, &v);
    cr_expect_eq(v.alone_ns, 0);
    plantrace_expect(p, "@0 w0 +1<9000 +2/1<9000\n@100 w0=110:30,50\n@101\n",
                     "@0 w0:1,2\n@100\n@101\n");
    plan_view(p, &v);
    cr_expect_eq(v.alone_ns, 40 * MS);
    cr_expect_eq(v.workers, 1);
    cr_expect_eq(v.idle, 1);
    cr_expect_eq(v.pending + v.sent, 0);
    plan_destroy(p);
}

static void expect_trials(const char *policy, const char *script, const char *trace) {
    struct plan_config c = {
        .policy = policy, .apps = 2, .sizes = {1, 2, 4}, .size_count = 3, .trial_ns = 1000 * MS};
    struct plan *p;
    cr_assert_eq(plan_create(&p, &c, NULL, 0), 0);
    plantrace_expect(p, script, trace);
    plan_destroy(p);
}

/* 10 ms are assumed before any sample: a request with 8 ms would be late for ever. */
Test(plan_step, one_that_would_be_late_is_tried_and_teaches) {
    for (uint32_t i = 0; plan_policy_name(i); i++)
        expect_trials(plan_policy_name(i), "@0 w0\n@1 +1<9\n@2 w0=1:1\n@3 +2<11\n@4 w0=1:1\n",
                      "@0\n@1 w0:1\n@2\n@3 w0:2\n@4\n");
}

/* One application had a bad sample, so the other one is tried once a second: only when no
 * request that can be in time needs the worker, and never on a busy worker. */
Test(plan_step, trials_are_few) {
    static const char script[] = "@0 w0 a1=10000\n@1 +1<1001\n@2 w0=5:5\n@3 +2<1003\n"
                                 "@1500 +3<2500 +4<90000\n@1505 w0=5:5\n@1510 +5<1510\n"
                                 "@1520 +6<2500\n@1530 +7<2500\n";
    static const char trace[] = "@0\n@1 w0:1\n@2\n@3 2 %s\n@1500 w0:4 3 late\n@1505\n"
                                "@1510 5 %s\n@1520 w0:6\n@1530 7 %s\n";
    char text[sizeof(trace) + 16];
    for (int i = 0; i < 3; i++) {
        const char *no = i == 2 ? "refused" : "late";
        snprintf(text, sizeof(text), trace, no, no, no);
        expect_trials(((const char *[]){"edf", "orloj", "clockwork"})[i], script, text);
    }
}

static void expect_refused(struct plan_config c, const char *words) {
    char why[160] = "";
    struct plan *p = NULL;
    cr_expect_eq(plan_create(&p, &c, why, sizeof(why)), -22, "%s", words);
    cr_expect_str_eq(why, words);
    cr_expect_null(p);
    cr_expect_eq(plan_create(&p, &c, NULL, 0), -22);
}

Test(plan_step, configurations_that_cannot_be_are_refused) {
    expect_refused((struct plan_config){.policy = "none"}, "there is no policy 'none'");
    expect_refused((struct plan_config){.apps = 65}, "there are at most 64 applications");
    expect_refused((struct plan_config){.sizes = {2, 4}, .size_count = 2},
                   "the first batch size must be 1");
    expect_refused((struct plan_config){.sizes = {1, 4, 4}, .size_count = 3},
                   "batch sizes must ascend: 4 comes after 4");
    expect_refused((struct plan_config){.sizes = {1, 129}, .size_count = 2},
                   "a batch has at most 128 requests");
    expect_refused((struct plan_config){.size_count = 17}, "there are at most 16 batch sizes");
    expect_refused(
        (struct plan_config){.c1 = -1},
        "c1, the factor of a batch's time (c0 + c1 k l), must be a finite number above 0");
    expect_refused((struct plan_config){.b_per_ms = 2},
                   "b must be above 0 and at most 1 per millisecond");
    expect_refused((struct plan_config){.point_milli = 1000}, "the quantile must be below 1");
}

Test(plan_step, times_alone_can_be_looked_at) {
    struct plan *p = make("edf");
    struct plan_alone a, none;
    struct plan_actions out;
    for (uint64_t ms = 1; ms <= 99; ms++) {
        struct plan_event e = {.kind = PLAN_ALONE, .alone = {.ns = ms * MS, .app = 1}};
        cr_assert_eq(plan_step(p, 0, &e, 1, &out), 0);
    }
    plan_alone(p, 1, &a);
    plan_alone(p, 0, &none);
    cr_expect_eq(a.count, 99);
    cr_expect_eq(a.mean_ns, 50 * MS);
    cr_expect(a.p50_ns > 48 * MS && a.p50_ns < 52 * MS, "%zu", (size_t)a.p50_ns);
    cr_expect(a.p99_ns > 95 * MS && a.p99_ns <= 99 * MS, "%zu", (size_t)a.p99_ns);
    cr_expect_eq(none.count + none.mean_ns + none.p50_ns + none.p99_ns, 0);
    plan_destroy(p);
}

Test(plan_step, what_is_not_said_is_preset) {
    struct plan *p;
    struct plan_view v;
    cr_assert_eq(plan_create(&p, &(struct plan_config){0}, NULL, 0), 0);
    plan_view(p, &v);
    cr_expect_eq(v.c1, 1);
    cr_expect(v.batch_ns[0] > 9 * MS && v.batch_ns[0] < 11 * MS);
    cr_expect(v.batch_ns[4] > 16 * 9 * MS && v.batch_ns[5] == 0);
    cr_expect_str_eq(plan_policy_name(0), "orloj");
    cr_expect_not_null(plan_policy_sentence(6));
    cr_expect_null(plan_policy_name(7));
    cr_expect_null(plan_policy_sentence(7));
    plan_destroy(p);
    plan_destroy(NULL);
}
