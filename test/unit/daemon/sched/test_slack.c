/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicted delays computed by hand, and the policy that admits kernels by them as timed traces
 * (schedtrace.h). The device has 80 SMs; a request of job 1 takes 100 us alone, so that 1 % of it
 * is 1 us.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/life.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/policy/forecast.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/state.h"
#include "test/lib/sched/schedtrace.h"

/* ---- delays ---------------------------------------------------------------------------------- */

static struct forecast_use use(uint64_t ns, uint32_t sms, uint8_t class) {
    struct sched_kernel k = {.mean_ns = ns, .tail_ns = ns, .sms = sms, .class = class};
    return forecast_use(&k, ns, 80);
}

static const struct forecast_use nothing;

Test(slack, what_a_kernel_takes_follows_from_its_class_and_size) {
    struct forecast_use u = use(1000, 160, SCHED_CLASS_COMPUTE);
    cr_expect_eq(u.slots, 1000);
    cr_expect_eq(u.wave_ns, 500, "two waves");
    cr_expect_eq(u.compute, 890);
    cr_expect_eq(u.memory, 200);
    u = use(1000, 32, SCHED_CLASS_MEMORY);
    cr_expect_eq(u.slots, 400);
    cr_expect_eq(u.wave_ns, 1000);
    cr_expect_eq(u.memory, 800);
    u = use(1000, 16, SCHED_CLASS_MEMORY);
    cr_expect_eq(u.memory, 400);
    struct sched_kernel known = {
        .sms = 80, .compute_milli = 100, .memory_milli = 300, .class = SCHED_CLASS_COMPUTE};
    u = forecast_use(&known, 1000, 80);
    cr_expect_eq(u.compute, 100, "what was measured counts");
    cr_expect_eq(u.memory, 300);
}

/* A request whose kernels are `steps`; the first has begun. */
static struct forecast request(const struct forecast_use *steps, uint32_t count) {
    struct forecast f = {0};
    for (uint32_t i = 0; i < count; i++) {
        forecast_began(&f, 1000 * i, steps[i]);
        forecast_ended(&f, 1000 * i + 500);
    }
    forecast_over(&f);
    forecast_began(&f, 1000000, steps[0]);
    return f;
}

Test(slack, a_unit_that_both_need_delays_by_what_is_lacking) {
    struct forecast_use steps[] = {use(1000, 40, SCHED_CLASS_COMPUTE)};
    struct forecast f = request(steps, 1);
    struct forecast_use small = use(1000, 8, SCHED_CLASS_COMPUTE);
    struct forecast_use equal = use(1000, 40, SCHED_CLASS_COMPUTE);
    struct forecast_use other = use(1000, 16, SCHED_CLASS_MEMORY);
    cr_expect_eq(forecast_delay(&f, 1000000, &small, &nothing, 64), 0, ".445 + .089 < .868");
    /* Demands of .445 and .445 of a unit with a capacity of .868: .434 each, 445 / 434 - 1. */
    cr_expect_eq(forecast_delay(&f, 1000000, &equal, &nothing, 64), 25);
    cr_expect_eq(forecast_delay(&f, 1000000, &other, &nothing, 64), 0);
    cr_expect_eq(forecast_delay(&f, 1000500, &equal, &nothing, 64), 24,
                 "half of it, half of the next");
    free(f.steps);
}

Test(slack, a_kernel_to_come_waits_for_the_wave_that_has_its_slots) {
    struct forecast_use steps[] = {use(1000, 8, 0), use(1000, 80, 0), use(1000, 8, 0)};
    struct forecast f = request(steps, 3);
    struct forecast_use half = use(3000, 40, 0);
    /* The kernel holds .5 for 2000 ns more when the second one begins, which has 643 of 1000
     * slots until then: 2000 * .357. But at .643 of its speed it takes only 555 longer. */
    cr_expect_eq(forecast_delay(&f, 1000000, &half, &nothing, 64), 555);
    cr_expect_eq(forecast_delay(&f, 1000000, &half, &nothing, 1), 0, "without looking ahead");
    struct forecast_use brief = use(900, 40, 0);
    cr_expect_eq(forecast_delay(&f, 1000000, &brief, &nothing, 64), 0, "it is over before");
    free(f.steps);
}

/* Ten waves of 1000 ns. The first kernel waits for the current wave, at .143 of its speed: 857.
 * The work that it leaves, and the second kernel's, goes to the next waves, so that the third
 * kernel waits again: for 878, because 122 of that wave have passed. */
Test(slack, each_kernel_to_come_waits_for_the_wave_that_has_begun_by_then) {
    struct forecast_use steps[] = {use(1000, 80, 0), use(1000, 8, 0), use(1000, 80, 0)};
    struct forecast f = request(steps, 3);
    struct forecast_use waves = use(10000, 800, 0);
    cr_expect_eq(forecast_delay_of_next(&f, &waves, &nothing, 1), 857);
    cr_expect_eq(forecast_delay_of_next(&f, &waves, &nothing, 2), 857);
    cr_expect_eq(forecast_delay_of_next(&f, &waves, &nothing, 3), 857 + 752);
    free(f.steps);
}

/* Kernels without a known time, and with more demand than there are slots. */
Test(slack, a_forecast_bears_what_cannot_be) {
    static const uint32_t sms[] = {0, 1, 80, 100000000}, units[] = {0, 1, 1000, SCHED_MILLI_MAX};
    static const uint64_t times[] = {0, 1, 1000, 34000000000};
    struct forecast_use uses[64];
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t unit = units[i % 4];
        struct sched_kernel k = {.sms = sms[i / 16], .compute_milli = unit, .memory_milli = unit};
        uses[i] = forecast_use(&k, times[i / 4 % 4], 80);
    }
    for (uint32_t i = 0; i < 64; i++) {
        struct forecast f = request(&uses[i], 1);
        for (uint32_t k = 0; k < 64; k++) {
            struct forecast_use one = uses[k], heads = uses[(7 * k + i) % 64];
            uint64_t ns = forecast_delay_of_next(&f, &one, &heads, 64);
            ns += forecast_delay(&f, 1000000, &one, &heads, 64);
            cr_expect_lt(ns, UINT64_MAX / 4, "%u beside %u", i, k);
        }
        free(f.steps);
    }
}

Test(slack, another_request_may_follow_at_once) {
    struct forecast_use steps[] = {use(1000, 80, 0), use(1000, 8, 0)};
    struct forecast f = request(steps, 2);
    forecast_ended(&f, 1001000);
    forecast_began(&f, 1001000, steps[1]);
    struct forecast_use half = use(3000, 40, 0);
    cr_expect_gt(forecast_delay(&f, 1001000, &half, &nothing, 64), 500);
    free(f.steps);
}

Test(slack, there_is_room_only_beside_what_runs) {
    struct forecast_use steps[] = {use(1000, 40, 0)}, heads = use(1000, 20, 0);
    struct forecast f = request(steps, 1), unknown = {0};
    struct forecast_use fits = use(1000, 51, 0), large = use(1000, 52, 0);
    cr_expect(forecast_room(&f, &fits, &nothing));
    cr_expect_not(forecast_room(&f, &large, &nothing));
    cr_expect_not(forecast_room(&f, &fits, &heads));
    cr_expect_not(forecast_room(&unknown, &fits, &nothing), "nothing is known of its requests");
    free(f.steps);
}

/* ---- the policy ------------------------------------------------------------------------------ */

static struct sched *make_with(uint32_t slack, int foresee) {
    struct sched *s;
    char why[160] = "";
    struct sched_config config = {.policy = {.lane = "pack",
                                             .kernel = "slack",
                                             .exclusive = -1,
                                             .swap = -1,
                                             .by_class = -1,
                                             .by_size = -1,
                                             .slack = slack,
                                             .foresee = foresee},
                                  .capacity_bytes = 100,
                                  .chunk_bytes = 1};
    cr_assert_eq(sched_create(&s, &config, why, sizeof(why)), 0, "%s", why);
    return s;
}

static struct sched *make(uint32_t slack) {
    return make_with(slack, 0);
}

#define JOBS "@0 +1(1,1)h1q100000 +2(1,1) +3(1,1)\n"
#define JOINED "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1, lane 2=1, admit 3@2\n"
/* A request of two kernels of 50 us, the second on all SMs, so that the requests are recognised. */
#define REQUEST                       \
    "@1 1:1#c8*50000 1:2#c80*50000\n" \
    "@50001 1=1*50000\n@100001 1=2*50000 1|\n"
#define SERVED "@1 switch 1, run 1:1, run 1:2\n@50001\n@100001\n"

Test(slack, a_kernel_goes_beside_a_request_that_it_does_not_delay) {
    struct sched *s = make(10);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST "@200000 1:3/1#c8*50000 1:4/1#c80*50000\n"
                                   "@205000 3:30#c40*90000\n"
                                   "@210000 2:20#m8*9000\n"
                                   "@250000 1=3*50000\n"
                                   "@300000 1=4*50000 1|\n",
                      JOINED SERVED "@200000 run 1:3, run 1:4\n"
                                    "@205000 switch 3\n"
                                    "@210000 switch 2, run 2:20\n"
                                    "@250000\n"
                                    "@300000\n");
    sched_destroy(s);
}

/* The request's slack pays for one kernel that delays it, not for two. */
Test(slack, a_request_pays_until_its_slack_is_spent) {
    struct sched *s = make(12);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST "@200000 1:3/1#c8*50000 1:4/1#c80*50000\n"
                                   "@249000 2:20#c11*5000 2:21#c11*5000\n"
                                   "@250000 1=3*50000\n"
                                   "@254000 2=20*5000\n"
                                   "@300000 1=4*50000 1|\n",
                      JOINED SERVED "@200000 run 1:3, run 1:4\n"
                                    "@249000 switch 2, run 2:20\n"
                                    "@250000\n"
                                    "@254000\n"
                                    "@300000 run 2:21\n");
    sched_destroy(s);
}

Test(slack, nothing_goes_beside_a_request_of_which_nothing_is_known) {
    struct sched *s = make(1000);
    SCHEDTRACE_EXPECT(s,
                      JOBS "@1 1:1#c8*50000\n"
                           "@2 2:20#m1*10\n"
                           "@3 2:21\n"
                           "@50001 1=1*50000 1|\n",
                      JOINED "@1 switch 1, run 1:1\n"
                             "@2 switch 2\n"
                             "@3 run 2:21\n"
                             "@50001 run 2:20\n");
    sched_destroy(s);
}

/* The second kernel is submitted ten microseconds before the first one's expected end. */
Test(slack, a_stream_gets_its_next_kernel_just_in_time) {
    struct sched *s = make(10);
    SCHEDTRACE_EXPECT(s,
                      JOBS "@1 2:20#c80*30000 2:21#c80*30000\n"
                           "@20001 .\n"
                           "@30001 2=20*30000\n",
                      JOINED "@1 switch 2, run 2:20, arm 20001\n"
                             "@20001 run 2:21\n"
                             "@30001\n");
    sched_destroy(s);
}

/* A request whose host is between two launches still counts; one whose host waits longer does
 * not. */
Test(slack, a_host_between_two_launches_is_waited_for) {
    struct sched *s = make(10);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST "@200000 1:3/1#c8*50000\n"
                                   "@250000 1=3*50000\n"
                                   "@250001 2:20#c80*30000\n"
                                   "@300000 .\n",
                      JOINED SERVED "@200000 run 1:3\n"
                                    "@250000\n"
                                    "@250001 switch 2, arm 300000\n"
                                    "@300000 run 2:20\n");
    sched_destroy(s);
}

/* During one stream's kernel, a kernel of another stream runs while the waves of both are short
 * enough: 2.5 % of a request are 2.5 us. */
Test(slack, several_streams_run_while_no_request_is_there_if_their_waves_are_short) {
    struct sched *s = make(10);
    SCHEDTRACE_EXPECT(s,
                      JOBS "@1 2:20#c80*2000 3:30#c80*2000\n"
                           "@2001 2=20*2000 3=30*2000\n"
                           "@2002 2:21#c80*3000 3:31#c80*3000\n"
                           "@5002 2=21*3000\n",
                      JOINED "@1 switch 2, switch 3, run 2:20, run 3:30\n"
                             "@2001\n"
                             "@2002 run 2:21\n"
                             "@5002 run 3:31\n");
    sched_destroy(s);
}

/* Requests 2 and 3 arrive when the one before them ends: they may lose only a fiftieth. */
Test(slack, a_request_that_waited_gets_little) {
    struct sched *s = make(20);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST "@200000 1:3/1#c8*50000 1:4/1#c80*50000\n"
                                   "@250000 1=3*50000\n"
                                   "@300000 1=4*50000 1|\n"
                                   "@300001 1:5/2#c8*50000 1:6/2#c80*50000\n"
                                   "@349001 2:20#c12*5000\n",
                      JOINED SERVED "@200000 run 1:3, run 1:4\n"
                                    "@250000\n"
                                    "@300000\n"
                                    "@300001 run 1:5, run 1:6\n"
                                    "@349001 switch 2\n");
    sched_destroy(s);
}

/* ---- devices with slices --------------------------------------------------------------------- */

static struct sched *make_sliced(int slices) {
    struct sched *s;
    char why[160] = "";
    struct sched_config config = {.policy = {.lane = "pack",
                                             .kernel = "slack",
                                             .exclusive = -1,
                                             .swap = -1,
                                             .priorities = -1,
                                             .by_class = -1,
                                             .by_size = -1,
                                             .slack = 10,
                                             .slices = slices},
                                  .capacity_bytes = 100,
                                  .chunk_bytes = 1,
                                  .slice_ns = 40000};
    cr_assert_eq(sched_create(&s, &config, why, sizeof(why)), 0, "%s", why);
    return s;
}

#define LONG "@200000 2:20#c80*300000\n"
#define SENT "@200000 switch 2, run 2:20\n"
#define SERVED_HIGH "@1 switch 1, level 1=1, run 1:1, run 1:2\n@50001\n@100001\n"

Test(slack, a_kernel_that_a_request_would_wait_for_stands_still) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST LONG "@250000 1:3/1#c8*50000 1:4/1#c80*50000\n"
                                        "@300000 1=3*50000\n"
                                        "@350000 1=4*50000 1|\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, run 1:4, still 2=1, arm 100250000\n"
                                              "@300000\n"
                                              "@350000 still 2=0\n");
    sched_destroy(s);
}

/* A request of two kernels that leave half of the SMs free, and use half of the arithmetic. */
#define HALF                           \
    "@1 1:1#c40*50000 1:2#c40*50000\n" \
    "@50001 1=1*50000\n@100001 1=2*50000 1|\n"

/* The kernel uses the bandwidth, which the request does not need. */
Test(slack, a_kernel_that_delays_nothing_goes_on_beside_a_request) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS HALF "@200000 2:20#m20*300000\n"
                                "@250000 1:3/1#c40*50000 1:4/1#c40*50000\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, run 1:4\n");
    sched_destroy(s);
}

/* Demands of .445 and .445 of the arithmetic, with a capacity of .868: 25 ns a microsecond, for
 * 30 us. That uses most of the 1 us that the request may lose, and leaves too little for 20 us
 * of another kernel. */
Test(slack, what_goes_on_beside_a_request_is_paid_for) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS HALF "@200000 2:20#c40*80000\n"
                                "@250000 1:3/1#c40*50000 1:4/1#c40*50000\n"
                                "@251000 3:30#c4*20000\n"
                                "@300000 1=3*50000\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, run 1:4\n"
                                              "@251000 switch 3\n"
                                              "@300000\n");
    sched_destroy(s);
}

Test(slack, nothing_stands_still_where_that_was_not_asked_for) {
    struct sched *s = make_sliced(0);
    SCHEDTRACE_EXPECT(s, JOBS REQUEST LONG "@250000 1:3/1#c8*50000 1:4/1#c80*50000\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, run 1:4\n");
    sched_destroy(s);
}

/* The request's host waits, so the device is free. The next request finds the kernel still on
 * the device. */
Test(slack, what_stood_still_goes_on_when_the_request_waits_for_its_host) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST LONG "@250000 1:3/1#c8*50000\n"
                                        "@300000 1=3*50000\n"
                                        "@350000 .\n"
                                        "@360000 1:4/1#c80*50000\n"
                                        "@410000 1=4*50000 1|\n"
                                        "@420000 1:5/2#c8*50000\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, still 2=1, arm 100250000\n"
                                              "@300000 arm 350000\n"
                                              "@350000 still 2=0\n"
                                              "@360000 run 1:4, still 2=1, arm 100360000\n"
                                              "@410000 still 2=0\n"
                                              "@420000 run 1:5, still 2=1, arm 100420000\n");
    sched_destroy(s);
}

/* Other jobs depend on the paused job's work on the device. */
Test(slack, nothing_stands_still_for_ever) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST LONG "@250000 1:3/1#c8*50000\n"
                                        "@100249999 .\n"
                                        "@100250000 .\n"
                                        "@100300000 1=3*50000\n"
                                        "@100310000 1:4/1#c80*50000\n"
                                        "@100360000 1=4*50000 1|\n"
                                        "@100400000 1:5/2#c80*50000\n"
                                        "@100410000 2=20*100 2:21#c80*300000\n"
                                        "@100450000 1=5*50000 1|\n"
                                        "@100460000 .\n"
                                        "@100500000 1:6/3#c80*50000\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, still 2=1, arm 100250000\n"
                                              "@100249999\n"
                                              "@100250000 still 2=0\n"
                                              "@100300000\n"
                                              "@100310000 run 1:4\n"
                                              "@100360000\n"
                                              "@100400000 run 1:5\n"
                                              "@100410000\n"
                                              "@100450000 run 2:21\n"
                                              "@100460000\n"
                                              "@100500000 run 1:6, still 2=1, arm 200500000\n");
    sched_destroy(s);
}

Test(slack, what_stood_still_goes_on_under_another_policy) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST LONG "@250000 1:3/1#c8*50000 1:4/1#c80*50000\n"
                                        "@260000 policy(kernel=streams)\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, run 1:4, still 2=1, arm 100250000\n"
                                              "@260000 still 2=0\n");
    sched_destroy(s);
}

Test(slack, who_leaves_stands_still_no_longer) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST LONG "@250000 1:3/1#c8*50000 1:4/1#c80*50000\n"
                                        "@260000 -2\n"
                                        "@270000 2=20*100\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, run 1:4, still 2=1, arm 100250000\n"
                                              "@260000 still 2=0\n"
                                              "@270000 lane 1=0\n");
    sched_destroy(s);
}

/* The kernel ended within its slice. */
Test(slack, who_has_nothing_on_the_device_stands_still_no_longer) {
    struct sched *s = make_sliced(1);
    SCHEDTRACE_EXPECT(s,
                      JOBS REQUEST LONG "@250000 1:3/1#c8*50000 1:4/1#c80*50000\n"
                                        "@260000 2=20*100\n"
                                        "@265000 2:21#c80*1000\n",
                      JOINED SERVED_HIGH SENT "@250000 run 1:3, run 1:4, still 2=1, arm 100250000\n"
                                              "@260000 still 2=0\n"
                                              "@265000 run 2:21\n");
    sched_destroy(s);
}

/* ---- expected requests ----------------------------------------------------------------------- */

#define MS 1000000ull

/* Requests `first` to `last`, one a millisecond from the first millisecond on, served at once;
 * the first of their two kernels runs on `sms` SMs. */
static void serve(struct sched *s, uint32_t first, uint32_t last, unsigned sms) {
    for (uint32_t i = first; i <= last; i++) {
        char script[300];
        unsigned long at = (i + 1) * MS, op = 2 * i + 100;
        snprintf(script, sizeof(script),
                 "@%lu 1:%lu/%u#c%u*50000 1:%lu/%u#c80*50000\n"
                 "@%lu 1=%lu*50000\n@%lu 1=%lu*50000 1|\n",
                 at, op, i, sms, op + 1, i, at + 50000, op, at + 100000, op + 1);
        free(schedtrace_run(s, script));
    }
}

/* After eight served requests, the next one is expected at 9 ms, give or take 20 us. */
static struct sched *make_foreseeing(int foresee, unsigned sms) {
    struct sched *s = make_with(10, foresee);
    free(schedtrace_run(s, JOBS));
    serve(s, 0, 7, sms);
    return s;
}

Test(slack, a_kernel_waits_for_a_request_that_it_would_run_into) {
    struct sched *s = make_foreseeing(1, 8);
    SCHEDTRACE_EXPECT(s,
                      "@8800000 2:20#c80*300000\n"
                      "@9000000 1:1/8#c8*50000 1:2/8#c80*50000\n"
                      "@9050000 1=1*50000\n"
                      "@9100000 1=2*50000 1|\n",
                      "@8800000 switch 2, arm 9020000\n"
                      "@9000000 run 1:1, run 1:2\n"
                      "@9050000\n"
                      "@9100000 run 2:20\n");
    sched_destroy(s);
}

Test(slack, a_kernel_that_is_over_before_goes) {
    struct sched *s = make_foreseeing(1, 8);
    SCHEDTRACE_EXPECT(s, "@8800000 2:20#c80*160000\n", "@8800000 switch 2, run 2:20\n");
    sched_destroy(s);
}

/* The kernel's waves are short, but it uses the bandwidth that the request's second kernel
 * needs. */
Test(slack, a_kernel_of_many_waves_waits_as_well) {
    struct sched *s = make_foreseeing(1, 8);
    SCHEDTRACE_EXPECT(s, "@8800000 2:20#c8000*300000\n", "@8800000 switch 2, arm 9020000\n");
    sched_destroy(s);
}

/* The kernel would run beside the request's first kernel, which leaves SMs for it. */
Test(slack, a_kernel_that_delays_nothing_does_not_wait) {
    struct sched *s = make_foreseeing(1, 8);
    SCHEDTRACE_EXPECT(s, "@8810000 2:20#c8*200000\n", "@8810000 switch 2, run 2:20\n");
    sched_destroy(s);
}

Test(slack, nobody_waits_where_that_was_not_asked_for) {
    struct sched *s = make_foreseeing(0, 8);
    SCHEDTRACE_EXPECT(s, "@8800000 2:20#c80*300000\n", "@8800000 switch 2, run 2:20\n");
    sched_destroy(s);
}

Test(slack, a_request_that_does_not_come_is_waited_for_until_it_is_overdue) {
    struct sched *s = make_foreseeing(1, 8);
    SCHEDTRACE_EXPECT(s, "@8800000 2:20#c80*300000\n@9019999 .\n@9020000 .\n",
                      "@8800000 switch 2, arm 9020000\n@9019999\n@9020000 run 2:20\n");
    sched_destroy(s);
}

/* The kernel takes 30 us, the request comes within 40. */
Test(slack, a_short_kernel_is_not_held_back_for_longer_than_it_takes) {
    struct sched *s = make_foreseeing(1, 80);
    SCHEDTRACE_EXPECT(s, "@8970000 2:20#c80*30000\n", "@8970000 switch 2, run 2:20\n");
    sched_destroy(s);
}

/* With a request of one job present, the expected request of another job counts too. */
Test(slack, a_request_of_another_job_is_foreseen_beside_one_that_is_there) {
    struct sched *s = make_foreseeing(1, 8);
    SCHEDTRACE_EXPECT(s,
                      "@8000200 +4(1,1)h1q100000\n"
                      "@8000300 4:1#c8*50000\n"
                      "@8050300 4=1*50000 4|\n"
                      "@8700000 4:2/1#c8*1000000\n"
                      "@8800000 2:20#c40*300000\n"
                      "@9020000 .\n",
                      "@8000200 lane 3=1, admit 4@3\n"
                      "@8000300 switch 4, run 4:1\n"
                      "@8050300\n"
                      "@8700000 run 4:2\n"
                      "@8800000 switch 2, arm 9020000\n"
                      "@9020000 run 2:20\n");
    sched_destroy(s);
}

/* No gap is long enough for the kernel, but the time that best-effort jobs may lose is limited:
 * a tenth, and 100 ms. */
Test(slack, a_kernel_is_not_held_back_for_ever) {
    struct sched *s = make_foreseeing(1, 8);
    free(schedtrace_run(s, "@8200000 2:20#c80*1200000\n"));
    uint32_t request = 8;
    while (request < 1000 && sched_view(s)->waiting) {
        serve(s, request, request, 8);
        request++;
    }
    cr_expect_geq(request, 8 + 110, "after request %u", request);
    cr_expect_leq(request, 8 + 140, "after request %u", request);
    sched_destroy(s);
}
