/* SPDX-License-Identifier: Apache-2.0
 *
 * Events and actions as text: the words of each kind, reading back the written text, and rejection
 * of other text.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/record/notation.h"

static const struct {
    const char *word;
    struct sched_event event;
} words[] = {
    {".", {.kind = SCHED_TIME}},
    {"-7", {.kind = SCHED_LEFT, .job = 7}},
    {"7|", {.kind = SCHED_BOUNDARY, .job = 7}},
    {"7^", {.kind = SCHED_WANTED, .job = 7}},
    {"7~", {.kind = SCHED_HELD, .job = 7}},
    {"7&", {.kind = SCHED_FIXED, .job = 7}},
    {"7?1,2", {.kind = SCHED_ASKED, .job = 7, .need = {1, 2}}},
    {"7?1,2w", {.kind = SCHED_ASKED, .job = 7, .need = {1, 2}, .patient = true}},
    {"7!1,2", {.kind = SCHED_MEASURED, .job = 7, .need = {1, 2}}},
    {"7=9", {.kind = SCHED_DONE, .job = 7, .done = {9, 1}}},
    {"7=18446744073709551615*0", {.kind = SCHED_DONE, .job = 7, .done = {UINT64_MAX, 0}}},
    {"+4294967295", {.kind = SCHED_JOINED, .job = UINT32_MAX}},
    {"+1(?)", {.kind = SCHED_JOINED, .job = 1, .spec = {.unknown = true}}},
    {"+1(?3,0)u5",
     {.kind = SCHED_JOINED, .job = 1, .spec = {.unknown = true, .persistent_bytes = 3, .user = 5}}},
    {"+1(3,4)w1h-2i3d4g5u4294967295r9t7q8pf",
     {.kind = SCHED_JOINED,
      .job = 1,
      .spec = {3, 4, 1, -2, 5, UINT32_MAX, 9, false, true, true, 3, 4, 7, 8, 0, 0}}},
    {"+1s90000000o3",
     {.kind = SCHED_JOINED, .job = 1, .spec = {.slo_ns = 90000000, .slo_of = SCHED_SLO_P99}}},
    {"1%s5", {.kind = SCHED_SET, .job = 1, .spec = {.slo_ns = 5}}},
    {"1%h2147483647", {.kind = SCHED_SET, .job = 1, .spec = {.priority = INT32_MAX}}},
    {"1%", {.kind = SCHED_SET, .job = 1}},
    {"1:2", {.kind = SCHED_SUBMITTED, .job = 1, .submitted = {2, {.class = SCHED_CLASS_COPY}, 0}}},
    {"1:2/3#m4*5~6%7,8",
     {.kind = SCHED_SUBMITTED, .job = 1, .submitted = {2, {5, 6, 4, SCHED_CLASS_MEMORY, 7, 8}, 3}}},
    {"1:2#c4*5",
     {.kind = SCHED_SUBMITTED,
      .job = 1,
      .submitted = {2, {5, 5, 4, SCHED_CLASS_COMPUTE, 0, 0}, 0}}},
    {"1:2#u0",
     {.kind = SCHED_SUBMITTED,
      .job = 1,
      .submitted = {2, {0, 0, 0, SCHED_CLASS_UNKNOWN, 0, 0}, 0}}},
    {"policy()",
     {.kind = SCHED_POLICY,
      .policy = {.exclusive = -1,
                 .swap = -1,
                 .priorities = -1,
                 .by_class = -1,
                 .by_size = -1,
                 .add_sizes = -1,
                 .foresee = -1,
                 .slices = -1,
                 .share_first = -1}}},
    {"policy(control=gpucolo)",
     {.kind = SCHED_POLICY,
      .policy = {.control = "gpucolo",
                 .exclusive = -1,
                 .swap = -1,
                 .priorities = -1,
                 .by_class = -1,
                 .by_size = -1,
                 .add_sizes = -1,
                 .foresee = -1,
                 .slices = -1,
                 .share_first = -1}}},
    {"policy(lane=srtf,kernel=slack,exclusive=1,swap=0,max_lanes=2,overtakes=3,lease_factor=4,"
     "lease_ns=5,inflight_cap=6,preempt_ns=7,priorities=0,by_class=1,by_size=0,add_sizes=1,sm_"
     "threshold=8,"
     "dur_threshold=9,slack=10,lookahead=11,foresee=1,slices=0,reef_queue=4294967295)",
     {.kind = SCHED_POLICY,
      .policy = {.lane = "srtf",
                 .kernel = "slack",
                 .exclusive = 1,
                 .max_lanes = 2,
                 .overtakes = 3,
                 .lease_factor = 4,
                 .lease_ns = 5,
                 .inflight_cap = 6,
                 .preempt_ns = 7,
                 .by_class = 1,
                 .add_sizes = 1,
                 .sm_threshold = 8,
                 .dur_threshold = 9,
                 .slack = 10,
                 .lookahead = 11,
                 .foresee = 1,
                 .slices = 0,
                 .reef_queue = UINT32_MAX,
                 .share_first = -1}}},
};

Test(notation, each_event_has_its_word) {
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char text[NOTATION_BYTES];
        struct sched_event e;
        size_t n = notation_event(text, &words[i].event);
        cr_expect_str_eq(text, words[i].word);
        cr_expect_eq(n, strlen(text));
        cr_expect_eq(notation_read_event(words[i].word, &e), 0, "%s", words[i].word);
        notation_event(text, &e);
        cr_expect_str_eq(text, words[i].word);
        cr_expect_eq(e.kind, words[i].event.kind);
        cr_expect_eq(e.job, words[i].event.job);
    }
}

Test(notation, every_beginning_of_a_word_is_that_event_or_none) {
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (size_t n = 0; n < strlen(words[i].word); n++) {
            char part[512], text[NOTATION_BYTES];
            struct sched_event e;
            snprintf(part, sizeof(part), "%.*s", (int)n, words[i].word);
            if (notation_read_event(part, &e)) continue;
            notation_event(text, &e);
            struct sched_event again;
            cr_expect_eq(notation_read_event(text, &again), 0, "%s", text);
        }
}

Test(notation, what_is_no_event_is_refused) {
    static const char *const bad[] = {"",
                                      "+",
                                      "-",
                                      "1",
                                      "..",
                                      ". ",
                                      "1:",
                                      "1=",
                                      "1=2*",
                                      "x",
                                      "1:2/",
                                      "1:2#",
                                      "1:2#x4",
                                      "1:2#m",
                                      "1:2#m4*",
                                      "1:2#m4%7",
                                      "1:2#m4%7,32768",
                                      "1:2#m4 ",
                                      "1=2 ",
                                      "4294967296|",
                                      "-1-",
                                      "1=18446744073709551616",
                                      "1?1",
                                      "1?1,",
                                      "1!,1",
                                      "+1(",
                                      "+1(1)",
                                      "+1(1,2",
                                      "+1()",
                                      "+1(?,)",
                                      "+1w",
                                      "+1z3",
                                      "1%h-",
                                      "1%h2147483648",
                                      "1%w4294967296",
                                      "policy",
                                      "policy(",
                                      "policy(,)",
                                      "policy(lane)",
                                      "policy(lane=)",
                                      "policy(lane=fair,)",
                                      "policy(colour=1)",
                                      "policy(lane=abcdefghijklmnop)",
                                      "policy(swap=-)",
                                      "policy(slack=-1)",
                                      "policy())",
                                      "@1",
                                      "1 |",
                                      "1:-2"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sched_event e;
        cr_expect_eq(notation_read_event(bad[i], &e), -EINVAL, "'%s'", bad[i]);
    }
}

Test(notation, each_action_has_its_phrase) {
    static const struct {
        struct sched_action action;
        const char *phrase;
    } cases[] = {
        {{.kind = SCHED_RUN, .job = 1, .op = UINT64_MAX}, "run 1:18446744073709551615"},
        {{.kind = SCHED_ADMIT, .job = 1, .lane = 2}, "admit 1@2"},
        {{.kind = SCHED_REFUSE, .job = 1, .why = SCHED_WHY_TIMEOUT}, "refuse 1 TIMEOUT"},
        {{.kind = SCHED_GRANT, .job = 1}, "grant 1"},
        {{.kind = SCHED_DENY, .job = 1}, "deny 1"},
        {{.kind = SCHED_WAIT, .job = 1}, "wait 1"},
        {{.kind = SCHED_MOVE, .job = 1, .lane = 2}, "move 1@2"},
        {{.kind = SCHED_LANE, .lane = 2, .bytes = 3}, "lane 2=3"},
        {{.kind = SCHED_SWITCH, .job = 1}, "switch 1"},
        {{.kind = SCHED_SPILL, .job = 1}, "spill 1"},
        {{.kind = SCHED_RESTORE, .job = 1}, "restore 1"},
        {{.kind = SCHED_SWAP_OUT, .job = 1, .bytes = 2}, "out 1*2"},
        {{.kind = SCHED_SWAP_IN, .job = 1, .bytes = 2}, "in 1*2"},
        {{.kind = SCHED_LEVEL, .job = 1, .level = 1}, "level 1=1"},
        {{.kind = SCHED_SHARE, .job = 1, .sms = 9}, "share 1=9"},
        {{.kind = SCHED_STILL, .job = 1, .still = 1}, "still 1=1"},
        {{.kind = SCHED_ARM, .at_ns = 5}, "arm 5"},
        {{.kind = SCHED_REJECT, .job = 1, .rejected = {SCHED_LEFT, SCHED_FAULT_NO_JOB}},
         "reject 1 left: there is no such job"},
    };
    char text[NOTATION_BYTES];
    cr_assert_eq(sizeof(cases) / sizeof(cases[0]), SCHED_ACTIONS, "one case for each kind");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(cases[i].action.kind, i);
        cr_expect_eq(notation_action(text, &cases[i].action), strlen(cases[i].phrase));
        cr_expect_str_eq(text, cases[i].phrase);
    }
}

Test(notation, a_configuration_is_read_as_it_is_written) {
    struct sched_config c = {.capacity_bytes = 1ull << 40,
                             .chunk_bytes = 2,
                             .sms = 3,
                             .share_users = true,
                             .policy = {.lane = "pack",
                                        .exclusive = -1,
                                        .swap = -1,
                                        .priorities = -1,
                                        .by_class = -1,
                                        .by_size = -1,
                                        .add_sizes = -1,
                                        .foresee = -1,
                                        .slices = -1,
                                        .share_first = -1}},
                        again;
    char text[NOTATION_BYTES], twice[NOTATION_BYTES];
    notation_config(text, &c);
    cr_expect_str_eq(text,
                     "config capacity=1099511627776 chunk=2 sms=3 share_users=1 policy(lane=pack)");
    cr_assert_eq(notation_read_config(text, &again), 0);
    notation_config(twice, &again);
    cr_expect_str_eq(twice, text);
    c.one_user = true;
    c.slice_ns = 40000;
    c.share_sms = 16;
    notation_config(text, &c);
    cr_expect(strstr(text, "share_users=1 one_user=1 share_sms=16 slice=40000 policy("), "%s",
              text);
    cr_assert_eq(notation_read_config(text, &again), 0);
    cr_expect_eq(again.slice_ns, 40000);
    cr_expect_eq(again.share_sms, 16);
    cr_expect_eq(notation_read_config("config capacity=1 chunk=2 sms=3 policy()", &again), -EINVAL);
    cr_expect_eq(notation_read_config("config", &again), -EINVAL);
}
