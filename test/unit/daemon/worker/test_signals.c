/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals between clients, as records: a client that waits for another client's signal, its
 * release, and the effect when the other client ends first.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/client.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define ALICE 1001
#define BOB 1002

static struct wirebench *bench;
static struct wireclient *a, *b;
static uint64_t key[2];

static struct wireclient *join(uint32_t uid) {
    bench->uid = uid;
    struct wireclient *c = wireclient_attach(bench);
    wireclient_kernels(c, "kern hang");
    wireclient_create_stream(c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(c, 2, WIRE_STREAM_NONBLOCKING);
    wirebench_run(bench);
    fakedev_forget_launches(bench->worker->dev);
    return c;
}

static const struct wire_signal_reply *reply_of(const struct wireclient *c, uint64_t ticket) {
    return (const struct wire_signal_reply *)wireclient_reply(c, ticket)->data;
}

static int ask(struct wireclient *c, uint16_t op, uint32_t id, const uint64_t *with,
               struct wire_signal_reply *out) {
    struct wire_signal s = {.signal = id};
    if (with) memcpy(s.key, with, sizeof(s.key));
    uint64_t ticket = wireclient_send(c, op, 0, true, &s, sizeof(s), NULL, 0);
    int err = wireclient_result(c, ticket);
    if (!err && out) *out = *reply_of(c, ticket);
    return err;
}

static void leave(struct wireclient *c) {
    wireclient_detach(c);
    wireclient_free(c);
}

/* Signal 3 of client a is signal 5 of client b. */
static void begin(void) {
    struct wire_signal_reply made;
    bench = wirebench_start(&fakedev, 4);
    a = join(ALICE);
    b = join(ALICE);
    cr_assert_eq(ask(a, WIRE_SIGNAL_MAKE, 3, NULL, &made), 0);
    memcpy(key, made.key, sizeof(key));
    cr_assert_eq(ask(b, WIRE_SIGNAL_OPEN, 5, key, NULL), 0);
    fakedev_hold(bench->worker->dev, true);
}

static void end(void) {
    const char *what;
    fakedev_hold(bench->worker->dev, false);
    fakedev_finish_all(bench->worker->dev);
    if (a) leave(a);
    if (b) leave(b);
    cr_expect_eq(fakedev_violations(bench->worker->dev, &what), 0, "%s", what);
    cr_expect(list_empty(&bench->worker->signals.list));
    wirebench_stop(bench);
}

TestSuite(signals, .init = begin, .fini = end);

static void record(struct wireclient *c, uint32_t stream, uint32_t id) {
    struct wire_event_record e = {.event = 7, .signal = id + 1};
    wireclient_send(c, WIRE_EVENT_RECORD, stream, false, &e, sizeof(e), NULL, 0);
}
static void await(struct wireclient *c, uint32_t stream, uint32_t id) {
    struct wire_stream_wait w = {.on = WIRE_ON_SIGNAL | id};
    wireclient_send(c, WIRE_STREAM_WAIT, stream, false, &w, sizeof(w), NULL, 0);
}
static const char *launched(void) {
    return wirebench_launched(bench);
}
static int done(struct wireclient *c, uint32_t id) {
    struct wire_signal_reply got;
    int err = ask(c, WIRE_SIGNAL_ASK, id, NULL, &got);
    return err ? err : (int)got.done;
}

/* ---- order ----------------------------------------------------------------------------------- */

Test(signals, what_comes_behind_a_wait_runs_when_the_others_work_is_done) {
    wireclient_launch(a, 1, 0, 1);
    record(a, 1, 3);
    await(b, 1, 5);
    wireclient_launch(b, 1, 0, 2);
    wireclient_launch(b, 2, 0, 3);
    cr_expect_str_eq(launched(), "1 3");
    cr_expect_eq(done(b, 5), 0);
    cr_expect_eq(done(a, 3), 0);
    fakedev_finish_all(bench->worker->dev);
    cr_expect_str_eq(launched(), "2");
    cr_expect_eq(done(b, 5), 1);
}

Test(signals, a_wait_is_for_what_was_recorded_before_it) {
    await(b, 1, 5);
    wireclient_launch(b, 1, 0, 1);
    cr_expect_str_eq(launched(), "1", "nothing was");
    wireclient_launch(a, 1, 0, 2);
    record(a, 1, 3);
    await(b, 2, 5);
    wireclient_launch(b, 2, 0, 3);
    cr_expect_str_eq(launched(), "2");
    wireclient_launch(a, 2, 0, 4);
    record(a, 2, 3); /* another signal, for which it does not wait */
    cr_expect_str_eq(launched(), "4");
    fakedev_finish(bench->worker->dev, 0); /* completes a's first stream */
    cr_expect_str_eq(launched(), "3");
    cr_expect_eq(done(a, 3), 0);
}

/* Each client waits for the other in turn, in both directions at once. */
Test(signals, both_record_it) {
    for (uint64_t i = 0; i < 6; i++) {
        struct wireclient *c = i % 2 ? b : a;
        await(c, 1, i % 2 ? 5 : 3);
        wireclient_launch(c, 1, 0, i);
        record(c, 1, i % 2 ? 5 : 3);
        wirebench_run(bench); /* the other client is released */
    }
    cr_expect_str_eq(launched(), "0");
    for (uint64_t i = 1; i < 6; i++) {
        char want[8];
        snprintf(want, sizeof(want), "%lu", i);
        fakedev_finish_all(bench->worker->dev);
        cr_expect_str_eq(launched(), want);
    }
}

/* ---- numbers, keys, users -------------------------------------------------------------------- */

Test(signals, who_has_the_key_and_is_of_the_same_user_opens_it) {
    uint64_t wrong[2] = {key[0], key[1] + 1};
    cr_expect_eq(ask(a, WIRE_SIGNAL_MAKE, 3, NULL, NULL), -EEXIST);
    cr_expect_eq(ask(b, WIRE_SIGNAL_OPEN, 5, key, NULL), -EEXIST);
    cr_expect_eq(ask(b, WIRE_SIGNAL_OPEN, 6, wrong, NULL), -ENOENT);
    cr_expect_eq(ask(b, WIRE_SIGNAL_ASK, 6, NULL, NULL), -ENOENT);
    cr_expect_eq(ask(b, WIRE_SIGNAL_CLOSE, 6, NULL, NULL), -ENOENT);
    struct wireclient *stranger = join(BOB);
    cr_expect_eq(ask(stranger, WIRE_SIGNAL_OPEN, 5, key, NULL), -ENOENT);
    leave(stranger);
    cr_expect_eq(ask(a, WIRE_SIGNAL_CLOSE, 3, NULL, NULL), 0);
    cr_expect_eq(ask(a, WIRE_SIGNAL_OPEN, 9, key, NULL), 0, "b has it still");
    cr_expect_eq(ask(a, WIRE_SIGNAL_CLOSE, 9, NULL, NULL), 0);
    cr_expect_eq(ask(b, WIRE_SIGNAL_CLOSE, 5, NULL, NULL), 0);
    cr_expect_eq(ask(a, WIRE_SIGNAL_OPEN, 9, key, NULL), -ENOENT);
}

Test(signals, one_that_does_not_exist_is_no_clients) {
    await(b, 1, 77);
    wirebench_run(bench);
    cr_expect_neq(wireclient_fault(b), 0);
    record(a, 1, 77);
    wirebench_run(bench);
    cr_expect_neq(wireclient_fault(a), 0);
}

/* ---- ends ------------------------------------------------------------------------------------ */

Test(signals, closing_it_lets_nobody_down) {
    wireclient_launch(a, 1, 0, 1);
    record(a, 1, 3);
    await(b, 1, 5);
    wireclient_launch(b, 1, 0, 2);
    cr_expect_eq(ask(a, WIRE_SIGNAL_CLOSE, 3, NULL, NULL), 0);
    cr_expect_eq(ask(b, WIRE_SIGNAL_CLOSE, 5, NULL, NULL), 0);
    cr_expect_str_eq(launched(), "1");
    fakedev_finish_all(bench->worker->dev);
    cr_expect_str_eq(launched(), "2");
}

/* The work before the signal is not complete, and never will be. */
Test(signals, who_waits_for_one_that_was_killed_fails) {
    wireclient_launch(a, 1, 1, 1);
    record(a, 1, 3);
    await(b, 1, 5);
    wireclient_launch(b, 1, 0, 2);
    wireclient_launch(b, 2, 0, 3);
    cr_expect_str_eq(launched(), "1 3");
    leave(a);
    a = NULL;
    cr_expect_str_eq(launched(), "", "nor does what comes behind it run");
    cr_expect_eq(wireclient_fault(b), 709);
}

Test(signals, what_was_done_before_it_was_killed_is_done) {
    wireclient_launch(a, 1, 0, 1);
    record(a, 1, 3);
    cr_expect_str_eq(launched(), "1");
    fakedev_finish_all(bench->worker->dev);
    wirebench_run(bench);
    leave(a);
    a = NULL;
    cr_expect_eq(done(b, 5), 1);
    await(b, 1, 5);
    wireclient_launch(b, 1, 0, 2);
    cr_expect_str_eq(launched(), "2");
    cr_expect_eq(wireclient_fault(b), 0);
}

Test(signals, a_broken_one_can_be_recorded_again) {
    wireclient_launch(a, 1, 1, 1);
    record(a, 1, 3);
    wirebench_run(bench);
    leave(a);
    a = NULL;
    cr_expect_eq(done(b, 5), ERR_PEER_ENDED);
    record(b, 1, 5);
    wirebench_run(bench);
    cr_expect_eq(done(b, 5), 1);
    await(b, 2, 5);
    wireclient_launch(b, 2, 0, 2);
    launched();
    cr_expect_eq(wireclient_fault(b), 0);
}

Test(signals, who_is_killed_while_he_waits_is_waited_for_by_nobody) {
    wireclient_launch(a, 1, 0, 1);
    record(a, 1, 3);
    await(b, 1, 5);
    await(b, 2, 5);
    wireclient_launch(b, 1, 0, 2);
    cr_expect_str_eq(launched(), "1");
    struct wireclient *c = join(ALICE);
    cr_assert_eq(ask(c, WIRE_SIGNAL_OPEN, 0, key, NULL), 0);
    await(c, 1, 0);
    wireclient_launch(c, 1, 0, 3);
    wirebench_run(bench);
    leave(b);
    b = NULL;
    fakedev_finish_all(bench->worker->dev);
    cr_expect_str_eq(launched(), "3");
    fakedev_finish_all(bench->worker->dev);
    leave(c);
}
