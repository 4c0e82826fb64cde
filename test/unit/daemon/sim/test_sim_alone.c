/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs alone, and the cost of other jobs for them, in times computed by hand.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/report/alone.h"
#include "daemon/sim/report/refused.h"
#include "daemon/sim/report/summary.h"
#include "daemon/sim/run/sim_run.h"
#include "daemon/sim/verbs/simcli.h"
#include "daemon/sim/verbs/simcli_exit.h"
#include "daemon/sim/workload/workload_file.h"

#define MS 1000000ull

/* Two trainers that each would fill the device, a service, and a job that is too large. */
static const char mixed[] =
    "device memory=1GiB\n"
    "job name=short persistent=1MiB ephemeral=1MiB iterations=10 iteration=10ms\n"
    "job name=long arrival=5ms persistent=1MiB ephemeral=1MiB iterations=30 iteration=10ms\n"
    "job name=server persistent=1MiB ephemeral=1MiB iterations=4 iteration=2ms think=30ms\n"
    "job name=huge persistent=2GiB ephemeral=1MiB iterations=4 iteration=2ms\n";

struct runs {
    struct workload w;
    struct sim_result *alone, *fair;
};

static struct runs run(const char *text) {
    struct runs runs = {.alone = malloc(sizeof(*runs.alone)), .fair = malloc(sizeof(*runs.fair))};
    struct sim_config config = {.policy = {.lane = "fair", .exclusive = -1, .swap = -1}, .seed = 7};
    struct buf errors;
    char why[SIM_WHY_BYTES];
    buf_init(&errors);
    cr_assert_eq(workload_parse(&runs.w, text, strlen(text), &errors), 0, "%s", buf_str(&errors));
    buf_finish(&errors);
    cr_assert_eq(alone_run(runs.alone, &runs.w, &config, why), 0, "%s", why);
    cr_assert_eq(sim_run(runs.fair, &runs.w, &config, why), 0, "%s", why);
    return runs;
}

static void finish(struct runs *runs) {
    sim_result_finish(runs->alone);
    sim_result_finish(runs->fair);
    free(runs->alone);
    free(runs->fair);
    workload_finish(&runs->w);
}

static uint32_t find(const struct runs *runs, const char *name) {
    for (uint32_t i = 0; i < runs->w.count; i++)
        if (strcmp(runs->w.jobs[i].name, name) == 0) return i;
    cr_assert_fail("no job %s", name);
    return 0;
}

Test(sim_alone, each_job_has_the_device_to_itself) {
    struct runs runs = run(mixed);
    uint32_t shorter = find(&runs, "short"), longer = find(&runs, "long");
    cr_expect_eq(runs.alone->jobs[shorter].end_ns, 100 * MS);
    cr_expect_eq(runs.alone->jobs[longer].end_ns, 305 * MS);
    /* 100 + 300, and four requests with three pauses between them */
    cr_expect_eq(runs.alone->end_ns - runs.alone->begin_ns, 100 * MS + 300 * MS + 98 * MS);
    cr_expect_eq(runs.alone->refused, 1);
    cr_expect_eq(runs.alone->latency.count, 4);
    finish(&runs);
}

Test(sim_alone, a_slowdown_is_of_the_end_or_of_requests) {
    struct runs runs = run(mixed);
    uint32_t shorter = find(&runs, "short"), server = find(&runs, "server");
    const struct sim_job_result *r = &runs.fair->jobs[shorter], *s = &runs.fair->jobs[server];
    double ended = (double)r->end_ns / (double)(100 * MS), asked = s->latency_ns / 4 / (2.0 * MS);
    cr_expect_gt(ended, 1.5);
    cr_expect_gt(asked, 1.5);
    cr_expect_float_eq(alone_slowdown(runs.alone, runs.fair, &runs.w, shorter), ended, 1e-9);
    cr_expect_float_eq(alone_slowdown(runs.alone, runs.fair, &runs.w, server), asked, 1e-9);
    cr_expect_eq(alone_slowdown(runs.alone, runs.fair, &runs.w, find(&runs, "huge")), 0);
    finish(&runs);
}

Test(sim_alone, the_end_of_a_server_is_in_no_completion_time) {
    struct runs runs = run(mixed);
    struct summary all, alone;
    double ends = (double)(runs.fair->jobs[find(&runs, "short")].end_ns +
                           runs.fair->jobs[find(&runs, "long")].end_ns - 5 * MS);
    cr_assert_eq(summary_make(&all, "fair", &runs.w, runs.fair, runs.alone), 0);
    cr_assert_eq(summary_make(&alone, "alone", &runs.w, runs.alone, runs.alone), 0);
    cr_expect_float_eq(all.jct_mean_s, ends / 2 / 1e9, 1e-9);
    cr_expect_eq(all.jobs, 3);
    cr_expect_eq(all.jobs_serving, 1);
    cr_expect_float_eq(alone.jct_mean_s, 0.2, 1e-9);
    cr_expect_float_eq(alone.slowdown_worst, 1, 1e-9);
    cr_expect_geq(all.slowdown_worst, all.slowdown_mean);
    cr_expect_gt(all.slowdown_mean, 1.2);
    finish(&runs);
}

/* The job's host computes between iterations, and the iterations are no requests. */
Test(sim_alone, the_end_of_a_training_with_pauses_is_a_completion_time) {
    struct runs runs = run("device memory=1GiB\n"
                           "job name=training persistent=1MiB ephemeral=1MiB iterations=10 "
                           "iteration=10ms host=5ms\n");
    struct summary alone;
    cr_assert_eq(summary_make(&alone, "alone", &runs.w, runs.alone, runs.alone), 0);
    cr_expect_float_eq(alone.jct_mean_s, 0.145, 1e-9, "%f", alone.jct_mean_s);
    cr_expect_eq(alone.jobs_serving, 0);
    finish(&runs);
}

Test(sim_alone, what_the_run_stopped_in_is_compared_by_what_was_done) {
    struct runs runs = run("device memory=1GiB until=100ms\n"
                           "job name=a persistent=1MiB ephemeral=1MiB iteration=10ms\n"
                           "job name=b persistent=1MiB ephemeral=1MiB iteration=10ms\n");
    cr_expect_eq(runs.alone->jobs[0].iterations, 9); /* the tenth iteration ends as the run stops */
    cr_expect_gt(alone_slowdown(runs.alone, runs.fair, &runs.w, 0), 1.7);
    cr_expect_lt(alone_slowdown(runs.alone, runs.fair, &runs.w, 0), 2.6);
    finish(&runs);
}

Test(sim_alone, a_refusal_has_its_figures) {
    struct runs runs = run(mixed);
    char why[REFUSED_BYTES];
    uint32_t huge = find(&runs, "huge");
    cr_expect(refused_why(&runs.w, &runs.fair->jobs[huge], huge, why));
    cr_expect_str_eq(why, "needs more memory than the device has: 2 GiB persistent + 1 MiB "
                          "ephemeral needed, the device has 1 GiB");
    cr_expect_not(refused_why(&runs.w, &runs.fair->jobs[0], 0, why));
    cr_expect_str_empty(why);
    finish(&runs);
}

/* ---- the command line ------------------------------------------------------------------------ */

static char *said(const char *text, char *const *options, int *status) {
    char path[] = "/tmp/salus-alone-XXXXXX", *argv[16] = {"salus-sim", "run", path}, *out = NULL;
    size_t bytes;
    int argc = 3, fd = mkstemp(path);
    FILE *file = fdopen(fd, "w"), *f = open_memstream(&out, &bytes);
    fputs(text, file);
    fclose(file);
    for (; *options; options++)
        argv[argc++] = *options;
    *status = simcli_main(f, f, argc, argv);
    fclose(f);
    remove(path);
    return out;
}

Test(sim_alone, run_says_what_each_job_loses_and_why_one_is_refused) {
    char *options[] = {"--policy", "fair", NULL};
    int status;
    char *out = said(mixed, options, &status);
    cr_expect_eq(status, SIMCLI_OK);
    cr_expect_not_null(strstr(out, "\nalone "), "%s", out);
    cr_expect_not_null(strstr(out, "\nshort                    job            0.100 s "), "%s",
                       out);
    cr_expect_not_null(strstr(out, "\nserver                   request       2.000 ms "), "%s",
                       out);
    cr_expect_not_null(strstr(out, "\nfair refuses huge: needs more memory than the device has: 2 "
                                   "GiB persistent"),
                       "%s", out);
    free(out);
}

Test(sim_alone, more_than_a_thousand_jobs_have_no_times_alone) {
    char *options[] = {"--policy", "fifo", "--json", NULL}, *text = NULL;
    size_t bytes;
    int status;
    FILE *f = open_memstream(&text, &bytes);
    for (uint32_t i = 0; i <= ALONE_JOBS; i++)
        fputs("job name=j persistent=1MiB ephemeral=1MiB iterations=1 iteration=1ms\n", f);
    fclose(f);
    char *out = said(text, options, &status);
    cr_expect_eq(status, SIMCLI_OK);
    cr_expect_not_null(strstr(out, "\"alone\":null"), "%s", out);
    cr_expect_not_null(strstr(out, "\"slowdown_mean\":0.000"), "%s", out);
    free(out);
    free(text);
}
