/* SPDX-License-Identifier: Apache-2.0
 *
 * The device is lost. The client that caused it gets the error, if that can be known. Other clients
 * whose jobs can continue under another worker get no message, and their recovery states list
 * exactly the operations in flight.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/worker/client.h"
#include "daemon/worker/front/broker_order.h"
#include "daemon/worker/loop.h"
#include "test/lib/worker/mortaldev.h"
#include "test/lib/worker/wireclient.h"

#define GRAN (2ull << 20)

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry gentle() { ret; }\n";

static struct wirebench *b;
static struct wireclient *jobs[3];

static void begin(void) {
    const struct worker_config config = {.ops = &mortaldev,
                                         .device = {.memory_bytes = 96ull << 20, .threads = 1},
                                         .policy = {.exclusive = -1, .swap = -1}};
    mortaldev_reset();
    b = wirebench_start_as(&config);
    for (int i = 0; i < 3; i++) {
        jobs[i] = wireclient_attach(b);
        cr_assert_eq(wireclient_result(jobs[i], wireclient_load(jobs[i], 0, image)), 0);
        cr_assert_eq(wireclient_result(jobs[i], wireclient_func(jobs[i], 0, 0, "gentle")), 0);
    }
}

static void end(void) {
    wirebench_stop(b);
    for (int i = 0; i < 3; i++)
        wireclient_free(jobs[i]);
}

TestSuite(lost, .init = begin, .fini = end);

static uint64_t launch(int job, uint32_t stream) {
    struct wire_launch l = {.func = 0, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t seq = wireclient_send(jobs[job], WIRE_LAUNCH, stream, false, &l, sizeof(l), NULL, 0);
    wirebench_run(b);
    return seq;
}

static void end_device(void) {
    mortaldev_end(ERR_ILLEGAL_ADDRESS);
    wirebench_run(b);
    cr_assert(b->worker->link.over);
    loop_leave(b->worker);
}

static struct recovery_header *recovery_state(int job) {
    return client_find(b->worker, jobs[job]->job_id)->recovery_state.header;
}

static uint32_t told(int job) {
    return atomic_load(&jobs[job]->com->fault.cuda);
}

/* The last message to the broker. */
static struct wire_worker_msg last_words(void) {
    struct wire_worker_msg msg;
    int fd = -1;
    do
        cr_assert(wirebench_hear(b, &msg, &fd));
    while (msg.kind != WIRE_BROKE);
    return msg;
}

Test(lost, who_did_it_is_told_alone) {
    launch(0, 0);
    uint64_t seq = launch(1, 0);
    mortaldev_finish(1); /* completes the second job's kernel */
    wirebench_run(b);
    launch(0, 0);
    end_device();
    cr_expect_eq(told(0), 700);
    cr_expect_str_eq(jobs[0]->com->fault.kernel, "gentle");
    cr_expect_eq(jobs[0]->com->fault.launch, 1);
    cr_expect_eq(told(1), 0);
    cr_expect_eq(told(2), 0);
    cr_expect_eq(wireclient_done(jobs[1], 0), seq);
    cr_expect_eq(atomic_load(&recovery_state(1)->suspects), 0);
    struct wire_worker_msg said = last_words();
    cr_expect_eq(said.job_id, jobs[0]->job_id);
    cr_expect_eq(said.result, ERR_ILLEGAL_ADDRESS);
    cr_expect(strstr(said.text, "kernel gentle, launch 1"), "%s", said.text);
}

Test(lost, of_several_nobody_is_told) {
    uint64_t first = launch(0, 0);
    launch(0, 0);
    uint64_t seq = launch(1, 0);
    end_device();
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(told(i), 0, "%d", i);
        cr_expect_eq(wireclient_done(jobs[i], 0), 0, "%d", i);
    }
    cr_expect_eq(atomic_load(&recovery_state(0)->begun[0]), first,
                 "the other one behind it did not begin");
    cr_expect_eq(atomic_load(&recovery_state(1)->begun[0]), seq);
    cr_expect_eq(atomic_load(&recovery_state(0)->suspects), 2);
    cr_expect_eq(atomic_load(&recovery_state(1)->suspects), 2);
    cr_expect_eq(atomic_load(&recovery_state(2)->suspects), 0);
    struct wire_worker_msg said = last_words();
    cr_expect_eq(said.job_id, 0);
    cr_expect(strstr(said.text, "one of 2 kernels"), "%s", said.text);
}

/* An operation of the client comes back before its kernel does. */
Test(lost, who_did_it_is_told_whatever_came_first) {
    wireclient_create_stream(jobs[0], 1, WIRE_STREAM_NONBLOCKING);
    launch(0, 1);
    launch(0, 1); /* queued after it, but comes back first here */
    end_device();
    cr_expect_eq(told(0), 700);
}

Test(lost, what_was_complete_is_shown) {
    wireclient_create_stream(jobs[0], 1, WIRE_STREAM_NONBLOCKING);
    uint64_t seq = launch(0, 1);
    launch(0, 0);
    launch(1, 0);
    mortaldev_finish(0);
    end_device();
    cr_expect_eq(told(0), 0);
    cr_expect_eq(wireclient_done(jobs[0], 1), seq);
    cr_expect_eq(wireclient_done(jobs[0], 0), 0);
}

Test(lost, whom_no_worker_goes_on_with_is_told) {
    recovery_note_lack(&client_find(b->worker, jobs[1]->job_id)->recovery_state, RECOVERY_LOG);
    recovery_note_lack(&client_find(b->worker, jobs[2]->job_id)->recovery_state, RECOVERY_LOG);
    launch(0, 0);
    launch(1, 0);
    end_device();
    cr_expect_eq(told(0), 0);
    cr_expect_eq(told(1), 46);
    cr_expect_eq(told(2), 46, "also without anything on the device");
}

/* An operation that an earlier worker had begun may be half done. */
Test(lost, what_is_done_again_stays_begun) {
    struct client *c = client_find(b->worker, jobs[0]->job_id);
    launch(0, 0);
    uint64_t seq = launch(0, 0);
    launch(1, 0);
    stream_at(c->streams.streams[0], seq)->again = true;
    end_device();
    cr_expect_eq(atomic_load(&recovery_state(0)->begun[0]), seq);
}

/* A call is the first to detect the loss: it gets no answer, and is not counted. */
static void expect_withheld(uint16_t op) {
    cr_assert_eq(wireclient_result(jobs[0], wireclient_mem(jobs[0], WIRE_MEM_BACK, 0, GRAN)), 0);
    uint64_t done = atomic_load(&recovery_state(0)->deferred_done);
    uint64_t at = op == WIRE_MEM_BACK ? GRAN : 0;
    mortaldev_doom(ERR_ILLEGAL_ADDRESS);
    uint64_t call = wireclient_mem(jobs[0], op, at, GRAN);
    cr_expect_eq(wireclient_result(jobs[0], call), -EAGAIN);
    cr_assert(b->worker->link.over);
    loop_leave(b->worker);
    cr_expect_eq(told(0), 0);
    cr_expect_eq(atomic_load(&recovery_state(0)->deferred_done), done);
}

Test(lost, memory_that_it_could_not_give_is_for_the_next_worker) {
    expect_withheld(WIRE_MEM_BACK);
}

Test(lost, memory_that_it_could_not_take_back_is_for_the_next_worker) {
    expect_withheld(WIRE_MEM_UNBACK);
}

/* The client continued as if it already had that memory. */
Test(lost, memory_that_was_not_waited_for_ends_nobody) {
    mortaldev_doom(ERR_ILLEGAL_ADDRESS);
    wireclient_mem_silent(jobs[0], WIRE_MEM_BACK, 0, GRAN);
    wirebench_run(b);
    loop_leave(b->worker);
    cr_expect_eq(told(0), 0);
}

Test(lost, what_it_does_not_take_any_more_did_not_begin) {
    mortaldev_doom(ERR_ILLEGAL_ADDRESS);
    uint64_t seq = launch(0, 0);
    loop_leave(b->worker);
    cr_expect_eq(atomic_load(&recovery_state(0)->begun[0]), seq - 1);
    cr_expect_eq(wireclient_done(jobs[0], 0), 0);
    cr_expect_eq(told(0), 0);
}

/* The call that detects the loss is not blamed for it. */
Test(lost, a_call_that_finds_out_is_not_what_did_it) {
    launch(0, 0);
    mortaldev_doom(ERR_ILLEGAL_ADDRESS);
    launch(1, 0);
    loop_leave(b->worker);
    cr_expect_eq(told(0), 700);
    cr_expect_eq(told(1), 0);
    cr_expect_eq(last_words().job_id, jobs[0]->job_id);
}

/* The client starts with the next worker; this one ends without answering it. */
Test(lost, who_comes_then_is_not_refused) {
    struct wire_worker_msg msg = {.kind = WIRE_ATTACH, .job_id = 99};
    mortaldev_end(ERR_ILLEGAL_ADDRESS);
    /* Without its descriptors the client could not be served by either worker. */
    cr_assert_eq(fdutil_send(b->sock, &msg, sizeof(msg), NULL, 0), 0);
    broker_order_read(b->worker);
    wirebench_run(b);
    cr_expect(b->worker->link.over);
    loop_leave(b->worker);
    do {
        cr_assert(wirebench_hear(b, &msg, NULL));
        cr_expect(msg.kind != WIRE_ATTACHED || msg.job_id != 99);
    } while (msg.kind != WIRE_BROKE);
}
