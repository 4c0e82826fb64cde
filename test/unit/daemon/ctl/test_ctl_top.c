/* SPDX-License-Identifier: Apache-2.0
 *
 * The shares of jobs between two samples, and the workload made from a recording. Pure functions.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl/record/recording.h"
#include "daemon/ctl/verbs/top_draw.h"

#define NEAR(a, b) (fabs((a) - (b)) < 1e-9)

static struct ctl_job jobs[2][4];
static struct ctl_gpu gpus[2];
static struct top_view before, now;

/* Four jobs: two in lane 0 with weights 3 and 1, one alone in lane 1, one that waits; the
 * samples are a second apart. */
static void setup(void) {
    for (int look = 0; look < 2; look++)
        for (int i = 0; i < 4; i++) {
            struct ctl_job *j = &jobs[look][i];

            j->id = (uint64_t)i + 1;
            j->weight = i == 0 ? 3 : 1;
            j->lane = i == 3 ? 0 : i == 2 ? 2 : 1;
            strcpy(j->state, i == 3 ? "waiting" : "running");
        }
    gpus[1].id = 1;
    strcpy(gpus[0].lane_policy, "fair");
    strcpy(gpus[1].lane_policy, "fair");
    before = (struct top_view){
        .at_ns = 5000000000,
        .gpus = {.kind = CTL_RECORD_GPU,
                 .record_bytes = sizeof(struct ctl_gpu),
                 .count = 1,
                 .records = (char *)gpus},
        .jobs = {.kind = CTL_RECORD_JOB, .record_bytes = sizeof(struct ctl_job), .count = 4}};
    now = before;
    now.at_ns += 2000000000;
    before.jobs.records = (char *)jobs[0];
    now.jobs.records = (char *)jobs[1];
    jobs[1][0].busy_ns = 600000000;
    jobs[1][1].busy_ns = 200000000;
    jobs[1][2].busy_ns = 2000000000;
    jobs[1][0].iterations = 8;
}

TestSuite(top, .init = setup);

static struct top_rate rate_of(int i, bool first) {
    struct top_rate r;

    top_rate(first ? NULL : &before, &now, &jobs[1][i], &r);
    return r;
}

Test(top, shares_are_of_the_device_and_so_is_what_is_due) {
    struct top_rate r = rate_of(0, false);

    cr_assert(NEAR(r.share, 6 / 28.) && NEAR(r.entitled, 0.6), "%f %f", r.share, r.entitled);
    cr_assert(NEAR(r.busy, 0.3) && NEAR(r.iterations, 4), "%f %f", r.busy, r.iterations);
    r = rate_of(1, false);
    cr_assert(NEAR(r.share, 2 / 28.) && NEAR(r.entitled, 0.2));
    r = rate_of(2, false);
    cr_assert(NEAR(r.share, 20 / 28.) && NEAR(r.entitled, 0.2) && NEAR(r.busy, 1));
}

Test(top, shares_are_of_one_gpu) {
    now.gpus.count = 2;
    jobs[0][1].gpu = jobs[1][1].gpu = 1;
    cr_assert(NEAR(rate_of(0, false).share, 6 / 26.) && NEAR(rate_of(0, false).entitled, 0.75));
    cr_assert(NEAR(rate_of(1, false).share, 1) && NEAR(rate_of(1, false).entitled, 1));
}

Test(top, nothing_is_due_where_nothing_goes_by_weight) {
    strcpy(gpus[0].lane_policy, "pack");
    cr_assert(NEAR(rate_of(0, false).share, 6 / 28.) && rate_of(0, false).entitled < 0);
}

/* A job that waits for the device competes for it; one that sleeps does not. */
Test(top, who_sleeps_is_due_nothing) {
    jobs[1][2].busy_ns = 0;
    cr_assert(NEAR(rate_of(0, false).entitled, 0.75) && rate_of(2, false).entitled < 0);
    strcpy(jobs[1][2].why, "waits for its turn");
    cr_assert(NEAR(rate_of(0, false).entitled, 0.6) && NEAR(rate_of(2, false).entitled, 0.2));
}

Test(top, each_gpu_has_its_own_jobs_below_it) {
    const char *second;
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    now.gpus.count = 2;
    for (int i = 0; i < 4; i++)
        jobs[1][i].lane = 0;
    strcpy(jobs[1][0].name, "on_the_first");
    strcpy(jobs[1][1].name, "on_the_second");
    jobs[1][1].gpu = 1;
    strcpy(gpus[1].lane_policy, "srtf");
    top_draw(f, 400, &before, &now);
    fclose(f);
    second = strstr(text, "GPU 1 ");
    cr_assert_not_null(second, "%s", text);
    cr_expect(strstr(text, "on_the_first") && strstr(text, "on_the_first") < second, "%s", text);
    cr_expect_null(strstr(second, "on_the_first"), "%s", text);
    cr_expect(strstr(second, "on_the_second") && strstr(second, "policy srtf"), "%s", text);
    cr_expect_eq(strstr(text, "on_the_second"), strstr(second, "on_the_second"), "%s", text);
    free(text);
}

Test(top, who_does_not_compete_is_due_nothing_and_takes_nothing_from_others) {
    struct top_rate r = rate_of(3, false);

    cr_assert(NEAR(r.share, 0) && r.entitled < 0 && NEAR(r.busy, 0));
    strcpy(jobs[1][1].state, "paused");
    cr_assert(NEAR(rate_of(0, false).entitled, 0.75));
    cr_assert(rate_of(1, false).entitled < 0);
    cr_assert(NEAR(rate_of(1, false).share, 2 / 28.), "what it got before it was paused");
}

Test(top, the_first_look_says_nothing_of_rates) {
    struct top_rate r = rate_of(0, true);

    cr_assert(r.share < 0 && r.busy < 0 && r.iterations < 0);
    cr_assert(NEAR(r.entitled, 0.6));
}

Test(top, a_new_job_began_at_nothing_and_a_counter_that_fell_counts_nothing) {
    jobs[0][1].id = 99;
    cr_assert(NEAR(rate_of(1, false).share, 2 / 28.));
    cr_assert(rate_of(1, false).iterations < 0, "since when is not known");
    jobs[0][0].busy_ns = 900000000;
    cr_assert(NEAR(rate_of(0, false).share, 0));
}

Test(top, targets_are_below_the_jobs_they_are_of) {
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    for (int i = 0; i < 4; i++)
        jobs[1][i].lane = 0;
    jobs[1][0].slo_ns = 90000000;
    strcpy(jobs[1][0].slo_of, "p99");
    jobs[1][0].measured_ns = 95000000;
    jobs[1][0].periods = 12;
    jobs[1][0].violations = 3;
    jobs[1][0].stuck = 2;
    jobs[1][1].pause_ns = 250000000;
    jobs[1][1].sms = 7;
    strcpy(gpus[0].control_policy, "gpucolo");
    top_draw(f, 400, &before, &now);
    fclose(f);
    cr_expect(strstr(text, " + gpucolo "), "%s", text);
    cr_expect(strstr(text, "target p99 90 ms, measured 95 ms; exceeded in 3 of 12 periods, other "
                           "jobs could give up no more in 2\n"),
              "%s", text);
    cr_expect(strstr(text, "pauses for 250 ms after each iteration, for another job's target\n"),
              "%s", text);
    cr_expect(strstr(text, "may use 7 multiprocessors\n"), "%s", text);
    free(text);
}

Test(top, lines_are_cut_to_the_width) {
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    memset(jobs[1][0].why, 'w', CTL_TEXT_BYTES - 1);
    top_draw(f, 40, &before, &now);
    fclose(f);
    for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
        cr_assert_leq(end - p, 40);
    free(text);
}

/* The name is truncated before its tag; a long-running operation is shown beside it. */
Test(top, a_job_that_is_not_computed_says_so_in_its_line) {
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    for (int i = 0; i < 4; i++)
        jobs[1][i].lane = 0;
    strcpy(jobs[1][0].name, "a_long_name (not computed)");
    strcpy(jobs[1][0].mode, "null");
    strcpy(jobs[1][1].mode, "null");
    strcpy(jobs[1][1].why, "waits for its turn");
    strcpy(jobs[1][2].mode, "compute");
    top_draw(f, 400, &before, &now);
    fclose(f);
    cr_expect(strstr(text, " not computed\n"), "%s", text);
    cr_expect(strstr(text, " not computed; waits for its turn\n"), "%s", text);
    const char *second = strstr(strstr(text, "not computed") + 1, "not computed");
    cr_expect_null(strstr(second + 1, "not computed"), "the others are computed: %s", text);
    free(text);
}

/* ---- recordings ------------------------------------------------------------------------------ */

static struct recording recording;
static char *text;

static const char *written(uint64_t now_ns) {
    size_t n;
    FILE *f = open_memstream(&text, &n);

    recording_write(&recording, f, now_ns);
    fclose(f);
    return text;
}

static struct ctl_job job(uint64_t id, const char *name, uint64_t since_ns) {
    struct ctl_job j = {.id = id,
                        .since_ns = since_ns,
                        .weight = 1,
                        .busy_ns = 3000000000,
                        .iterations = 30,
                        .iteration_ns = 100000000,
                        .persistent_peak_bytes = 4u << 20,
                        .ephemeral_peak_bytes = 6u << 20};

    snprintf(j.name, sizeof(j.name), "%s", name);
    strcpy(j.boundaries, "period");
    return j;
}

static void teardown(void) {
    recording_finish(&recording);
    free(text);
}

TestSuite(recording, .fini = teardown);

Test(recording, arrivals_are_counted_from_the_first_and_names_are_cleaned) {
    struct ctl_job a = job(1, "my job#1=x", 7000000000), b = job(2, "", 5500000000);

    a.weight = 2;
    a.priority = -3;
    recording_see(&recording, &a);
    recording_see(&recording, &b);
    cr_assert_str_eq(written(0),
                     "# recorded by salusctl\n"
                     "job name=my_job_1_x arrival=1500ms persistent=4MiB ephemeral=6MiB "
                     "iterations=30 iteration=100ms hint=none weight=2 priority=-3\n"
                     "job name=job arrival=0 persistent=4MiB ephemeral=6MiB iterations=30 "
                     "iteration=100ms hint=none\n",
                     "%s", text);
}

Test(recording, the_end_counts_and_what_it_lacks_was_seen_before) {
    struct ctl_job a = job(1, "a", 1000);
    struct ctl_ended e = {.id = 1,
                          .since_ns = 1000,
                          .weight = 1,
                          .busy_ns = 78000000,
                          .iterations = 77,
                          .iteration_ns = 5,
                          .iteration_milli = 500,
                          .persistent_peak_bytes = 9};

    strcpy(e.name, "a");
    strcpy(a.group, "pair");
    a.planned_iterations = 78;
    recording_see(&recording, &a);
    recording_see_ended(&recording, &e);
    a.iterations = 5; /* an older sample that arrives late */
    recording_see(&recording, &a);
    cr_assert_str_eq(written(0),
                     "# recorded by salusctl\n"
                     "job name=a arrival=0 persistent=9 ephemeral=0 iterations=78 iteration=2ms "
                     "demand=0.500 hint=iterations group=1\n",
                     "%s", text);
}

Test(recording, groups_get_numbers_by_user_and_name) {
    struct ctl_job a = job(1, "a", 0), b = job(2, "b", 0), c = job(3, "c", 0), d = job(4, "d", 0);

    strcpy(a.group, "x");
    strcpy(c.group, "x");
    strcpy(d.group, "x");
    d.uid = 5;
    recording_see(&recording, &b);
    recording_see(&recording, &a);
    recording_see(&recording, &c);
    recording_see(&recording, &d);
    written(0);
    cr_assert_not_null(strstr(text, "name=a arrival=0 persistent=4MiB ephemeral=6MiB "
                                    "iterations=30 iteration=100ms hint=none group=2\n"));
    cr_assert_not_null(strstr(strstr(text, "name=c"), "group=2\n"));
    cr_assert_not_null(strstr(strstr(text, "name=d"), "group=4 user=3\n"));
    cr_assert_null(memmem(text, (size_t)(strchr(strstr(text, "name=b"), '\n') - text), "group", 5));
}

Test(recording, without_boundaries_it_is_one_iteration_and_nothing_is_a_comment) {
    struct ctl_job a = job(1, "a", 0), b = job(2, "b", 0);
    struct ctl_ended refused = {.id = 3, .how = "refused", .name = "c", .since_ns = 4};

    a.iterations = 0;
    b.busy_ns = 0;
    recording_see(&recording, &a);
    recording_see(&recording, &b);
    recording_see_ended(&recording, &refused);
    cr_assert_str_eq(written(0),
                     "# recorded by salusctl\n"
                     "job name=a arrival=0 persistent=4MiB ephemeral=6MiB iterations=1 "
                     "iteration=3s hint=none boundaries=no\n"
                     "# b, job 2: the job did nothing on the device\n"
                     "# c, job 3: the job was refused\n",
                     "%s", text);
}

Test(recording, requests_have_their_time_to_think) {
    struct ctl_job a = job(1, "server", 1000000000);

    strcpy(a.boundaries, "idle gaps");
    a.waited_ns = 1000000000;
    /* thinks 900 ms, which does not lengthen the iteration */
    a.demand_milli = a.iteration_milli = 100;
    recording_see(&recording, &a);
    cr_assert_not_null(strstr(written(11000000000), " iteration=100ms think=200ms hint=none\n"),
                       "%s", text);
}

Test(recording, the_host_before_iterations_is_no_request) {
    struct ctl_job a = job(1, "a", 0);

    a.demand_milli = 100; /* uses 100 ms of the device per second; an iteration is 200 ms */
    a.iteration_milli = 500;
    recording_see(&recording, &a);
    cr_assert_not_null(strstr(written(0), " iteration=200ms demand=0.500 host=800ms hint=none\n"),
                       "%s", text);
}

Test(recording, memory_is_what_it_is_admitted_by) {
    struct ctl_job a = job(1, "a", 0), b = job(2, "b", 0);

    strcpy(a.reservation, "given");
    strcpy(b.reservation, "assumed");
    a.persistent_bytes = b.persistent_bytes = 32u << 20;
    a.planned_ns = 1;
    recording_see(&recording, &a);
    recording_see(&recording, &b);
    cr_assert_not_null(strstr(written(0), "name=a arrival=0 persistent=32MiB ephemeral=6MiB "
                                          "iterations=30 iteration=100ms\n"));
    cr_assert_not_null(strstr(text, "name=b arrival=0 persistent=4MiB ephemeral=6MiB "));
}
