/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator and the worker decide the same. Both run a workload in virtual time. Every start
 * and end of a turn with its reason, every boundary, every spill and every operation must be the
 * same, at the same time.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/report/trace.h"
#include "daemon/sim/run/sim.h"
#include "daemon/sim/run/sim_run.h"
#include "daemon/sim/workload/workload_file.h"
#include "test/lib/sched/decisions.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/workrun.h"

#define DEVICE "device memory=256MiB sms=4\n"
#define MEMORY "persistent=2MiB ephemeral=16MiB hint=none "

static const char *const policies[] = {"fair", "srtf", "pack", "fifo"};

static struct workload load(const char *text) {
    struct workload w;
    struct buf errors;
    buf_init(&errors);
    cr_assert_eq(workload_parse(&w, text, strlen(text), &errors), 0, "%s", buf_str(&errors));
    buf_finish(&errors);
    return w;
}

static char *simulated(const struct workload *w, const struct policy_config *policy) {
    FILE *trace = tmpfile();
    struct sim_watch watch = {.self = trace, .began = trace_began, .stepped = trace_stepped};
    struct sim_config config = {
        .policy = *policy, .check = true, .watches = &watch, .watches_count = 1};
    struct sim_result r;
    char why[SIM_WHY_BYTES];
    cr_assert_eq(sim_run(&r, w, &config, why), 0, "%s", why);
    trace_ended(trace);
    char *text = decisions_read(trace);
    sim_result_finish(&r);
    fclose(trace);
    return text;
}

static char *worked(const struct workload *w, const struct policy_config *policy, bool gaps) {
    FILE *recording = tmpfile();
    workrun(w, policy, gaps, recording);
    char *text = decisions_read(recording);
    fclose(recording);
    return text;
}

/* From the second job's admission on: the job that has the turn, and the operations that run.
 * Omits boundaries and the reasons for turns' ends: where an idle time ends both, the worker's
 * loop reports the turn's end first. */
static char *turns_of(char *text) {
    char *out = NULL, *rest = strstr(text, "admit 2");
    size_t bytes;
    FILE *f = open_memstream(&out, &bytes);
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strstr(line, " boundary ")) continue;
        if (strstr(line, " end ")) *strrchr(line, ' ') = '\0';
        fprintf(f, "%s\n", line);
    }
    fclose(f);
    free(text);
    return out;
}

/* Reports the first line that differs, with the lines before it. */
static void expect_same(const char *sim, const char *worker, const char *policy) {
    size_t n = 0, line = 0;
    while (sim[n] && sim[n] == worker[n])
        if (sim[n++] == '\n') line = n;
    if (!sim[n] && !worker[n]) return;
    size_t from = line > 400 ? line - 400 : 0;
    cr_expect_fail("%s: after\n...%.*s\nthe simulator: %.*s\nthe worker: %.*s", policy,
                   (int)(line - from), sim + from, (int)strcspn(sim + line, "\n"), sim + line,
                   (int)strcspn(worker + line, "\n"), worker + line);
}

static uint32_t count_of(const char *text, const char *word) {
    uint32_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

static void expect_decided_as(const char *text, const char *word, bool gaps) {
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        struct policy_config policy = {.exclusive = -1, .swap = -1, .max_lanes = 1};
        snprintf(policy.lane, sizeof(policy.lane), "%s", policies[i]);
        struct workload w = load(text);
        char *sim = simulated(&w, &policy), *worker = worked(&w, &policy, gaps);
        if (gaps) sim = turns_of(sim), worker = turns_of(worker);
        expect_same(sim, worker, policies[i]);
        if (i == 0) cr_expect_gt(count_of(sim, word), 0, "no '%s' in\n%s", word, sim);
        free(sim);
        free(worker);
        workload_finish(&w);
    }
}

/* Compares under every lane policy. `word` must occur in the decisions under fair, so that the
 * case tests what it is meant to. */
static void expect_decided(const char *text, const char *word) {
    expect_decided_as(text, word, false);
}

Test(sim_worker, a_service_with_gaps_beside_a_trainer) {
    expect_decided(DEVICE "kernels name=request\nc 1ms\nc 2ms\n"
                          "kernels name=step\nc 3ms\nc 4ms\nw\nh 100us\nc 1ms\n"
                          "job name=service kernels=request think=20ms iterations=30 " MEMORY "\n"
                          "job name=trainer kernels=step iterations=60 " MEMORY "\n",
                   "end 1 boundary");
}

/* The next request comes before a boundary would be assumed without it. */
Test(sim_worker, requests_that_come_within_a_moment) {
    expect_decided(DEVICE "kernels name=request\nc 1ms\nw\nh 300us\nc 100us\n"
                          "kernels name=step\nc 2ms\nh 40us\n"
                          "job name=service kernels=request think=400us iterations=40 " MEMORY "\n"
                          "job name=trainer kernels=step iterations=60 start=3ms " MEMORY "\n",
                   "boundary 1");
}

/* With memory in use: it is spilled and restored. */
Test(sim_worker, a_service_that_stops_within_a_request) {
    expect_decided(DEVICE "kernels name=request\nc 1ms\nw\nh 40ms\nc 2ms\n"
                          "kernels name=step\nc 3ms\nc 4ms\n"
                          "job name=service kernels=request think=15ms iterations=12 " MEMORY "\n"
                          "job name=trainer kernels=step iterations=80 " MEMORY "\n",
                   "end 1 idle");
}

Test(sim_worker, a_trainer_whose_iterations_are_not_known) {
    expect_decided(DEVICE "kernels name=request\nc 1ms\nc 1ms\n"
                          "kernels name=step\nc 9ms\nc 12ms\n"
                          "job name=service kernels=request think=30ms iterations=20 " MEMORY "\n"
                          "job name=trainer kernels=step iterations=150 boundaries=no " MEMORY "\n",
                   "end 2 lease");
}

Test(sim_worker, jobs_that_come_and_go_with_weights) {
    expect_decided(
        DEVICE "kernels name=request\nc 2ms\n"
               "kernels name=step\nc 3ms\nw\nh 200us\nc 1ms\nh 100us\n"
               "kernels name=long\nc 20ms\n"
               "job name=a kernels=step weight=3 iterations=70 " MEMORY "\n"
               "job name=b kernels=request think=5ms weight=2 arrival=31350us iterations=40 " MEMORY
               "\njob name=c kernels=long arrival=52730us iterations=8 " MEMORY
               "\njob name=d kernels=step weight=9 arrival=107170us iterations=25 " MEMORY "\n",
        "end 4 boundary");
}

/* The worker must detect the ends of requests, and has done so when the trainer arrives. A
 * request's wait for its turn does not change the gaps. */
Test(sim_worker, a_service_whose_gaps_are_found) {
    expect_decided_as(DEVICE
                      "kernels name=request\nk 1ms sms=4\nk 1ms sms=4\n"
                      "kernels name=step\nk 3ms sms=4\nk 4ms sms=4\n"
                      "job name=service kernels=request think=3ms iterations=100 " MEMORY "\n"
                      "job name=trainer kernels=step iterations=60 arrival=123450us " MEMORY "\n",
                      "end 1", true);
}
