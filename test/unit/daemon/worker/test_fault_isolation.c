/* SPDX-License-Identifier: Apache-2.0
 *
 * Suspect kernels, which an earlier worker had given to the device, run one after the other, each
 * alone, and no job waits for ever. Values hold the streams until the test releases them.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault_isolation.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define WORDS_AT 4096u /* offset in the host window of the words that streams wait for */
#define GRAN (2ull << 20)

static struct wirebench *b;
static struct wireclient *jobs[3];

static void begin(void) {
    b = wirebench_start(&fakedev, 0);
    for (int i = 0; i < 3; i++) {
        jobs[i] = wireclient_attach(b);
        wireclient_kernels(jobs[i], "kern");
        wireclient_create_stream(jobs[i], 1, WIRE_STREAM_NONBLOCKING);
        cr_assert_eq(wireclient_result(jobs[i], wireclient_mem(jobs[i], WIRE_MEM_BACK, 0, GRAN)),
                     0);
    }
    fakedev_hold(b->worker->dev, true);
}

static void end(void) {
    fakedev_hold(b->worker->dev, false);
    for (int i = 0; i < 3; i++) {
        if (client_find(b->worker, jobs[i]->job_id)) wireclient_detach(jobs[i]);
        wireclient_free(jobs[i]);
    }
    const char *what;
    cr_expect_eq(fakedev_violations(b->worker->dev, &what), 0, "%s", what);
    cr_expect_eq(b->worker->isolation.kernels, 0);
    wirebench_stop(b);
}

TestSuite(trying, .init = begin, .fini = end);

static struct client *served(int job) {
    return client_find(b->worker, jobs[job]->job_id);
}

static volatile uint32_t *word(int job) {
    return (volatile uint32_t *)(void *)(jobs[job]->host + WORDS_AT);
}

/* Adds a kernel that an earlier worker had begun, after a wait. */
static void suspect(int job, uint64_t token) {
    struct wire_value v = {.addr = (uintptr_t)word(job), .value = 1, .bytes = 4};
    wireclient_send(jobs[job], WIRE_VALUE_WAIT, 0, false, &v, sizeof(v), NULL, 0);
    uint64_t seq = wireclient_launch(jobs[job], 0, 0, token);
    wirebench_run(b);
    stream_at(served(job)->streams.streams[0], seq)->again = true;
    served(job)->replay.suspects = 2;
}

static void let_go(int job) {
    *word(job) = 1;
    cr_assert(PATIENCE_UNTIL((wirebench_run(b), wireclient_done(jobs[job], 0) > 0)));
    wirebench_run(b);
}

static void launch(int job, uint64_t token) {
    wireclient_launch(jobs[job], 1, 0, token);
    wirebench_run(b);
}

static void finish(uint64_t token) {
    for (uint32_t i = 0; i < fakedev_busy(b->worker->dev); i++) {
        if (fakedev_head(b->worker->dev, i) != token) continue;
        fakedev_finish(b->worker->dev, i);
        wirebench_run(b);
        return;
    }
    cr_assert_fail("%llu is not on the device", (unsigned long long)token);
}

static void run_so_far(const char *tokens) {
    const char *now = wirebench_launched(b);
    cr_expect_str_eq(now, tokens, "%s", now);
}

Test(trying, one_after_the_other_and_then_all) {
    suspect(0, 10);
    suspect(1, 11);
    let_go(0);
    let_go(1);
    launch(2, 20);
    run_so_far("10");
    finish(10);
    run_so_far("11");
    launch(0, 21);
    run_so_far("");
    finish(11);
    run_so_far("20 21");
    launch(1, 22);
    run_so_far("22");
}

Test(trying, what_runs_already_ends_first) {
    launch(2, 20);
    suspect(0, 10);
    let_go(0);
    launch(1, 21);
    run_so_far("20");
    finish(20);
    run_so_far("10");
    finish(10);
    run_so_far("21");
}

Test(trying, copies_and_fills_go_on) {
    suspect(0, 10);
    let_go(0);
    uint64_t seq =
        wireclient_copy(jobs[1], 1, jobs[1]->windows.dev_base, (uintptr_t)jobs[1]->host, 64);
    wirebench_run(b);
    fakedev_finish(b->worker->dev, 1);
    wirebench_run(b);
    cr_expect_eq(wireclient_done(jobs[1], 1), seq);
    finish(10);
}

Test(trying, what_had_begun_without_suspicion_is_as_any_other) {
    suspect(0, 10);
    served(0)->replay.suspects = 0;
    let_go(0);
    launch(1, 20);
    run_so_far("10 20");
}

Test(trying, a_job_that_ends_lets_others_go_on) {
    suspect(0, 10);
    suspect(1, 11);
    let_go(0);
    let_go(1);
    launch(2, 20);
    launch(0, 21);
    run_so_far("10");
    wireclient_detach(jobs[1]);
    fakedev_finish_all(b->worker->dev);
    wirebench_run(b);
    run_so_far("20 21");
}

/* Ends the job whose kernel runs alone, and the jobs that wait for it. */
Test(trying, a_job_that_ends_on_trial_lets_others_go_on) {
    suspect(0, 10);
    let_go(0);
    launch(2, 20);
    run_so_far("10");
    wireclient_detach(jobs[0]);
    run_so_far("20");
}

/* Two kernels may wait for each other. */
Test(trying, nobody_waits_for_ever_for_one_that_is_alone) {
    suspect(0, 10);
    suspect(1, 11);
    let_go(0);
    launch(2, 20);
    let_go(1);
    run_so_far("10");
    b->worker->isolation.since_ns -= FAULT_ISOLATION_NS;
    wirebench_run(b);
    run_so_far("");
    b->worker->isolation.since_ns -= FAULT_ISOLATION_NS;
    wirebench_run(b);
    run_so_far("11 20");
}

Test(trying, nobody_waits_for_ever_to_be_alone) {
    launch(2, 20);
    suspect(0, 10);
    let_go(0);
    launch(1, 21);
    run_so_far("20");
    cr_expect_neq(fault_isolation_next_ns(b->worker), UINT64_MAX);
    b->worker->isolation.since_ns -= FAULT_ISOLATION_NS;
    wirebench_run(b);
    run_so_far("10 21");
}

/* The scheduler does not let the job run, so its kernel is not tried yet. */
Test(trying, one_that_is_paused_holds_up_nobody) {
    suspect(0, 10);
    struct sched_spec spec = {.weight = 1, .user = served(0)->uid, .paused = true};
    sched_link_set(served(0), &spec);
    let_go(0);
    launch(1, 20);
    run_so_far("20");
    finish(20);
    spec.paused = false;
    sched_link_set(served(0), &spec);
    wirebench_run(b);
    launch(1, 21);
    run_so_far("10");
    finish(10);
    run_so_far("21");
}
