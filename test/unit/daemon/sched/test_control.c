/* SPDX-License-Identifier: Apache-2.0
 *
 * Controllers as timed traces (schedtrace.h has the notation). Job 1 has a latency goal of 100 ns
 * for its requests, the others have none. A control period is 100 ns long and contains one request
 * and one iteration of the others, unless a test says otherwise.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/policy/reason.h"
#include "daemon/sched/control/controller.h"
#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/record/notation.h"
#include "daemon/sched/state.h"
#include "test/lib/sched/schedtrace.h"

#define PERIOD "lane=pack,period_ns=100,period_requests=1,period_cycles=1"
/* A pause of 1 ns reduces the latency by 0.1 ns, withholding all SMs by 1000 ns; the device has 80
 * SMs. */
#define GIVEN \
    PERIOD ",control=gpucolo,most_pause_ns=1000,slope_pause=100000,slope_share=1,share_first=0"
#define JOBS "@0 +1(1,1)s100 +2(1,1)\n"
#define JOINED "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1, arm 4000000100\n"

/* Makes a scheduler whose shares are rounded to multiples of `share_sms`. */
static struct sched *make_by(const char *policy, uint32_t share_sms) {
    struct sched *s;
    char why[160] = "", word[512];
    struct sched_config config = {.capacity_bytes = 100, .chunk_bytes = 1, .share_sms = share_sms};
    snprintf(word, sizeof(word), "policy(%s)", policy);
    cr_assert_eq(notation_read_policy(word, &config.policy), 0, "%s", word);
    cr_assert_eq(sched_create(&s, &config, why, sizeof(why)), 0, "%s", why);
    return s;
}

static struct sched *make(const char *policy) {
    return make_by(policy, 0);
}

static void expect(const char *policy, const char *script, const char *trace) {
    struct sched *s = make(policy);
    SCHEDTRACE_EXPECT(s, script, trace);
    sched_destroy(s);
}

static struct sched_job_view view(const struct sched *s, uint32_t job) {
    struct sched_job_view v;
    cr_assert(sched_job(s, job, &v));
    return v;
}

static void play(struct sched *s, const char *script) {
    free(schedtrace_run(s, script));
}

/* One period: a request of `latency` ns, and then an iteration of job 2 with its pause before
 * it. */
static void period(struct sched *s, uint64_t *now, uint32_t *iteration, uint64_t latency) {
    char script[256];
    uint64_t pause = view(s, 2).pause_ns, from = *now + 1, end = from + latency;
    uint64_t go = from + pause > end ? from + pause : end;
    uint32_t n = *iteration;
    *now = go + 200;
    ++*iteration;
    snprintf(script, sizeof(script), "@%lu 1:%u/%u 2:%u/%u\n@%lu 1=%u 1|\n@%lu .\n@%lu 2=%u 2|\n",
             (unsigned long)from, n, n, n, n, (unsigned long)end, n, (unsigned long)go,
             (unsigned long)*now, n);
    play(s, script);
}

/* ---- the seam -------------------------------------------------------------------------------- */

Test(control, without_a_promise_a_controller_does_nothing_and_asks_for_no_time) {
    static const char script[] = "@0 +1(1,1)h1 +2(1,1)\n"
                                 "@1 1:10 2:20\n"
                                 "@500 1=10 1| 2=20 2|\n"
                                 "@501 1:11/1 2:21/1\n";
    static const char trace[] = "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
                                "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                                "@500\n"
                                "@501 run 1:11, run 2:21\n";
    for (uint32_t i = 0; controller_at(i); i++) {
        char policy[128];
        snprintf(policy, sizeof(policy), PERIOD ",control=%s", controller_at(i)->name);
        expect(policy, script, trace);
    }
}

Test(control, what_was_promised_and_measured_is_seen_without_a_controller_too) {
    struct sched *s = make(PERIOD);
    play(s, JOBS "@1 1:10 2:20\n"
                 "@121 1=10 1|\n"
                 "@150 2=20 2|\n"
                 "@151 1:11/1 2:21/1\n"
                 "@253 1=11 1|\n"
                 "@254 2=21 2|\n");
    struct sched_job_view v = view(s, 1);
    cr_expect_eq(v.slo_ns, 100);
    cr_expect_eq(v.measured_ns, 102, "of the second period");
    cr_expect_eq(v.periods, 2);
    cr_expect_eq(v.violations, 1, "102 is within the band of 2 %%");
    cr_expect_eq(view(s, 2).pause_ns, 0);
    cr_expect_eq(view(s, 2).slo_ns, 0);
    sched_destroy(s);
}

Test(control, a_pause_begins_at_a_boundary_and_nobody_else_stands_still) {
    expect(GIVEN,
           JOBS "@1 1:10 2:20\n"
                "@121 1=10 1|\n"
                "@150 2=20 2|\n" /* 120 ns were measured: 20 too many, so the pause is 200 */
                "@151 1:11/1 2:21/1\n"
                "@160 2=21 2|\n"
                "@170 2:22/2\n"
                "@200 1=11 1|\n"
                "@201 1:12/2\n"
                "@360 .\n",
           JOINED "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                  "@121\n"
                  "@150 arm 4000000599\n"
                  "@151 run 1:11, run 2:21\n"
                  "@160 arm 360\n"
                  "@170\n"
                  "@200\n"
                  "@201 run 1:12\n"
                  "@360 run 2:22, arm 4000000599\n");
}

Test(control, whoever_stands_still_says_why) {
    struct sched *s = make(GIVEN);
    play(s, JOBS "@1 1:10 2:20\n"
                 "@121 1=10 1|\n"
                 "@150 2=20 2|\n"
                 "@151 2:21/1\n"
                 "@160 2=21 2|\n"
                 "@170 2:22/2\n");
    cr_expect_eq(view(s, 2).why, SCHED_WHY_PACED);
    cr_expect_eq(view(s, 2).pause_ns, 200);
    play(s, "@360 .\n");
    cr_expect_eq(view(s, 2).why, SCHED_WHY_NONE);
    sched_destroy(s);
}

/* The job that arrived first runs until it leaves, so pausing it would help no other job. */
Test(control, who_keeps_its_turn_has_no_pause) {
    expect("lane=fifo,period_ns=100,period_requests=1,period_cycles=1,control=gpucolo,"
           "most_pause_ns=1000,slope_pause=100000,share_first=0",
           "@0 +2(1,1) +1(1,1)s100\n"
           "@1 2:20\n"
           "@10 2=20 2|\n"
           "@11 2:21/1\n",
           "@0 lane 0=1, admit 2@0, lane 1=1, admit 1@1, arm 4000000100\n"
           "@1 switch 2, run 2:20\n"
           "@10\n"
           "@11 run 2:21\n");
}

Test(control, a_period_waits_for_requests_and_iterations_but_not_for_ever) {
    struct sched *s = make(
        "lane=pack,control=gpucolo,share_first=0,period_ns=100,period_requests=2,period_cycles=2");
    play(s, JOBS "@1 1:10 2:20\n"
                 "@150 1=10 1| 2=20 2|\n"
                 "@151 1:11/1 2:21/1\n"
                 "@300 1=11 1|\n"); /* two requests, one iteration */
    cr_expect_eq(view(s, 1).periods, 0);
    play(s, "@301 2=21 2|\n");
    cr_expect_eq(view(s, 1).periods, 1);
    play(s, "@302 1:12/2\n"
            "@310 1=12 1|\n" /* one request */
            "@4000000400 .\n");
    cr_expect_eq(view(s, 1).periods, 1);
    play(s, "@20000000000 .\n");
    cr_expect_eq(view(s, 1).periods, 2);
    sched_destroy(s);
}

Test(control, a_service_that_waits_for_admission_holds_up_no_period) {
    struct sched *s = make(GIVEN);
    play(s, JOBS "@1 +3(99,1)s100 1:10 2:20\n"
                 "@2 3:30\n"
                 "@121 1=10 1|\n"
                 "@150 2=20 2|\n");
    cr_expect_eq(view(s, 1).periods, 1);
    cr_expect_eq(view(s, 2).pause_ns, 200);
    sched_destroy(s);
}

/* The operator's hold stops the job's work, so it reaches no boundary. */
Test(control, a_trainer_that_an_operator_holds_holds_up_no_period) {
    struct sched *s = make(GIVEN);
    play(s, JOBS "@1 1:10 2%p 2:20\n"
                 "@121 1=10 1|\n");
    cr_expect_eq(view(s, 1).periods, 1);
    sched_destroy(s);
}

Test(control, a_promise_is_made_changed_and_taken_back_live) {
    struct sched *s = make(GIVEN);
    play(s, "@0 +1(1,1) +2(1,1)\n"
            "@1 1%s100\n"
            "@2 1:10 2:20\n"
            "@122 1=10 1|\n"
            "@150 2=20 2|\n");
    cr_expect_eq(view(s, 2).pause_ns, 200);
    cr_expect_eq(view(s, 1).violations, 1);
    play(s, "@151 1%s500\n");
    cr_expect_eq(view(s, 1).slo_ns, 500);
    cr_expect_eq(view(s, 1).violations, 0, "of another promise");
    cr_expect_eq(view(s, 2).pause_ns, 200, "until the period is over");
    play(s, "@152 1%\n");
    cr_expect_eq(view(s, 1).slo_ns, 0);
    cr_expect_eq(view(s, 2).pause_ns, 0, "nobody is held back for nobody");
    sched_destroy(s);
}

Test(control, when_the_controller_goes_what_it_took_comes_back) {
    expect(PERIOD ",control=gpucolo,most_pause_ns=1000,slope_share=1",
           JOBS "@1 1:10 2:20\n"
                "@601 1=10 1|\n"
                "@602 2=20 2|\n"
                "@700 policy(" PERIOD ")\n",
           JOINED "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                  "@601\n"
                  "@602 share 2=40, arm 4000001303\n"
                  "@700 share 2=0, arm 4000001401\n");
}

/* ---- gpucolo --------------------------------------------------------------------------------- */

Test(control, gpucolo_moves_the_pause_by_the_error_over_the_slope) {
    struct sched *s = make(GIVEN);
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, JOBS);
    period(s, &now, &n, 120);
    cr_expect_eq(view(s, 2).pause_ns, 200);
    period(s, &now, &n, 110);
    cr_expect_eq(view(s, 2).pause_ns, 300, "of 10 too many 100 more");
    period(s, &now, &n, 95);
    cr_expect_eq(view(s, 2).pause_ns, 250, "of 5 too few 50 less");
    cr_expect_eq(view(s, 1).pause_ns, 0);
    sched_destroy(s);
}

Test(control, gpucolo_remembers_nothing_of_what_it_could_not_do) {
    struct sched *s = make(GIVEN ",slo_band=1000");
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, JOBS);
    for (int i = 0; i < 5; i++)
        period(s, &now, &n, 199);
    cr_expect_eq(view(s, 2).pause_ns, 1000, "the most there is");
    period(s, &now, &n, 90);
    cr_expect_eq(view(s, 2).pause_ns, 900, "at once, not after all that was too much");
    sched_destroy(s);
}

Test(control, gpucolo_takes_the_share_where_the_pause_can_do_no_more) {
    struct sched *s = make(GIVEN);
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, JOBS);
    period(s, &now, &n, 250);
    cr_expect_eq(view(s, 2).pause_ns, 1000);
    cr_expect_eq(view(s, 2).sms, 0);
    period(s, &now, &n, 200);
    cr_expect_eq(view(s, 2).sms, 72, "100 of 1000 ns: a tenth of the SMs is withheld");
    cr_expect_eq(view(s, 2).pause_ns, 1000);
    period(s, &now, &n, 80);
    cr_expect_eq(view(s, 2).pause_ns, 800, "then the pause is what moves");
    cr_expect_eq(view(s, 2).sms, 72);
    sched_destroy(s);
}

Test(control, gpucolo_acts_on_the_share_after_outer_periods_beyond_the_band) {
    struct sched *s = make(GIVEN ",outer_periods=3");
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, JOBS);
    period(s, &now, &n, 110);
    period(s, &now, &n, 110);
    cr_expect_eq(view(s, 2).pause_ns, 200);
    period(s, &now, &n, 110);
    cr_expect_eq(view(s, 2).sms, 79, "10 of 1000 ns");
    cr_expect_eq(view(s, 2).pause_ns, 200, "one lever at a time");
    for (int i = 0; i < 4; i++)
        period(s, &now, &n, 101);
    cr_expect_eq(view(s, 2).sms, 79, "what is within the band is no difference");
    sched_destroy(s);
}

/* A pause cannot change a 95th percentile that the requests beside an iteration determine. */
Test(control, gpucolo_holds_a_tail_by_the_share) {
    struct sched *s = make(GIVEN);
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, "@0 +1(1,1)s100o2 +2(1,1)\n");
    while (view(s, 1).periods == 0)
        period(s, &now, &n, 200);
    cr_expect_eq(n, 40, "two of so many are above it");
    cr_expect_eq(view(s, 2).sms, 72);
    cr_expect_eq(view(s, 2).pause_ns, 0);
    sched_destroy(s);
}

Test(control, gpucolo_says_that_a_promise_cannot_be_kept) {
    struct sched *s = make(GIVEN);
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, JOBS);
    for (int i = 0; i < 3; i++)
        period(s, &now, &n, 5000);
    cr_expect_eq(view(s, 2).sms, 1, "one is left");
    cr_expect_eq(view(s, 1).stuck, 1);
    cr_expect_eq(view(s, 1).violations, 3);
    cr_expect_eq(view(s, 1).why, SCHED_WHY_SLO);
    period(s, &now, &n, 90);
    cr_expect_eq(view(s, 1).why, SCHED_WHY_NONE);
    sched_destroy(s);
}

Test(control, gpucolo_lets_go_while_no_request_comes_and_goes_on_where_it_was) {
    struct sched *s = make(GIVEN);
    play(s, JOBS "@1 1:10 2:20\n"
                 "@121 1=10 1|\n"
                 "@150 2=20 2|\n"
                 "@4000000599 .\n");
    cr_expect_eq(view(s, 2).pause_ns, 0, "nobody is asked anything");
    play(s, "@4000000700 1:11/1 2:21/1\n"
            "@4000000900 1=11 1| 2=21 2|\n");
    cr_expect_eq(view(s, 2).pause_ns, 200, "not by what was measured without a pause");
    sched_destroy(s);
}

/* Job 3 has a goal of 50 ns: 60 is relatively further above it than 110 is above 100. */
Test(control, gpucolo_is_ruled_by_the_service_that_is_furthest_above) {
    struct sched *s = make(GIVEN);
    play(s, "@0 +1(1,1)s100 +2(1,1) +3(1,1)s50\n"
            "@1 1:10 2:20 3:30\n"
            "@61 3=30 3|\n"
            "@111 1=10 1|\n"
            "@112 2=20 2|\n");
    cr_expect_eq(view(s, 2).pause_ns, 100, "10 too many");
    cr_expect_eq(view(s, 1).pause_ns, 0);
    cr_expect_eq(view(s, 3).pause_ns, 0);
    cr_expect_eq(view(s, 3).measured_ns, 60);
    cr_expect_eq(view(s, 1).measured_ns, 110);
    sched_destroy(s);
}

Test(control, gpucolo_has_the_share_first_for_a_mean_too_unless_told) {
    struct sched *s = make(PERIOD ",control=gpucolo,slope_share=1");
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, JOBS);
    period(s, &now, &n, 200);
    cr_expect_eq(view(s, 2).sms, 72);
    cr_expect_eq(view(s, 2).pause_ns, 0);
    sched_destroy(s);
}

/* The controller learns the effect of a pause: a latency of 100 + 100 - pause/10 reaches 150
 * within a few periods. */
Test(control, gpucolo_learns_what_a_pause_does) {
    struct sched *s = make(PERIOD ",control=gpucolo,most_pause_ns=1000,share_first=0");
    uint64_t now = 0, latency = 0;
    uint32_t n = 0;
    play(s, "@0 +1(1,1)s150 +2(1,1)\n");
    for (int i = 0; i < 12; i++) {
        latency = 200 - view(s, 2).pause_ns / 10;
        period(s, &now, &n, latency);
    }
    cr_expect_leq(latency, 152);
    cr_expect_geq(latency, 148);
    cr_expect_eq(view(s, 2).sms, 0);
    sched_destroy(s);
}

/* ---- for comparison -------------------------------------------------------------------------- */

#define FIRST_PERIOD      \
    JOBS "@1 1:10 2:20\n" \
         "@121 1=10 1|\n" \
         "@150 2=20 2|\n"

Test(control, simple_divides_the_device_equally) {
    expect(PERIOD ",control=simple", FIRST_PERIOD,
           JOINED "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                  "@121\n"
                  "@150 share 2=40, share 1=40, arm 4000000399\n");
}

Test(control, conservative_leaves_the_others_a_fifth) {
    expect(PERIOD ",control=conservative", FIRST_PERIOD,
           JOINED "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                  "@121\n"
                  "@150 share 2=16, share 1=64, arm 4000000399\n");
}

Test(control, gslice_goes_by_steps_and_its_periods) {
    struct sched *s = make(PERIOD ",control=gslice,gslice_period_ns=700");
    uint64_t now = 0;
    uint32_t n = 0;
    play(s, JOBS);
    period(s, &now, &n, 120);
    cr_expect_eq(view(s, 1).sms, 40);
    cr_expect_eq(view(s, 2).sms, 40);
    period(s, &now, &n, 120);
    cr_expect_eq(view(s, 1).sms, 40, "not yet");
    period(s, &now, &n, 120);
    cr_expect_eq(view(s, 1).sms, 48);
    cr_expect_eq(view(s, 2).sms, 32);
    for (int i = 0; i < 6; i++)
        period(s, &now, &n, 50);
    cr_expect_eq(view(s, 1).sms, 32);
    cr_expect_eq(view(s, 2).sms, 48);
    sched_destroy(s);
}

/* Both jobs' shares changed: each pauses once after its next boundary. */
Test(control, gslice_pays_for_a_restart) {
    expect(PERIOD ",control=gslice,gslice_restart_ns=5000,gslice_period_ns=10000000",
           FIRST_PERIOD "@151 1:11/1 2:21/1\n"
                        "@160 1=11 1| 2=21 2|\n"
                        "@161 1:12/2 2:22/2\n"
                        "@5160 .\n"
                        "@5170 1=12 1|\n"
                        "@5171 1:13/3\n",
           JOINED "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                  "@121\n"
                  "@150 share 2=40, share 1=40, arm 4000000399\n"
                  "@151 run 1:11, run 2:21\n"
                  "@160 arm 5160\n"
                  "@161\n"
                  "@5160 run 1:12, run 2:22, arm 4000000399\n"
                  "@5170\n"
                  "@5171 run 1:13\n");
}

/* ---- shares in steps ------------------------------------------------------------------------- */

#define TURN_NS 10000000ul
#define TURNS 200

/* Computes the mean shares over time of jobs 1 and 2, in SMs of 80. */
static void means(struct sched *s, double *of) {
    char script[32];
    of[0] = of[1] = 0;
    play(s, FIRST_PERIOD);
    for (unsigned long i = 1; i <= TURNS; i++) {
        for (uint32_t job = 1; job <= 2; job++) {
            uint32_t sms = view(s, job).sms;
            cr_assert_eq(sms % 10, 0, "%u", sms);
            of[job - 1] += sms ? sms : 80;
        }
        snprintf(script, sizeof(script), "@%lu .\n", 150 + i * TURN_NS);
        play(s, script);
        cr_assert_null(sched_check(s));
    }
    of[0] /= TURNS;
    of[1] /= TURNS;
}

static bool is_near(double a, double b) {
    return a > b - 0.1 && a < b + 0.1;
}

Test(control, a_share_between_two_steps_is_their_mean_over_time) {
    struct sched *s = make_by(PERIOD ",control=conservative", 10);
    double of[2];
    means(s, of);
    cr_expect(is_near(of[0], 64) && is_near(of[1], 16), "%f, %f", of[0], of[1]);
    sched_destroy(s);
}

Test(control, no_share_is_less_than_the_least_step) {
    struct sched *s = make_by(PERIOD ",control=conservative,services_part=950", 10);
    double of[2];
    means(s, of);
    cr_expect(is_near(of[0], 76) && is_near(of[1], 10), "%f, %f", of[0], of[1]);
    sched_destroy(s);
}

Test(control, a_share_that_is_a_step_asks_for_no_time) {
    struct sched *s = make_by(PERIOD ",control=simple", 10);
    SCHEDTRACE_EXPECT(s, FIRST_PERIOD,
                      JOINED "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                             "@121\n"
                             "@150 share 2=40, share 1=40, arm 4000000399\n");
    sched_destroy(s);
}

/* The job's share ends with the latency goal, and the controller requests no further wake-up. */
Test(control, no_share_is_left_by_steps_when_nobody_promises_anything) {
    struct sched *s = make_by(PERIOD ",control=conservative", 10);
    play(s, FIRST_PERIOD "@151 1%\n");
    cr_expect_eq(view(s, 2).sms, 0);
    SCHEDTRACE_EXPECT(s, "@20000000 .\n", "@20000000\n");
    sched_destroy(s);
}
