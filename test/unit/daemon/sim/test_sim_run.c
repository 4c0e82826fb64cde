/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole runs: the scheduler and the simulated device together. Invariants of every run under any
 * policy, and the results of single features in times computed by hand.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/prng.h"
#include "daemon/sim/report/summary.h"
#include "daemon/sim/report/trace.h"
#include "daemon/sim/run/sim.h"
#include "daemon/sim/run/sim_run.h"
#include "daemon/sim/workload/generate.h"
#include "daemon/sim/workload/workload_file.h"

#define MS 1000000ull

static const char *const policies[] = {"fifo", "pack", "srtf", "fair"};

static struct workload load(const char *text) {
    struct workload w;
    struct buf errors;
    buf_init(&errors);
    int err = workload_parse(&w, text, strlen(text), &errors);
    cr_assert_eq(err, 0, "%s", buf_str(&errors));
    buf_finish(&errors);
    return w;
}

static struct sim_config config_of(const char *policy) {
    struct sim_config c = {.policy = {.exclusive = -1, .swap = -1}, .seed = 7, .check = true};
    snprintf(c.policy.lane, POLICY_NAME_BYTES, "%s", policy);
    return c;
}

static struct sim_result *run(const struct workload *w, const struct sim_config *config) {
    struct sim_result *r = malloc(sizeof(*r));
    char why[SIM_WHY_BYTES];
    int err = sim_run(r, w, config, why);
    cr_assert_eq(err, 0, "%s: %s", config->policy.lane, why);
    return r;
}

static void finish(struct sim_result *r) {
    sim_result_finish(r);
    free(r);
}

/* The trace of a run; the caller frees it. */
static char *traced(const struct workload *w, struct sim_config config) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    struct sim_watch watch = {.self = f, .began = trace_began, .stepped = trace_stepped};
    config.watches = &watch;
    config.watches_count = 1;
    finish(run(w, &config));
    fclose(f);
    return text;
}

static void expect_end(const struct sim_result *r, uint32_t job, uint64_t ns) {
    cr_expect_eq(r->jobs[job].end_ns, ns, "job %u ended at %lu, not %lu", job,
                 (unsigned long)r->jobs[job].end_ns, (unsigned long)ns);
}

/* ---- invariants of every run
 * ------------------------------------------------------------------ */

static void expect_sound(const struct workload *w, const struct sim_result *r, const char *policy) {
    double busy = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct workload_job *j = &w->jobs[i];
        const struct sim_job_result *o = &r->jobs[i];
        if (o->refused) continue;
        cr_assert_eq(o->iterations, j->iterations, "%s: %u", policy, i);
        cr_assert_geq(o->admitted_ns, j->arrival_ns);
        cr_assert_geq(o->first_run_ns, o->admitted_ns);
        uint64_t alone =
            j->iterations * (j->iteration_ns - j->iteration_ns / 1000 * j->jitter_milli);
        cr_assert_geq(o->end_ns - o->first_run_ns, alone, "%s: %u was too fast", policy, i);
        busy += (double)o->busy_ns;
    }
    cr_assert_leq(busy, r->active_ns * (1 + 1e-9), "%s: more than the device has", policy);
    cr_assert_leq(r->active_ns, (double)(r->end_ns - r->begin_ns));
    cr_assert_eq(busy, r->busy_ns);
}

static void random_file(FILE *f, uint64_t seed) {
    uint32_t n = 2 + (uint32_t)(prng_at(seed, 0, 0) % 40);
    fprintf(f, "device memory=%uMiB link=1GiB/s\n", 300 + (unsigned)(prng_at(seed, 0, 1) % 2000));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t r = prng_at(seed, 1, i), q = prng_at(seed, 2, i);
        fprintf(f,
                "job name=j arrival=%ums persistent=%uMiB ephemeral=%uMiB iterations=%u "
                "iteration=%uus demand=0.%u jitter=0.%u weight=%u priority=%d group=%u hint=%s "
                "unknown=%s boundaries=%s",
                (unsigned)(r % 900), (unsigned)(r >> 10) % 120, (unsigned)(r >> 20) % 400,
                1 + (unsigned)(r >> 30) % 25, 1 + (unsigned)(r >> 40) % 30000,
                1 + (unsigned)(q % 9), (unsigned)(q >> 8) % 9, 1 + (unsigned)(q >> 16) % 3,
                (q >> 20) % 8 ? 0 : (int)((q >> 24) % 3) - 1,
                (q >> 28) % 4 ? 0 : 1 + (unsigned)(q >> 30) % 2,
                (q >> 32) % 3 == 0   ? "none"
                : (q >> 32) % 3 == 1 ? "iterations"
                                     : "duration",
                (q >> 36) % 6 ? "no" : "yes", (q >> 40) % 8 ? "yes" : "no");
        if ((q >> 44) % 4 == 0) fprintf(f, " think=exp(%ums)", 1 + (unsigned)(q >> 46) % 30);
        if ((q >> 50) % 6 == 0) fprintf(f, " admit_timeout=%ums", 1 + (unsigned)(q >> 52) % 900);
        fputc('\n', f);
    }
}

static void run_random(uint64_t seed) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    random_file(f, seed);
    fclose(f);
    struct workload w = load(text);
    for (size_t p = 0; p < 4; p++) {
        struct sim_config config = config_of(policies[p]);
        uint64_t bits = prng_at(seed, 3, p);
        config.policy.swap = bits & 1;
        config.policy.exclusive = (int)((bits >> 1) % 3) - 1;
        config.policy.max_lanes = (uint32_t)(bits >> 8) % 4;
        config.policy.overtakes = (uint32_t)(bits >> 12) % 5;
        config.policy.lease_ns = (bits >> 16) % 2 ? 20 * MS : 0;
        struct sim_result *r = malloc(sizeof(*r));
        char why[SIM_WHY_BYTES];
        int err = sim_run(r, &w, &config, why);
        cr_assert_eq(err, 0, "seed %lu, %s: %s", (unsigned long)seed, policies[p], why);
        expect_sound(&w, r, policies[p]);
        finish(r);
    }
    workload_finish(&w);
    free(text);
}

Test(sim_run, random_workloads_keep_every_rule_under_every_policy, .timeout = 600) {
    for (uint64_t seed = 1; seed <= 250; seed++)
        run_random(seed);
}

/* The random numbers of a job do not depend on the other jobs, nor on the policy. */
Test(sim_run, the_same_work_under_every_policy) {
    struct generate_config g = {.kind = "random", .seed = 3, .jobs = 60, .iterations = 20};
    struct workload w;
    struct buf errors;
    double busy[4];
    buf_init(&errors);
    cr_assert_eq(generate(&w, &g, &errors), 0);
    for (uint32_t i = 0; i < w.count; i++)
        w.jobs[i].jitter_milli = 200;
    for (size_t p = 0; p < 4; p++) {
        struct sim_config config = config_of(policies[p]);
        struct sim_result *r = run(&w, &config);
        expect_sound(&w, r, policies[p]);
        busy[p] = r->busy_ns;
        finish(r);
    }
    cr_expect(busy[0] == busy[1] && busy[1] == busy[2] && busy[2] == busy[3]);
    workload_finish(&w);
    buf_finish(&errors);
}

Test(sim_run, the_same_seed_gives_the_same_bytes_and_another_does_not) {
    struct workload w = load("device memory=1GiB\n"
                             "job name=a persistent=1MiB ephemeral=400MiB iterations=30 "
                             "iteration=3ms jitter=0.3 think=exp(2ms)\n"
                             "job name=b persistent=1MiB ephemeral=400MiB iterations=30 "
                             "iteration=5ms jitter=0.3 demand=0.7\n"
                             "job name=c arrival=20ms persistent=1MiB ephemeral=600MiB "
                             "iterations=30 iteration=2ms jitter=0.3\n");
    for (size_t p = 0; p < 4; p++) {
        struct sim_config config = config_of(policies[p]);
        char *a = traced(&w, config), *b = traced(&w, config);
        config.seed++;
        char *c = traced(&w, config);
        cr_expect_str_eq(a, b);
        cr_expect_str_neq(a, c);
        free(a);
        free(b);
        free(c);
    }
    workload_finish(&w);
}

/* ---- times computed by hand ------------------------------------------------------------------ */

#define TWO                                                                       \
    "job name=long persistent=1MiB ephemeral=1GiB iterations=4 iteration=100ms\n" \
    "job name=short arrival=150ms persistent=1MiB ephemeral=1GiB iterations=2 iteration=50ms\n"

static struct sim_result *run_two(const char *policy, struct workload *w) {
    struct sim_config config = config_of(policy);
    *w = load(TWO);
    return run(w, &config);
}

Test(sim_run, fifo_runs_one_after_the_other) {
    struct workload w;
    struct sim_result *r = run_two("fifo", &w);
    expect_end(r, 0, 400 * MS);
    expect_end(r, 1, 500 * MS);
    cr_expect_eq(r->jobs[1].first_run_ns, 400 * MS);
    cr_expect_eq(r->running_ns, 500.0 * MS);
    finish(r);
    workload_finish(&w);
}

Test(sim_run, srtf_lets_the_shorter_one_pass_at_the_boundary) {
    struct workload w;
    struct sim_result *r = run_two("srtf", &w);
    cr_expect_eq(r->jobs[1].first_run_ns, 200 * MS);
    expect_end(r, 1, 300 * MS);
    expect_end(r, 0, 500 * MS);
    finish(r);
    workload_finish(&w);
}

/* In two lanes, at half speed each while both run: at 150 ms the long job is in the middle of
 * its second iteration. The short one ends 200 ms later, with 100 ms of the long one done
 * meanwhile. */
Test(sim_run, pack_runs_both_side_by_side) {
    struct workload w;
    struct sim_result *r = run_two("pack", &w);
    cr_expect_eq(r->jobs[1].first_run_ns, 150 * MS);
    expect_end(r, 1, 350 * MS);
    expect_end(r, 0, 500 * MS);
    cr_expect_eq(r->lanes_ns, 700.0 * MS);
    cr_expect_eq(r->running_ns, 700.0 * MS);
    finish(r);
    workload_finish(&w);
}

/* In one lane the jobs alternate by device time. */
Test(sim_run, fair_shares_a_lane_by_device_time) {
    struct workload w =
        load("job name=a persistent=1MiB ephemeral=1GiB iterations=100 iteration=10ms\n"
             "job name=b persistent=1MiB ephemeral=1GiB iterations=25 iteration=40ms\n");
    struct sim_config config = config_of("fair");
    config.policy.max_lanes = 1;
    struct sim_result *r = run(&w, &config);
    cr_expect_eq(r->end_ns, 2000 * MS);
    cr_expect_geq(r->jobs[0].end_ns, 1900 * MS);
    cr_expect_geq(r->jobs[1].end_ns, 1900 * MS);
    cr_expect_eq(r->running_ns, 2000.0 * MS);
    finish(r);
    workload_finish(&w);
}

Test(sim_run, think_time_leaves_the_device_to_others_and_counts_as_latency_of_requests_only) {
    struct workload w =
        load("job name=a persistent=1MiB ephemeral=1GiB iterations=3 iteration=10ms think=90ms\n");
    struct sim_config config = config_of("fair");
    struct sim_result *r = run(&w, &config);
    expect_end(r, 0, 210 * MS);
    cr_expect_eq(r->latency.count, 3);
    cr_expect_eq(r->latency.sum_ns, 30.0 * MS);
    cr_expect_eq(r->latency_alone_ns, 30.0 * MS);
    cr_expect_eq(r->active_ns, 30.0 * MS);
    finish(r);
    workload_finish(&w);
}

Test(sim_run, demand_is_what_is_charged) {
    struct workload w =
        load("job name=a persistent=1MiB ephemeral=1GiB iterations=3 iteration=10ms demand=0.25\n");
    struct sim_config config = config_of("fifo");
    struct sim_result *r = run(&w, &config);
    expect_end(r, 0, 30 * MS);
    cr_expect_eq(r->jobs[0].busy_ns, 7500000);
    finish(r);
    workload_finish(&w);
}

/* Records when the latest job was reported to have its memory. */
static void note_held(void *self, uint64_t now_ns, const struct sched_event *events, uint32_t count,
                      const struct sched_actions *actions) {
    uint64_t *held_ns = self;
    (void)actions;
    for (uint32_t i = 0; i < count; i++)
        if (events[i].kind == SCHED_HELD) *held_ns = now_ns;
}

/* At the boundary 2 GiB are swapped out in 2 s, then the short job runs; swapping in takes 2 s. */
Test(sim_run, swapping_costs_bytes_over_the_link) {
    struct workload w = load("device memory=4GiB link=1GiB/s\n"
                             "job name=a persistent=2GiB ephemeral=1GiB iterations=3 iteration=1s\n"
                             "job name=b arrival=1ms persistent=2GiB ephemeral=1GiB iterations=1 "
                             "iteration=100ms\n");
    struct sim_config config = config_of("srtf");
    uint64_t held_ns = 0;
    struct sim_watch watch = {.self = &held_ns, .stepped = note_held};
    config.policy.swap = 1;
    config.watches = &watch;
    config.watches_count = 1;
    struct sim_result *r = run(&w, &config);
    cr_expect_eq(held_ns, 5100 * MS, "as a worker says, once all of it is there");
    cr_expect_eq(r->jobs[1].first_run_ns, 3000 * MS);
    expect_end(r, 1, 3100 * MS);
    expect_end(r, 0, 7100 * MS);
    cr_expect_eq(r->copied_bytes, 4ull << 30);
    finish(r);
    workload_finish(&w);
}

/* A turn ends with its lease; spilling and restoring 1 GiB take 0.1 s each. */
Test(sim_run, a_job_without_boundaries_is_spilled_when_its_lease_ends) {
    struct workload w =
        load("device link=10GiB/s\n"
             "job name=a persistent=1MiB ephemeral=1GiB iterations=8 iteration=20ms "
             "boundaries=no\n"
             "job name=b arrival=10ms persistent=1MiB ephemeral=1GiB iterations=2 "
             "iteration=30ms\n");
    struct sim_config config = config_of("fair");
    config.policy.max_lanes = 1;
    config.policy.lease_ns = 50 * MS;
    struct sim_result *r = run(&w, &config);
    cr_expect_eq(r->jobs[1].first_run_ns, 160 * MS);
    expect_end(r, 1, 220 * MS);
    expect_end(r, 0, 420 * MS);
    cr_expect_eq(r->copied_bytes, 2ull << 30);
    finish(r);
    workload_finish(&w);
}

Test(sim_run, a_job_that_never_fits_is_refused_and_the_others_run) {
    struct workload w =
        load("device memory=1GiB\n"
             "job name=a persistent=600MiB ephemeral=600MiB iterations=1 iteration=1ms\n"
             "job name=b persistent=1MiB ephemeral=1MiB iterations=1 iteration=1ms\n");
    struct sim_config config = config_of("fair");
    struct sim_result *r = run(&w, &config);
    struct summary s;
    cr_expect_eq(r->refused, 1);
    cr_expect_eq(r->jobs[0].refused, SCHED_WHY_TOO_LARGE);
    cr_expect_eq(r->jobs[0].first_run_ns, SIM_NEVER);
    expect_end(r, 1, MS);
    cr_assert_eq(summary_make(&s, "fair", &w, r, NULL), 0);
    cr_expect_eq(s.jobs, 1);
    cr_expect_eq(s.refused, 1);
    cr_expect_eq(s.jct_mean_s, 0.001);
    finish(r);
    workload_finish(&w);
}

Test(sim_run, waiting_for_admission_ends_with_the_timeout) {
    struct workload w =
        load("device memory=1GiB\n"
             "job name=a persistent=500MiB ephemeral=500MiB iterations=10 iteration=10ms\n"
             "job name=b persistent=500MiB ephemeral=500MiB iterations=1 iteration=1ms "
             "admit_timeout=30ms\n"
             "job name=c persistent=500MiB ephemeral=500MiB iterations=1 iteration=1ms\n");
    struct sim_config config = config_of("fair");
    struct sim_result *r = run(&w, &config);
    cr_expect_eq(r->jobs[1].refused, SCHED_WHY_TIMEOUT);
    expect_end(r, 1, 30 * MS);
    expect_end(r, 2, 101 * MS);
    finish(r);
    workload_finish(&w);
}

Test(sim_run, a_policy_that_does_not_exist_is_refused) {
    struct workload w = load(TWO);
    struct sim_config config = config_of("lottery");
    struct sim_result *r = malloc(sizeof(*r));
    char why[SIM_WHY_BYTES];
    cr_expect_eq(sim_run(r, &w, &config, why), -EINVAL);
    cr_expect_not_null(strstr(why, "lottery"), "%s", why);
    free(r);
    workload_finish(&w);
}
