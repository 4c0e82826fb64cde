/* SPDX-License-Identifier: Apache-2.0
 *
 * Simulations of single kernels: when operations are submitted and begin, when requests arrive and
 * their latency, where a run stops; and random workloads under every policy.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/policy/policy.h"
#include "daemon/sim/base/prng.h"
#include "daemon/sim/compare/compare.h"
#include "daemon/sim/report/trace.h"
#include "daemon/sim/run/sim.h"
#include "daemon/sim/run/sim_run.h"
#include "daemon/sim/workload/workload_file.h"
#include "test/lib/part.h"

#define US 1000ull
#define MS 1000000ull
#define JOB "persistent=1MiB ephemeral=10MiB "

static struct workload load(const char *text) {
    struct workload w;
    struct buf errors;
    buf_init(&errors);
    int err = workload_parse(&w, text, strlen(text), &errors);
    cr_assert_eq(err, 0, "%s", buf_str(&errors));
    buf_finish(&errors);
    return w;
}

static struct sim_config config_of(const char *kernel) {
    struct sim_config c = {
        .policy = {.exclusive = -1, .swap = -1, .priorities = -1, .by_class = -1, .by_size = -1},
        .seed = 7,
        .check = true};
    snprintf(c.policy.kernel, POLICY_NAME_BYTES, "%s", kernel);
    return c;
}

static struct sim_result *run(const struct workload *w, const struct sim_config *config) {
    struct sim_result *r = malloc(sizeof(*r));
    char why[SIM_WHY_BYTES];
    int err = sim_run(r, w, config, why);
    cr_assert_eq(err, 0, "%s: %s", config->policy.kernel, why);
    return r;
}

static void finish(struct sim_result *r) {
    sim_result_finish(r);
    free(r);
}

static uint64_t end_of(const char *text, const char *kernel, uint32_t job) {
    struct workload w = load(text);
    struct sim_config config = config_of(kernel);
    struct sim_result *r = run(&w, &config);
    uint64_t end_ns = r->jobs[job].end_ns;
    finish(r);
    workload_finish(&w);
    return end_ns;
}

/* ---- when operations begin ------------------------------------------------------------------- */

#define THREE "kernels name=a\nk 10us sms=80\nk 20us sms=40\nc 30us\n"

Test(sim_kernels, a_job_alone_takes_the_sum_of_its_operations) {
    struct workload w = load(THREE "job name=j kernels=a iterations=5 " JOB "\n");
    struct sim_config config = config_of("orion");
    struct sim_result *r = run(&w, &config);
    cr_expect_eq(r->jobs[0].end_ns, 300 * US);
    cr_expect_eq(r->jobs[0].iterations, 5);
    cr_expect_eq(r->operations, 15);
    /* Charged by SM share: the second kernel fills half of the SMs. */
    cr_expect_eq(r->jobs[0].busy_ns, 250 * US);
    cr_expect_eq(r->jobs[0].latency->count, 5);
    cr_expect_eq(r->jobs[0].latency->sum_ns, 300.0 * US);
    cr_expect_eq(r->latency.count, 0, "a closed loop has no requests");
    finish(r);
    workload_finish(&w);
}

/* The first operation of an iteration finds an empty queue; the others were submitted while it
 * ran. With one operation at a time on the device, each one waits. */
Test(sim_kernels, dispatch_is_paid_where_the_queue_is_empty) {
    const char *text = "device dispatch=3us\n" THREE "job name=j kernels=a iterations=2 " JOB "\n";
    struct workload w = load(text);
    struct sim_config config = config_of("streams");
    struct sim_result *r = run(&w, &config);
    cr_expect_eq(r->jobs[0].end_ns, 2 * (3 + 60) * US);
    finish(r);
    config.policy.inflight_cap = 1;
    r = run(&w, &config);
    cr_expect_eq(r->jobs[0].end_ns, 2 * (9 + 60) * US);
    finish(r);
    workload_finish(&w);
}

/* If a client launches more slowly than the device runs, the device waits for the client. */
Test(sim_kernels, launches_take_the_hosts_time) {
    const char *text = "kernels name=a\nk 1us sms=1\nk 1us sms=1\nk 20us sms=1\nk 1us sms=1\n"
                       "job name=j kernels=a launch=5us iterations=2 " JOB "\n";
    /* Launched at 0, 5, 10, 15 us; the last waits for the third, which ends at 30. */
    cr_expect_eq(end_of(text, "streams", 0), 62 * US);
}

/* Launched at 10 and 15 us, run until 50. The client waits for that, and 7 us more; the third
 * kernel runs until 87, and the iteration ends at 98. */
#define HOST                                                                                   \
    "kernels name=a\nh 10us\nk 20us sms=80\nh 5us\nk 20us sms=80\nw\nh 7us\nk 30us sms=80\nh " \
    "11us\n"

Test(sim_kernels, a_client_does_something_and_waits_between_its_launches) {
    cr_expect_eq(end_of(HOST "job name=j kernels=a iterations=2 " JOB "\n", "streams", 0),
                 2 * 98 * US);
    cr_expect_eq(
        end_of(HOST "job name=j kernels=a iterations=2 launch=1us " JOB "\n", "streams", 0),
        2 * 99 * US, "one launch is not hidden: that behind the wait");
    cr_expect_eq(end_of(HOST "job name=j kernels=a iterations=2 start=100us finish=50us " JOB "\n",
                        "streams", 0),
                 (100 + 2 * 98 + 50) * US);
}

/* During another job's 100 us on the device, every asynchronous operation was launched. */
Test(sim_kernels, what_is_not_waited_for_is_launched_while_others_run) {
    const char *text = "device slots=1 left=1\nkernels name=long\nk 100us sms=80\n" HOST
                       "job name=l kernels=long iterations=1 priority=1 " JOB "\n"
                       "job name=j kernels=a iterations=1 " JOB "\n";
    /* Both kernels after the long one end at 140; then 7, 30 and 11. */
    cr_expect_eq(end_of(text, "streams", 1), (100 + 40 + 7 + 30 + 11) * US);
}

/* The client's work after its last operation is part of its turn; the work before the first is not.
 */
Test(sim_kernels, a_turn_lasts_until_its_client_is_done) {
    const char *within = "kernels name=a\nk 10us sms=80\nh 30us\n";
    const char *before = "kernels name=a\nh 30us\nk 10us sms=80\n";
    char text[512];
    uint64_t ends[2];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text),
                 "device memory=1GiB\n%s"
                 "job name=x kernels=a iterations=2 persistent=1MiB ephemeral=600MiB\n"
                 "job name=y kernels=a iterations=2 persistent=1MiB ephemeral=600MiB\n",
                 i ? before : within);
        ends[i] = end_of(text, "streams", 1);
    }
    cr_expect_eq(ends[0], 4 * 40 * US);
    cr_expect_lt(ends[1], 4 * 40 * US);
}

Test(sim_kernels, the_device_may_say_what_work_side_by_side_finds) {
    const char *text = "device slots=1 left=%s\nkernels name=a\nk 10us sms=80 compute=1 memory=0\n"
                       "job name=x kernels=a iterations=1 " JOB "\n"
                       "job name=y kernels=a iterations=1 " JOB "\n";
    char full[512], less[512];
    snprintf(full, sizeof(full), text, "1");
    snprintf(less, sizeof(less), text, "0.8");
    cr_expect_eq(end_of(full, "streams", 1), 20 * US);
    cr_expect_eq(end_of(less, "streams", 1), 25 * US);
}

Test(sim_kernels, a_client_may_think_between_its_iterations) {
    cr_expect_eq(end_of(THREE "job name=j kernels=a think=40us iterations=3 " JOB "\n", "reef", 0),
                 260 * US);
}

/* Two streams on one SM each: side by side. */
/* Expects that the device times of two jobs have the ratio of their weights, within 5 %. */
static void expect_ratio(const struct sim_result *r, uint32_t a, uint32_t b, double weights) {
    double got = (double)r->jobs[a].busy_ns / (double)r->jobs[b].busy_ns;
    cr_expect_lt(fabs(got / weights - 1), 0.05, "jobs %u and %u: %.3f for %.3f", a, b, got,
                 weights);
}

/* Two trainers share a lane with a service. A third one has the other lane, with kernels of 2 ms
 * pending whenever the service has the turn and nothing to run. */
Test(sim_kernels, a_lane_with_a_service_gets_its_trainers_part) {
    struct workload w = load("device memory=1GiB sms=128 until=10s\n"
                             "kernels name=long\nk 2ms sms=128\nk 2ms sms=128\nk 2ms sms=128\n"
                             "k 2ms sms=128\nk 2ms sms=128\nk 2ms sms=128\nk 2ms sms=128\n"
                             "kernels name=pair\nk 2ms sms=128\nk 2ms sms=128\nw\nh 40us\n"
                             "kernels name=request\nk 500us sms=128\nk 500us sms=128\n"
                             "kernels name=short\nk 500us sms=128\nk 500us sms=128\nw\nh 40us\n"
                             "job name=a kernels=long weight=7 persistent=1MiB ephemeral=2MiB\n"
                             "job name=b kernels=pair weight=5 persistent=1MiB ephemeral=16MiB\n"
                             "job name=s kernels=request weight=3 think=4ms persistent=1MiB "
                             "ephemeral=16MiB\n"
                             "job name=c kernels=short weight=5 persistent=1MiB ephemeral=8MiB\n");
    struct sim_config config = config_of("streams");
    config.policy.max_lanes = 2;
    snprintf(config.policy.lane, sizeof(config.policy.lane), "fair");
    struct sim_result *r = run(&w, &config);
    expect_ratio(r, 0, 1, 7.0 / 5);
    expect_ratio(r, 1, 3, 1);
    finish(r);
    workload_finish(&w);
}

Test(sim_kernels, jobs_run_side_by_side) {
    const char *text = "kernels name=a\nk 1ms sms=8 compute=0.1 memory=0.1\n"
                       "job name=j kernels=a iterations=10 " JOB "\n"
                       "job name=k kernels=a iterations=10 " JOB "\n";
    cr_expect_eq(end_of(text, "streams", 0), 10 * MS);
    cr_expect_eq(end_of(text, "streams", 1), 10 * MS);
    /* One request at a time. */
    cr_expect_eq(end_of(text, "temporal", 0) + end_of(text, "temporal", 1), 39 * MS);
}

/* With stream priorities, a waiting kernel of the high-priority job gets the first free slots. */
Test(sim_kernels, a_high_priority_job_passes_at_the_device) {
    const char *text = "kernels name=long\nk 10ms sms=800\n"
                       "kernels name=short\nk 1ms sms=80\n"
                       "job name=best kernels=long iterations=3 " JOB "\n"
                       "job name=high kernels=short every=4.5ms iterations=1 priority=1 " JOB "\n";
    struct workload w = load(text);
    uint64_t latency_ns[2];
    for (int i = 0; i < 2; i++) {
        struct sim_config config = config_of("streams");
        config.policy.priorities = i;
        struct sim_result *r = run(&w, &config);
        latency_ns[i] = r->jobs[1].end_ns - 4500 * US;
        finish(r);
    }
    cr_expect_lt(latency_ns[1], latency_ns[0]);
    cr_expect_geq(latency_ns[1], MS);
    workload_finish(&w);
}

/* ---- requests -------------------------------------------------------------------------------- */

#define REQUEST "kernels name=r\nk 4ms sms=40\n"

Test(sim_kernels, requests_come_by_themselves_and_wait_for_one_another) {
    struct workload w = load(REQUEST "gaps name=g\n1ms 2ms\n100ms\n"
                                     "job name=j kernels=r every=gaps:g iterations=4 " JOB "\n");
    struct sim_config config = config_of("streams");
    struct sim_result *r = run(&w, &config);
    /* Requests arrive at 1, 3, 103 and 104 ms, and end at 5, 9, 107 and 111. */
    cr_expect_eq(r->jobs[0].end_ns, 111 * MS);
    cr_expect_eq(r->jobs[0].latency->sum_ns, (4.0 + 6 + 4 + 7) * MS);
    cr_expect_eq(r->latency.count, 4);
    cr_expect_eq(r->latency_alone_ns, 16.0 * MS);
    finish(r);
    workload_finish(&w);
}

Test(sim_kernels, fixed_gaps_begin_with_the_jobs_arrival) {
    const char *text =
        REQUEST "job name=j arrival=50ms kernels=r every=10ms iterations=3 " JOB "\n";
    cr_expect_eq(end_of(text, "streams", 0), 84 * MS);
}

/* M/D/1 (Pollaczek and Khinchine): the mean wait is service * load / (2 (1 - load)). */
Test(sim_kernels, random_arrivals_wait_as_theory_says) {
    struct workload w =
        load(REQUEST "job name=j kernels=r every=exp(20ms) iterations=200000 " JOB "\n");
    struct sim_config config = config_of("orion");
    config.check = false;
    struct sim_result *r = run(&w, &config);
    double mean_ns = r->latency.sum_ns / (double)r->latency.count;
    double load = 0.2, expected_ns = 4e6 * (1 + load / (2 * (1 - load)));
    cr_expect_lt(fabs(mean_ns / expected_ns - 1), 0.01, "%g, not %g", mean_ns, expected_ns);
    finish(r);
    workload_finish(&w);
}

/* Only gaps of the trace occur, in another order for each seed. */
Test(sim_kernels, shuffled_gaps_are_the_traces) {
    struct workload w =
        load(REQUEST "gaps name=g\n5ms 6ms 9ms\n"
                     "job name=j kernels=r every=shuffled:g iterations=3000 " JOB "\n");
    struct sim_config config = config_of("streams");
    config.check = false;
    uint64_t ends[2];
    for (int i = 0; i < 2; i++) {
        struct sim_result *r = run(&w, &config);
        ends[i] = r->jobs[0].end_ns;
        cr_expect_eq(r->jobs[0].latency->sum_ns, 3000.0 * 4 * MS, "nobody waits");
        cr_expect_lt(fabs((double)(ends[i] - 4 * MS) / (3000.0 * 20 / 3 * MS) - 1), 0.02);
        cr_expect_eq(ends[i] % MS, 0);
        finish(r);
        config.seed++;
    }
    cr_expect_neq(ends[0], ends[1]);
    workload_finish(&w);
}

/* ---- where a run stops ----------------------------------------------------------------------- */

Test(sim_kernels, a_run_stops_when_time_is_up) {
    struct workload w = load("device until=25ms\n"
                             "kernels name=a\nk 1ms sms=8\nk 1ms sms=8\nk 2ms sms=8\nk 6ms sms=8\n"
                             "job name=j kernels=a " JOB "\n"
                             "job name=k kernels=a every=3ms " JOB "\n"
                             "job name=l kernels=a iterations=1 " JOB "\n");
    struct sim_config config = config_of("streams");
    struct sim_result *r = run(&w, &config);
    cr_expect_eq(r->end_ns, 25 * MS);
    cr_expect_eq(r->jobs[0].iterations, 2);
    cr_expect_eq(r->jobs[0].part, 0.75);
    cr_expect(r->jobs[0].cut && r->jobs[1].cut && !r->jobs[2].cut);
    cr_expect_eq(r->jobs[1].iterations, 2);
    cr_expect_eq(r->jobs[1].behind_ns, 16 * MS, "its third request came at 9 ms");
    cr_expect_eq(r->jobs[2].end_ns, 10 * MS);
    finish(r);
    workload_finish(&w);
}

/* ---- all policies ---------------------------------------------------------------------------- */

static uint32_t pick(uint64_t seed, uint64_t stream, uint64_t n, uint32_t bound) {
    return (uint32_t)(prng_at(seed, stream, n) % bound);
}

static void random_sequence(FILE *f, uint64_t seed, uint32_t n) {
    static const char *const classes[] = {"unknown", "compute", "memory"};
    uint32_t count = 1 + pick(seed, 10 + n, 0, 12);
    fprintf(f, "kernels name=q%u\n", n);
    for (uint32_t i = 1; i <= count; i++) {
        if (pick(seed, 10 + n, 5 * i, 8) == 0)
            fprintf(f, "c %uus\n", 1 + pick(seed, 10 + n, 5 * i + 1, 40));
        else
            fprintf(f, "k %uns sms=%u class=%s\n", 1 + pick(seed, 10 + n, 5 * i + 1, 90000),
                    1 + pick(seed, 10 + n, 5 * i + 2, pick(seed, 10 + n, 5 * i + 3, 2) ? 80 : 900),
                    classes[pick(seed, 10 + n, 5 * i + 4, 3)]);
    }
}

static void random_file(FILE *f, uint64_t seed) {
    static const char *const every[] = {"closed", "2ms", "exp(1ms)", "gaps:g", "shuffled:g"};
    uint32_t n = 1 + pick(seed, 0, 0, 6), sequences = 1 + pick(seed, 0, 1, 3);
    fprintf(f, "device memory=%uMiB dispatch=%uus sms=80\ngaps name=g\n1ms 50us 300us\n",
            40 + pick(seed, 0, 2, 200), pick(seed, 0, 3, 6));
    for (uint32_t i = 0; i < sequences; i++)
        random_sequence(f, seed, i);
    for (uint32_t i = 0; i < n; i++) {
        fprintf(f,
                "job name=j arrival=%uus persistent=%uMiB ephemeral=%uMiB kernels=q%u "
                "iterations=%u every=%s launch=%uus priority=%d unknown=%s boundaries=%s "
                "hint=%s request=%uus",
                pick(seed, 1, i, 3) * pick(seed, 2, i, 5000), pick(seed, 3, i, 20),
                pick(seed, 4, i, 20), pick(seed, 5, i, sequences), 1 + pick(seed, 6, i, 20),
                every[pick(seed, 7, i, 5)], pick(seed, 8, i, 3) * 4, (int)pick(seed, 9, i, 4) - 1,
                pick(seed, 20, i, 6) ? "no" : "yes", pick(seed, 21, i, 8) ? "yes" : "no",
                pick(seed, 22, i, 2) ? "none" : "duration", pick(seed, 23, i, 2) * 100);
        fputc('\n', f);
    }
}

static void expect_sound(const struct workload *w, const struct sim_result *r, const char *policy,
                         uint64_t seed) {
    for (uint32_t i = 0; i < w->count; i++) {
        const struct workload_job *j = &w->jobs[i];
        const struct sim_job_result *o = &r->jobs[i];
        const struct workload_sequence *q = &w->sequences[j->sequence];
        if (o->refused) continue;
        cr_assert_eq(o->iterations, j->iterations, "seed %lu, %s: %u", (unsigned long)seed, policy,
                     i);
        cr_assert_eq(o->busy_ns, q->busy_ns * j->iterations);
        cr_assert_geq(o->end_ns - o->first_run_ns, q->total_ns * j->iterations,
                      "seed %lu, %s: %u was too fast", (unsigned long)seed, policy, i);
        cr_assert_eq(o->latency->count, j->iterations);
    }
    cr_assert_leq(r->active_ns, (double)(r->end_ns - r->begin_ns));
}

static void run_random(uint64_t seed) {
    static const char *const lanes[] = {"fifo", "pack", "srtf", "fair"};
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    random_file(f, seed);
    fclose(f);
    struct workload w = load(text);
    for (uint32_t p = 0; policy_at(p); p++) {
        struct sim_config config = config_of(policy_at(p)->name);
        struct policy_config *c = &config.policy;
        snprintf(c->lane, POLICY_NAME_BYTES, "%s", lanes[pick(seed, 30, p, 4)]);
        c->swap = (int)pick(seed, 31, p, 2);
        c->max_lanes = pick(seed, 32, p, 4);
        c->lease_ns = pick(seed, 33, p, 2) ? 200 * US : 0;
        c->inflight_cap = pick(seed, 34, p, 2) ? 1 + pick(seed, 35, p, 6) : 0;
        c->preempt_ns = pick(seed, 36, p, 3) ? 0 : 100 * US;
        c->dur_threshold = pick(seed, 37, p, 2) * 200;
        c->reef_queue = pick(seed, 38, p, 4);
        c->foresee = (int)pick(seed, 39, p, 2);
        struct sim_result *r = malloc(sizeof(*r));
        char why[SIM_WHY_BYTES];
        int err = sim_run(r, &w, &config, why);
        cr_assert_eq(err, 0, "seed %lu, %s, %s: %s\n%s", (unsigned long)seed, c->lane, c->kernel,
                     why, text);
        expect_sound(&w, r, c->kernel, seed);
        finish(r);
    }
    workload_finish(&w);
    free(text);
}

Test(sim_kernels, random_workloads_keep_every_rule_under_every_policy, .timeout = 600) {
    for (uint64_t seed = 1; seed <= part_of(300); seed++)
        run_random(seed);
}

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

Test(sim_kernels, the_same_seed_gives_the_same_bytes_and_another_does_not) {
    struct workload w = load(THREE "job name=j kernels=a every=exp(100us) priority=1 launch=1us "
                                   "iterations=40 " JOB "\n"
                                   "job name=k kernels=a iterations=60 " JOB "\n");
    for (uint32_t p = 0; policy_at(p); p++) {
        struct sim_config config = config_of(policy_at(p)->name);
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

/* Orion searches SM_THRESHOLD next to a job that never pauses. Queued requests also follow one
 * another without a pause, for a while: with these the threshold stays the same. */
static bool is_searched(const char *every) {
    char text[512];
    snprintf(text, sizeof(text),
             "device until=1s\nkernels name=r\nk 300us sms=30 class=memory\nk 300us sms=30\n"
             "kernels name=t\nk 100us sms=200\nk 200us sms=90\n"
             "job name=j kernels=r every=%s priority=1 " JOB "\njob name=k kernels=t " JOB "\n",
             every);
    struct workload w = load(text);
    struct sim_config config = config_of("orion");
    char *searched = traced(&w, config);
    config.policy.sm_threshold = 80;
    char *fixed = traced(&w, config);
    /* skips the configurations, which differ */
    size_t head = strcspn(searched, "@"), other = strcspn(fixed, "@");
    bool differ = strcmp(searched + head, fixed + other) != 0;
    free(searched);
    free(fixed);
    workload_finish(&w);
    return differ;
}

Test(sim_kernels, orion_searches_its_threshold_beside_a_job_that_never_pauses) {
    cr_expect(is_searched("closed"));
    cr_expect_not(is_searched("exp(2ms)"));
    cr_expect_not(is_searched("5ms"));
}

/* ---- compare --------------------------------------------------------------------------------- */

static void compare(struct compare *c, const struct workload *w, const char *policies,
                    uint32_t seeds) {
    struct compare_config config = {
        .policy = config_of("").policy, .policies = policies, .seed = 3, .seeds = seeds};
    char why[SIM_WHY_BYTES];
    int err = compare_run(c, w, &config, why);
    cr_assert_eq(err, 0, "%s", why);
}

/* Two equal jobs that fill the device: each gets half of the capacity that contention leaves. */
Test(sim_compare, parts_are_of_what_each_does_alone) {
    struct workload w = load("device until=1s\nkernels name=a\nk 1ms sms=80 class=compute\n"
                             "job name=j kernels=a " JOB "\njob name=k kernels=a " JOB "\n");
    struct compare c;
    compare(&c, &w, "streams,temporal", 1);
    cr_assert_eq(c.count, 2);
    cr_expect_lt(fabs(measure_mean(&c.alone.jobs[1].rate) / 1000 - 1), 0.002);
    cr_expect_eq(measure_mean(&c.alone.jobs[1].p99_ratio), 1);
    double total = measure_mean(&c.rows[0].total);
    cr_expect(total > 0.9 && total < 1, "%g", total);
    cr_expect_lt(fabs(measure_mean(&c.rows[1].total) - 1), 0.002);
    cr_expect_lt(fabs(measure_mean(&c.rows[1].fairness) - 1), 0.001);
    cr_expect_lt(fabs(measure_mean(&c.rows[0].jobs[0].part) - total / 2), 0.002);
    compare_finish(&c);
    workload_finish(&w);
}

/* A job serves the same requests alone and with others. With nothing else on the device, the
 * ratio is 1 under any policy. */
Test(sim_compare, a_lone_job_is_not_slowed_by_any_policy) {
    struct workload w = load("device until=2s\n" REQUEST
                             "job name=j kernels=r every=exp(9ms) priority=1 " JOB "\n");
    struct compare c;
    compare(&c, &w, NULL, 4);
    for (uint32_t i = 0; i < c.count; i++) {
        cr_expect_eq(measure_mean(&c.rows[i].jobs[0].p99_ratio), 1, "%s", c.rows[i].policy);
        cr_expect_eq(measure_mean(&c.rows[i].total), 1, "%s", c.rows[i].policy);
    }
    cr_expect_eq(c.alone.jobs[0].p99_ns.count, 4);
    cr_expect_gt(measure_spread(&c.alone.jobs[0].p99_ns), 0);
    compare_finish(&c);
    workload_finish(&w);
}

Test(sim_compare, what_cannot_be_compared_is_said) {
    struct workload w = load("job name=a persistent=1 ephemeral=1 iterations=1 iteration=1ms\n");
    struct compare c;
    struct compare_config config = {.seeds = 1};
    char why[SIM_WHY_BYTES];
    cr_expect_eq(compare_run(&c, &w, &config, why), -EINVAL);
    cr_expect_not_null(strstr(why, "no kernels"), "%s", why);
    workload_finish(&w);
    w = load(REQUEST "job name=j kernels=r iterations=1 " JOB "\n");
    config.policies = "streams,lottery";
    cr_expect_eq(compare_run(&c, &w, &config, why), -EINVAL);
    cr_expect_not_null(strstr(why, "lottery"), "%s", why);
    workload_finish(&w);
}
