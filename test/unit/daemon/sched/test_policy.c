/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel policies as timed traces (schedtrace.h has the notation). The device has 80 SMs. Job 1 has
 * priority and requests of 10,000 ns, so that the default DUR_THRESHOLD of 2.5 % is 250 ns.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/life.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/policy/tune.h"
#include "daemon/sched/state.h"
#include "test/lib/sched/schedtrace.h"

#define JOBS "@0 +1(1,1)h1q10000 +2(1,1) +3(1,1)\n"
#define JOINED "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1, lane 2=1, admit 3@2\n"

static struct sched *make(struct policy_config policy) {
    struct sched *s;
    char why[160] = "";
    snprintf(policy.lane, sizeof(policy.lane), "pack");
    policy.swap = policy.by_class = policy.by_size = -1;
    if (policy.exclusive == 0) policy.exclusive = -1;
    struct sched_config config = {.policy = policy, .capacity_bytes = 100, .chunk_bytes = 1};
    cr_assert_eq(sched_create(&s, &config, why, sizeof(why)), 0, "%s", why);
    return s;
}

/* Runs without the device's stream priorities, which have a separate test. */
static void expect(const char *kernel, const char *script, const char *trace) {
    struct policy_config policy = {.exclusive = -1};
    snprintf(policy.kernel, sizeof(policy.kernel), "%s", kernel);
    struct sched *s = make(policy);
    SCHEDTRACE_EXPECT(s, script, trace);
    sched_destroy(s);
}

/* ---- streams --------------------------------------------------------------------------------- */

Test(policy, streams_goes_by_arrival_over_all_jobs) {
    expect("streams",
           "@0 +2(1,1) +3(1,1)\n"
           "@1 2:20 3:30 2:21 3:31\n",
           "@0 lane 0=1, admit 2@0, lane 1=1, admit 3@1\n"
           "@1 switch 2, switch 3, run 2:20, run 3:30, run 2:21, run 3:31\n");
}

/* ---- orion ----------------------------------------------------------------------------------- */

Test(policy, orion_runs_anything_while_no_high_priority_operation_is_there) {
    expect("orion",
           JOBS "@1 2:20#c80*100\n"
                "@2 3:30#m80*100\n",
           JOINED "@1 switch 2, run 2:20\n"
                  "@2 switch 3, run 3:30\n");
}

Test(policy, orion_lets_the_opposite_class_beside_a_high_priority_kernel) {
    expect("orion",
           JOBS "@1 1:10#c40*100\n"
                "@2 2:20#c10*10 3:30#m10*10\n"
                "@3 1=10\n",
           JOINED "@1 switch 1, run 1:10\n"
                  "@2 switch 2, switch 3, run 3:30\n"
                  "@3 run 2:20\n");
}

Test(policy, orion_takes_an_unknown_class_for_the_opposite) {
    expect("orion",
           JOBS "@1 1:10#u40*100\n"
                "@2 2:20#c10*10\n"
                "@3 1=10 1:11#c40*100\n"
                "@4 3:30#u10*10\n",
           JOINED "@1 switch 1, run 1:10\n"
                  "@2 switch 2, run 2:20\n"
                  "@3 run 1:11\n"
                  "@4 switch 3, run 3:30\n");
}

Test(policy, orion_holds_what_needs_as_many_sms_as_the_threshold) {
    expect("orion",
           JOBS "@1 1:10#c40*100\n"
                "@2 2:20#m80*10 3:30#m79*10\n",
           JOINED "@1 switch 1, run 1:10\n"
                  "@2 switch 2, switch 3, run 3:30\n");
}

/* As in the published artifact: 40 and 39 SMs are fewer than 80, 40 and 40 are not; a completed
 * kernel's SMs are free. */
Test(policy, orion_adds_what_runs_where_it_is_told_to) {
    expect("orion",
           JOBS "@1 1:10#c80*100\n"
                "@2 2:20#m40*10 3:30#m39*10\n"
                "@3 2:21#m1*10\n"
                "@4 policy(lane=pack,kernel=orion,add_sizes=1)\n"
                "@5 2:22#m1*10\n"
                "@6 3=30\n",
           JOINED "@1 switch 1, run 1:10\n"
                  "@2 switch 2, switch 3, run 2:20, run 3:30\n"
                  "@3 run 2:21\n"
                  "@4\n"
                  "@5\n"
                  "@6 run 2:22\n");
}

Test(policy, orion_compares_with_the_kernel_that_the_device_is_at) {
    expect("orion",
           JOBS "@1 1:10#c40*100 1:11#m40*100\n"
                "@2 2:20#c10*10\n"
                "@3 1=10\n",
           JOINED "@1 switch 1, run 1:10, run 1:11\n"
                  "@2 switch 2\n"
                  "@3 run 2:20\n");
}

Test(policy, orion_throttles_the_outstanding_time_of_all_best_effort_jobs) {
    expect("orion",
           JOBS "@1 2:20#c10*200 2:21#c10*200\n"
                "@2 3:30#c10*10\n"
                "@3 2=20\n"
                "@4 2=21 3=30\n",
           JOINED "@1 switch 2, run 2:20, run 2:21\n"
                  "@2 switch 3\n"
                  "@3 run 3:30\n"
                  "@4\n");
}

/* With nothing outstanding, a kernel of any length may run; otherwise it could never run. */
Test(policy, orion_lets_a_long_kernel_go_alone) {
    expect("orion",
           JOBS "@1 2:20#c10*9000 3:30#c10*10\n"
                "@2 2=20\n",
           JOINED "@1 switch 2, switch 3, run 2:20\n"
                  "@2 run 3:30\n");
}

Test(policy, orion_serves_best_effort_jobs_round_robin) {
    expect("orion",
           JOBS "@1 1:10#c10*10\n"
                "@2 2:20#c10*10 2:21#c10*10 2:22#c10*10 3:30#c10*10 3:31#c10*10\n"
                "@3 1=10\n",
           JOINED "@1 switch 1, run 1:10\n"
                  "@2 switch 2, switch 3\n"
                  "@3 run 2:20, run 3:30, run 2:21, run 3:31, run 2:22\n");
}

Test(policy, orion_never_holds_a_copy) {
    expect("orion",
           JOBS "@1 1:10#c40*100\n"
                "@2 2:20#c10*10\n"
                "@3 2:21\n",
           JOINED "@1 switch 1, run 1:10\n"
                  "@2 switch 2\n"
                  "@3 run 2:21\n");
}

Test(policy, orion_of_unknown_requests_lets_one_kernel_out_at_a_time) {
    expect("orion",
           "@0 +1(1,1)h1 +2(1,1)\n"
           "@1 2:20#c10 2:21#c10\n"
           "@2 2=20*0\n",
           "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
           "@1 switch 2, run 2:20\n"
           "@2 run 2:21\n");
}

/* A kernel without a profile counts as long as its job's other kernels. */
Test(policy, orion_takes_a_kernel_without_profile_for_one_like_the_others) {
    expect("orion",
           JOBS "@1 2:20#c10\n"
                "@2 2=20*400\n"
                "@3 2:21#c10 2:22#c10\n"
                "@4 2=21*400\n",
           JOINED "@1 switch 2, run 2:20\n"
                  "@2\n"
                  "@3 run 2:21\n"
                  "@4 run 2:22\n");
}

Test(policy, a_job_that_becomes_high_priority_takes_its_kernels_along) {
    expect("orion",
           "@0 +1(1,1)q10000 +2(1,1)\n"
           "@1 1:10#c10*500\n"
           "@2 2:20#m10*10 2:21#c10*10\n"
           "@3 1%h1q10000\n"
           "@4 1%h0q10000\n",
           "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
           "@1 switch 1, run 1:10\n"
           "@2 switch 2, run 2:20, run 2:21\n"
           "@3\n"
           "@4\n");
}

Test(policy, parts_of_orion_can_be_left_out_live) {
    struct sched *s = make((struct policy_config){.kernel = "orion"});
    SCHEDTRACE_EXPECT(s, JOBS "@1 1:10#c40*100\n@2 2:20#c10*10 3:30#m90*10\n",
                      JOINED "@1 switch 1, run 1:10\n@2 switch 2, switch 3\n");
    SCHEDTRACE_EXPECT(s,
                      "@3 policy(lane=pack,kernel=orion,priorities=0,by_class=0)\n"
                      "@4 policy(lane=pack,kernel=orion,priorities=0,by_class=0,by_size=0)\n",
                      "@3 run 2:20\n"
                      "@4 run 3:30\n");
    sched_destroy(s);
}

Test(policy, thresholds_can_be_set_live) {
    struct sched *s = make((struct policy_config){.kernel = "orion"});
    SCHEDTRACE_EXPECT(s, JOBS "@1 2:20#c90*300 2:21#c90*300\n@2 1:10#m10*100\n",
                      JOINED "@1 switch 2, run 2:20\n@2 switch 1, run 1:10\n");
    cr_expect_eq(sched_sm_threshold(s), 80);
    SCHEDTRACE_EXPECT(
        s,
        "@3 policy(lane=pack,kernel=orion,priorities=0,dur_threshold=30)\n"
        "@4 policy(lane=pack,kernel=orion,priorities=0,dur_threshold=30,sm_threshold=91)\n",
        "@3\n"
        "@4 run 2:21\n");
    cr_expect_eq(sched_sm_threshold(s), 91);
    sched_destroy(s);
}

Test(policy, thresholds_out_of_range_are_refused_with_a_reason) {
    const struct {
        struct policy_config policy;
        const char *why;
    } bad[] = {
        {{.inflight_cap = 4097}, "inflight_cap: 4097 is not from 1 to 4096"},
        {{.preempt_ns = 10000000001}, "preempt: 10000000001ns is not from 0 to 10s"},
        {{.sm_threshold = (1 << 20) + 1}, "sm_threshold: 1048577 is not from 0 to 1048576"},
        {{.dur_threshold = 1001}, "dur_threshold: 100.1% is not from 0.1% to 100%"},
        {{.reef_queue = 4097}, "reef_queue: 4097 is not from 1 to 4096"},
        {{.by_class = 2}, "by_class: not yes or no"},
        {{.kernel = "temporal", .exclusive = 0},
         "temporal runs one job at a time: exclusive cannot be 0"},
        {{.kernel = "lottery"}, "the scheduler has no kernel policy lottery"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sched_config config = {.policy = bad[i].policy};
        struct sched *s;
        char why[160] = "";
        cr_expect_eq(sched_create(&s, &config, why, sizeof(why)), -EINVAL, "%zu", i);
        cr_expect_str_eq(why, bad[i].why);
    }
}

/* ---- priorities of the device ---------------------------------------------------------------- */

Test(policy, high_priority_jobs_have_the_device_level_where_it_is_chosen) {
    struct sched *s = make((struct policy_config){.kernel = "orion", .priorities = 1});
    SCHEDTRACE_EXPECT(
        s, JOBS "@1 2:20#c10*10 1:10#m10*10\n@2 1:11#m10*10\n@3 1%h0q10000 1:12#m10*10\n",
        JOINED "@1 switch 2, switch 1, level 1=1, run 1:10, run 2:20\n"
               "@2 run 1:11\n"
               "@3 level 1=0, run 1:12\n");
    sched_destroy(s);
}

/* ---- the cap --------------------------------------------------------------------------------- */

Test(policy, the_cap_follows_the_length_of_operations_when_there_is_a_target) {
    struct sched *s =
        make((struct policy_config){.kernel = "streams", .inflight_cap = 4, .preempt_ns = 300});
    struct sched_job_view v;
    SCHEDTRACE_EXPECT(s, "@0 +2(1,1)\n@1 2:1 2:2 2:3 2:4 2:5 2:6\n@2 2=1*100\n@3 2=2*100\n",
                      "@0 lane 0=1, admit 2@0\n@1 switch 2, run 2:1, run 2:2, run 2:3, run 2:4\n"
                      "@2\n@3 run 2:5\n");
    cr_assert(sched_job(s, 2, &v));
    cr_expect_eq(v.inflight_cap, 3);
    SCHEDTRACE_EXPECT(s, "@4 2=3*1000000\n@5 2=4*1000000\n", "@4\n@5 run 2:6\n");
    cr_assert(sched_job(s, 2, &v));
    cr_expect_eq(v.inflight_cap, 2, "one runs, one is ready: never fewer");
    sched_destroy(s);
}

Test(policy, a_cap_that_shrinks_within_a_step_holds_in_it) {
    struct sched *s =
        make((struct policy_config){.kernel = "streams", .inflight_cap = 4, .preempt_ns = 300});
    SCHEDTRACE_EXPECT(s, "@0 +2(1,1)\n@1 2:1 2:2 2:3 2:4 2:5\n@2 2=1*1 2=2*8000000\n@3 2=3*1\n",
                      "@0 lane 0=1, admit 2@0\n@1 switch 2, run 2:1, run 2:2, run 2:3, run 2:4\n"
                      "@2\n@3 run 2:5\n");
    sched_destroy(s);
}

/* ---- requests -------------------------------------------------------------------------------- */

static uint64_t request_ns(const struct sched *s, uint32_t job) {
    struct sched_job_view v;
    cr_assert(sched_job(s, job, &v));
    return v.request_ns;
}

Test(policy, the_latency_of_a_request_alone_is_learnt_or_given) {
    struct sched *s = make((struct policy_config){.kernel = "orion"});
    SCHEDTRACE_EXPECT(s, "@0 +1(1,1)h1 +2(1,1)\n@100 1:1 1:2\n@150 1=1*50\n@170 1=2*20 1|\n",
                      "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
                      "@100 switch 1, run 1:1, run 1:2\n@150\n@170\n");
    cr_expect_eq(request_ns(s, 1), 70);
    /* Another job's copy runs meanwhile, so this request does not measure the time alone. */
    SCHEDTRACE_EXPECT(s, "@200 1:3/1\n@210 2:1\n@500 2=1 1=3*40 1|\n",
                      "@200 run 1:3\n@210 switch 2, run 2:1\n@500\n");
    cr_expect_eq(request_ns(s, 1), 70);
    SCHEDTRACE_EXPECT(s, "@600 1%h1q5000\n", "@600\n");
    cr_expect_eq(request_ns(s, 1), 5000, "what was given counts");
    sched_destroy(s);
}

/* Until a request ran alone, its device time is the lower bound of its time. */
Test(policy, a_request_that_never_was_alone_takes_at_least_its_device_time) {
    struct sched *s = make((struct policy_config){.kernel = "streams"});
    SCHEDTRACE_EXPECT(s, "@0 +1(1,1)h1 +2(1,1)\n@1 2:1\n@100 1:1\n@900 1=1*50 1|\n",
                      "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
                      "@1 switch 2, run 2:1\n@100 switch 1, run 1:1\n@900\n");
    cr_expect_eq(request_ns(s, 1), 50);
    sched_destroy(s);
}

/* ---- reef ------------------------------------------------------------------------------------ */

Test(policy, reef_fills_the_sms_that_are_left_with_what_is_shorter) {
    expect("reef",
           JOBS "@1 1:10#c50*100\n"
                "@2 2:20#c31*10 3:30#c30*100\n"
                "@3 3:31#c30*101\n",
           JOINED "@1 switch 1, run 1:10\n"
                  "@2 switch 2, switch 3, run 3:30\n"
                  "@3\n");
}

Test(policy, reef_sends_as_many_as_its_queue_holds) {
    struct sched *s = make((struct policy_config){.kernel = "reef", .reef_queue = 3});
    SCHEDTRACE_EXPECT(s,
                      JOBS "@1 2:20#c90*9000 2:21#c90*9000 3:30#c90*9000 3:31#c90*9000\n@2 2=20\n",
                      JOINED "@1 switch 2, switch 3, run 2:20, run 3:30, run 2:21\n@2 run 3:31\n");
    sched_destroy(s);
}

/* ---- temporal -------------------------------------------------------------------------------- */

Test(policy, temporal_runs_one_request_or_iteration_at_a_time) {
    expect("temporal",
           JOBS "@1 2:20#c10*10 3:30#c10*10\n"
                "@2 1:10#m10*10\n"
                "@3 2=20 2|\n"
                "@4 1=10 1|\n",
           JOINED "@1 switch 2, run 2:20, arm 1000000001\n"
                  "@2\n"
                  "@3 switch 1, run 1:10\n"
                  "@4 switch 3, run 3:30\n");
}

/* ---- ticktock -------------------------------------------------------------------------------- */

/* An iteration has three operations of equal length: the first is the forward pass. Before a
 * complete iteration was seen, everything counts as backward. */
Test(policy, ticktock_offsets_forward_and_backward_passes) {
    expect("ticktock",
           "@0 +2(1,1) +3(1,1)\n"
           "@1 2:1 2:2 2:3\n"
           "@2 2=1*10 2=2*10 2=3*10 2|\n"
           "@3 2:4/1 2:5/1 2:6/1\n"
           "@4 2=4*10 2=5*10 2=6*10 2|\n"
           "@5 2:7/2 2:8/2 2:9/2 3:1 3:2 3:3\n"
           "@6 2=7*10\n"
           "@7 3=1*10 3=2*10 3=3*10\n"
           "@8 2=8*10 2=9*10\n",
           "@0 lane 0=1, admit 2@0, lane 1=1, admit 3@1\n"
           "@1 switch 2, run 2:1, run 2:2, run 2:3\n"
           "@2\n"
           "@3 run 2:4, run 2:5, run 2:6\n"
           "@4\n"
           "@5 switch 3, run 2:7, run 3:1, run 3:2, run 3:3\n"
           "@6\n"
           "@7 run 2:8, run 2:9\n"
           "@8\n");
}

/* ---- the search for SM_THRESHOLD ------------------------------------------------------------- */

/* Iterations take longer than allowed if the threshold is `limit` or more. */
static uint32_t found(uint32_t most, uint32_t limit) {
    struct tune t = {0};
    tune_saw(&t, most);
    for (int i = 0; i < 400; i++)
        tune_iteration(&t, t.value < limit ? 1000 : 2000, 1000, 1100);
    return t.value;
}

Test(policy, the_search_finds_the_largest_threshold_that_does_no_harm) {
    for (uint32_t most = 1; most < 200; most += 7)
        for (uint32_t limit = 1; limit <= most + 2; limit++) {
            uint32_t want = limit < most + 2 ? limit - 1 : most + 1;
            cr_expect_eq(found(most, limit), want, "most %u limit %u: %u", most, limit,
                         found(most, limit));
        }
}

Test(policy, the_search_allows_what_it_is_told_to) {
    static const struct {
        uint32_t allowed, found;
    } limits[] = {{1000, 0}, {1100, 10}, {1250, 25}, {1500, 50}, {10000, 101}};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct tune t = {0};
        tune_saw(&t, 100);
        for (int n = 0; n < 400; n++)
            tune_iteration(&t, 1000 + 10 * t.value, 1000, limits[i].allowed);
        cr_expect_eq(t.value, limits[i].found, "%u: %u", limits[i].allowed, t.value);
    }
}

/* A stream stops at its first kernel that is held back, so later kernels are not seen. */
Test(policy, the_search_sees_the_largest_kernel_of_a_stream_that_it_held) {
    static const uint32_t sizes[] = {10, 100, 1000, 10000, 60000};
    struct tune t = {0};
    uint32_t shown = 0, iterations = 0;
    for (; t.low <= 60000 && iterations < 1000; iterations++) {
        do
            tune_saw(&t, sizes[shown]);
        while (sizes[shown] < t.value && ++shown < 5);
        if (shown == 5) shown = 4;
        tune_iteration(&t, 1000, 1000, 1100);
    }
    cr_expect_lt(iterations, 10 + 8 * 20, "%u iterations", iterations);
}

Test(policy, the_search_begins_anew_when_what_was_found_does_harm) {
    struct tune t = {0};
    tune_saw(&t, 100);
    for (int i = 0; i < 400; i++)
        tune_iteration(&t, t.value < 60 ? 1000 : 2000, 1000, 1100);
    cr_expect_eq(t.value, 59);
    for (int i = 0; i < 400; i++)
        tune_iteration(&t, t.value < 20 ? 1000 : 2000, 1000, 1100);
    cr_expect_eq(t.value, 19);
}
