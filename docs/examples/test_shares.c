/* SPDX-License-Identifier: Apache-2.0
 *
 * The example of write-a-policy.md: its order as timed traces (schedtrace.h has the notation), and
 * what each of two jobs that always have something to run gets. scripts/check-recipes builds it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/policy/parameters.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "test/lib/sched/schedtrace.h"

static struct sched *make(uint64_t depth) {
    struct sched_config config = {.capacity_bytes = 100, .chunk_bytes = 1};
    struct sched *s;
    char why[160] = "";
    parameters_clear(&config.policy);
    snprintf(config.policy.lane, POLICY_NAME_BYTES, "pack");
    snprintf(config.policy.kernel, POLICY_NAME_BYTES, "shares");
    config.policy.shares_depth = depth;
    cr_assert_eq(sched_create(&s, &config, why, sizeof(why)), 0, "%s", why);
    return s;
}

/* The weights are 1 and 3: kernels of 250 and 300 ns count 250 and 100. */
Test(shares, the_job_that_is_furthest_behind_goes_next) {
    struct sched *s = make(1);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(1,1) +2(1,1)w3\n"
                      "@1 1:10#c8*250 1:11#c8*250 2:20#c8*300 2:21#c8*300 2:22#c8*300 2:23#c8*300\n"
                      "@2 1=10*250\n@3 2=20*300\n@4 2=21*300\n@5 2=22*300\n",
                      "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
                      "@1 switch 1, switch 2, run 1:10\n"
                      "@2 run 2:20\n@3 run 2:21\n@4 run 2:22\n@5 run 1:11\n");
    sched_destroy(s);
}

Test(shares, no_more_than_its_depth_are_on_the_device) {
    struct sched *s = make(2);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(1,1) +2(1,1)\n"
                      "@1 1:10#c8*300 1:11#c8*300 2:20#c8*400 2:21#c8*400\n"
                      "@2 1=10*300\n",
                      "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
                      "@1 switch 1, switch 2, run 1:10, run 2:20\n"
                      "@2 run 1:11\n");
    sched_destroy(s);
}

/* Job 2 comes after job 1 had three kernels: it gets every second one, not three in a row. */
Test(shares, who_was_idle_has_saved_nothing) {
    struct sched *s = make(1);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(1,1) +2(1,1)\n"
                      "@1 1:10#c8*300 1:11#c8*300 1:12#c8*300 1:13#c8*300 1:14#c8*300\n"
                      "@2 1=10*300\n@3 1=11*300\n@4 2:20#c8*400 2:21#c8*400\n@5 1=12*300\n"
                      "@6 2=20*400\n",
                      "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
                      "@1 switch 1, run 1:10\n"
                      "@2 run 1:11\n@3 run 1:12\n@4 switch 2\n@5 run 2:20\n@6 run 1:13\n");
    sched_destroy(s);
}

/* ---- at random ------------------------------------------------------------------------------- */

#define KERNELS 2000
#define LONGEST_NS 5000

struct backlog {
    uint64_t ns[3][KERNELS], served_ns[3];
    uint32_t given[3], running;
};

static struct sched_event next_of(struct backlog *b, uint32_t job) {
    uint32_t n = b->given[job]++;
    b->ns[job][n] = 1000 + (uint64_t)rand() % (LONGEST_NS - 1000);
    struct sched_kernel kernel = {.mean_ns = b->ns[job][n], .sms = 8, .class = SCHED_CLASS_COMPUTE};
    return (struct sched_event){
        .kind = SCHED_SUBMITTED, .job = job, .submitted = {.op = n, .kernel = kernel}};
}

/* The weighted service of two jobs never differs by more than one operation of each. */
static void expect_fair(const struct backlog *b, uint32_t weight) {
    int64_t apart = (int64_t)b->served_ns[1] - (int64_t)(b->served_ns[2] / weight);
    cr_assert_leq(llabs(apart), LONGEST_NS + LONGEST_NS / weight + KERNELS,
                  "%lld ns apart after %u and %u kernels", (long long)apart, b->given[1],
                  b->given[2]);
}

static void serve(uint32_t weight) {
    struct sched *s = make(1);
    struct backlog *b = calloc(1, sizeof(*b));
    struct sched_event events[8] = {
        {.kind = SCHED_JOINED, .job = 1, .spec = {.ephemeral_bytes = 1}},
        {.kind = SCHED_JOINED, .job = 2, .spec = {.ephemeral_bytes = 1, .weight = weight}}};
    struct sched_actions out;
    uint64_t now_ns = 0;
    uint32_t count = 2;
    for (uint32_t job = 1; job <= 2; job++)
        for (uint32_t i = 0; i < 3; i++)
            events[count++] = next_of(b, job);
    while (count) {
        cr_assert_eq(sched_step(s, now_ns, events, count, &out), 0);
        count = 0;
        for (uint32_t i = 0; i < out.count; i++) {
            const struct sched_action *a = &out.items[i];
            if (a->kind != SCHED_RUN) continue;
            uint64_t ns = b->ns[a->job][a->op];
            now_ns += ns;
            b->served_ns[a->job] += ns;
            expect_fair(b, weight);
            events[count++] = (struct sched_event){
                .kind = SCHED_DONE, .job = a->job, .done = {.op = a->op, .busy_ns = ns}};
            if (b->given[a->job] == KERNELS) goto over;
            events[count++] = next_of(b, a->job);
        }
    }
over:
    cr_assert_geq(b->given[1] + b->given[2], KERNELS);
    free(b);
    sched_destroy(s);
}

Test(shares, each_gets_its_part_whatever_its_kernels_are) {
    for (uint32_t weight = 1; weight <= 8; weight++) {
        srand(weight);
        serve(weight);
    }
}
