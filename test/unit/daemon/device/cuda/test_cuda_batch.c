/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues of the real driver's device with one completion signal behind several operations: where
 * the signal is queued, which times the operations get, and who is suspected when the context ends.
 * The test steps the streams.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_driver.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/patience.h"
#include "test/lib/ptx/devmodule.h"

#define BATCH 32u /* QUEUE_BATCH */
#define BACKLOG 400u
#define FIRST_STREAM 3u /* the device itself has streams for chunks and peeks */
#define RAN_MOST (4 * BACKLOG)

static struct cuda_rig rig;
static struct rig_space space;
static struct dev_chunk *chunks[4];
static struct dev_module *module;
static struct dev_queue *queue, *other;
static struct rig_op ops[BACKLOG];
static enum dev_completion way;

static struct dev_func *func(const char *name) {
    struct dev_func *f = NULL;
    struct dev_func_info info;
    char why[256];
    cr_assert_eq(rig.ops->func_get(module, name, &f, &info, why, sizeof(why)), 0);
    return f;
}

static void open_device(void) {
    char why[256];
    cuda_rig_load(&rig, false);
    rig.config.completion = way;
    rig.fake->start(&(struct fake_options){.stepping = true, .greatest = -2});
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 4, chunks), 0);
    cr_assert_eq(devmodule_load(rig.ops, space.space, 0, RIG_IMAGE, sizeof(RIG_IMAGE), &module, why,
                                sizeof(why)),
                 0);
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &queue), 0);
}

static void open_events(void) {
    way = DEV_COMPLETION_EVENTS;
    open_device();
}

static void close_device(void) {
    bool lost = rig.ops->driver->lost(rig.dev) != 0;
    if (other) rig.ops->queue_destroy(other);
    rig.ops->queue_destroy(queue);
    devmodule_unload(rig.ops, module);
    cuda_rig_unmap(&rig, &space, 0, 4, chunks);
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    if (!lost) cr_assert_str_eq(cuda_rig_complaint(&rig), "");
    rig.fake->start(&(struct fake_options){0}); /* frees what a lost context left */
}

TestSuite(cuda_batch, .init = open_device, .fini = close_device);
TestSuite(cuda_batch_events, .init = open_events, .fini = close_device);

/* Runs with words, and with events. */
#define BOTH(name)                  \
    static void name(void);         \
    Test(cuda_batch, name) {        \
        name();                     \
    }                               \
    Test(cuda_batch_events, name) { \
        name();                     \
    }                               \
    static void name(void)

static uint64_t base(void) {
    return space.windows.dev_base;
}

static void launch(struct dev_queue *q, uint32_t i) {
    cr_assert_eq(cuda_rig_launch(&rig, q, func("append"), &ops[i], 16, (uint64_t[]){base(), i + 1}),
                 0);
}

static void launch_exactly(struct dev_queue *q, uint32_t i) {
    rig.asked.exact = true;
    launch(q, i);
    rig.asked.exact = false;
}

static void fault(struct dev_queue *q, uint32_t i) {
    cuda_rig_launch(&rig, q, func("fault"), &ops[i], 8, (uint64_t[]){CUDA_ERROR_LAUNCH_FAILED});
}

/* Steps the first queue's stream until nothing is left that could run. Returns how many signals it
 * passed. */
static uint32_t step_all(void) {
    static struct fake_ran ran[RAN_MOST];
    uint32_t before = rig.fake->ran(NULL, 0), signals = 0;
    while (rig.fake->step(FIRST_STREAM))
        continue;
    uint32_t after = rig.fake->ran(ran, RAN_MOST);
    cr_assert_leq(after, RAN_MOST);
    for (uint32_t i = before; i < after; i++)
        signals += ran[i].kind == (way == DEV_COMPLETION_EVENTS ? FAKE_RECORD : FAKE_WRITE);
    return signals;
}

/* ---- where the signal is ----------------------------------------------------------------------
 */

BOTH(operations_at_hand_share_a_signal) {
    for (uint32_t i = 0; i < 10; i++)
        launch(queue, i);
    cr_expect_eq(cuda_rig_poll(&rig), 0, "the first look sees that operations came");
    cr_expect_eq(cuda_rig_poll(&rig), 0, "the second one sees that no more came");
    cr_expect_eq(step_all(), 1);
    cr_expect_eq(cuda_rig_poll(&rig), 10);
    for (uint32_t i = 0; i < 10; i++)
        cr_expect_eq(ops[i].dev.result, 0);
}

BOTH(a_few_operations_do_not_wait_for_more) {
    for (uint32_t i = 0; i < 3; i++)
        launch(queue, i);
    cr_expect_eq(cuda_rig_poll(&rig), 0);
    cr_expect_eq(step_all(), 1, "since the first look");
    cr_expect_eq(cuda_rig_poll(&rig), 3);
}

BOTH(no_more_than_a_batch_does) {
    for (uint32_t i = 0; i < 2 * BATCH; i++)
        launch(queue, i);
    cr_expect_eq(step_all(), 2);
    cr_expect_eq(cuda_rig_poll(&rig), 2 * BATCH);
}

BOTH(long_operations_have_a_signal_sooner) {
    for (uint32_t i = 0; i < 8; i++) {
        rig.asked.expected_ns = 25000;
        launch(queue, i);
    }
    cr_expect_eq(step_all(), 2, "four of them take 100 us");
    cr_expect_eq(cuda_rig_poll(&rig), 8);
}

BOTH(operations_that_somebody_waits_for_have_their_own) {
    launch(queue, 0);
    launch_exactly(queue, 1);
    launch(queue, 2);
    cr_expect_eq(step_all(), 1, "behind the second");
    cr_expect_eq(cuda_rig_poll(&rig), 2);
    cr_expect_eq(cuda_rig_poll(&rig), 0);
    cr_expect_eq(step_all(), 1, "behind the third, once no more came");
    cr_expect_eq(cuda_rig_poll(&rig), 1);
}

BOTH(a_worker_that_goes_to_sleep_is_woken_by_the_last_one) {
    launch(queue, 0);
    launch(queue, 1);
    cr_assert_eq(rig.ops->arm(rig.dev), 0);
    step_all();
    struct pollfd fd = {.fd = rig.ops->event_fd(rig.dev), .events = POLLIN};
    cr_assert(PATIENCE_UNTIL(poll(&fd, 1, 0) == 1));
    cr_assert_eq(cuda_rig_poll(&rig), 2);
}

/* The goals of a launch-bound program that is alone: at most 1.1 driver calls a launch, and a
 * signal for at least 16 launches. */
BOTH(a_backlog_costs_little_more_than_its_launches) {
    uint32_t before = rig.fake->calls(), signals = 0;
    for (uint32_t i = 0; i < BACKLOG; i++) {
        launch(queue, i);
        if (i % 16 == 15) cuda_rig_poll(&rig);
    }
    for (uint32_t done = 0; done < BACKLOG; done += cuda_rig_poll(&rig))
        signals += step_all();
    uint32_t calls = rig.fake->calls() - before;
    cr_expect_leq(signals * 16, BACKLOG, "%u signals", signals);
    if (way == DEV_COMPLETION_WORDS)
        cr_expect_leq(calls * 10, BACKLOG * 11, "%u calls for %u launches", calls, BACKLOG);
    for (uint32_t i = 0; i < BACKLOG; i++)
        cr_assert(ops[i].done == 1 && ops[i].dev.result == 0, "%u", i);
}

/* ---- times ------------------------------------------------------------------------------------
 */

/* The time of a batch is divided as its operations were expected to take. */
BOTH(operations_of_a_batch_share_its_time) {
    static const uint64_t expected_ns[] = {10000, 30000, 10000};
    for (uint32_t i = 0; i < 3; i++) {
        rig.asked.expected_ns = expected_ns[i];
        launch(queue, i);
    }
    cuda_rig_poll(&rig);
    cuda_rig_poll(&rig);
    uint64_t until_ns = fdutil_now_ns() + 20000000;
    while (fdutil_now_ns() < until_ns)
        continue;
    step_all();
    cr_assert_eq(cuda_rig_poll(&rig), 3);
    cr_expect_leq(ops[0].dev.end_ns, ops[1].dev.start_ns);
    cr_expect_leq(ops[1].dev.end_ns, ops[2].dev.start_ns);
    cr_expect_gt(ops[2].dev.busy_ns, 0);
    cr_expect_gt(ops[1].dev.busy_ns, 2 * ops[0].dev.busy_ns);
    cr_expect_gt(ops[1].dev.busy_ns, 2 * ops[2].dev.busy_ns);
}

/* ---- the context's end ------------------------------------------------------------------------
 */

static void check_end(uint32_t i, int result, bool begun, uint32_t suspects) {
    cr_expect_eq(ops[i].dev.result, result, "%u: %d", i, ops[i].dev.result);
    cr_expect_eq(ops[i].dev.begun, begun, "%u", i);
    cr_expect_eq(ops[i].dev.suspects, suspects, "%u", i);
}

/* The culprit is one of those up to the signal that did not come. */
Test(cuda_batch, kernels_up_to_the_signal_are_suspects) {
    launch(queue, 0);
    fault(queue, 1);
    launch_exactly(queue, 2);
    launch(queue, 3);
    rig.fake->step(FIRST_STREAM);
    rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 4));
    for (uint32_t i = 0; i < 3; i++)
        check_end(i, ERR_LAUNCH_FAILED, true, 3);
    check_end(3, ERR_DEVICE_LOST, false, 0);
    cr_expect(strstr(ops[0].dev.fault_text, "one of the 3 kernels of this job"));
}

/* Nothing is behind them that could tell which of them began. */
Test(cuda_batch, without_a_signal_all_may_have_begun) {
    struct rig_space job;
    cr_assert_eq(cuda_rig_space(&rig, &job, 1), 0);
    cr_assert_eq(rig.ops->queue_create(job.space, 0, &other), 0);
    fault(queue, 0);
    launch(queue, 1);
    launch(other, 2);
    launch(other, 3);
    rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 4));
    for (uint32_t i = 0; i < 4; i++)
        check_end(i, ERR_DEVICE_LOST, true, 4);
    cr_expect(strstr(ops[3].dev.fault_text, "one of the 4 kernels that"));
    rig.ops->queue_destroy(other);
    other = NULL;
    cuda_rig_space_end(&rig, &job);
}

/* Work whose signal came is complete and not suspected. */
Test(cuda_batch, a_batch_that_is_complete_has_no_suspect) {
    for (uint32_t i = 0; i < BATCH; i++)
        launch(queue, i);
    fault(queue, BATCH);
    for (uint32_t i = 0; i < BATCH + 2; i++)
        rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, BATCH + 1));
    for (uint32_t i = 0; i < BATCH; i++)
        check_end(i, 0, false, 0);
    check_end(BATCH, ERR_LAUNCH_FAILED, true, 1);
}
