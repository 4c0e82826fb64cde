/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams that wait for a value: the writers that release them, the work that they block meanwhile,
 * and streams whose value never comes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/operations/value_wait.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define CELL 4096u /* offset in the host window, outside the images */

static struct wirebench *bench;
static struct wireclient *a, *b;

static struct wireclient *join(void) {
    struct wireclient *c = wireclient_attach(bench);
    wireclient_kernels(c, "kern hang");
    for (uint32_t s = 1; s <= 40; s++)
        wireclient_create_stream(c, s, WIRE_STREAM_NONBLOCKING);
    wireclient_mem(c, WIRE_MEM_BACK, 0, PAGE);
    wirebench_run(bench);
    fakedev_forget_launches(bench->worker->dev);
    return c;
}

static void begin(void) {
    bench = wirebench_start(&fakedev, 4);
    a = join();
    b = join();
}

static void leave(struct wireclient *c) {
    wireclient_detach(c);
    wireclient_free(c);
}

static void end(void) {
    const char *what;
    leave(a);
    leave(b);
    cr_expect_eq(fakedev_violations(bench->worker->dev, &what), 0, "%s", what);
    cr_expect(list_empty(&bench->worker->work.watching));
    cr_expect_eq(value_wait_next_ns(bench->worker), UINT64_MAX);
    wirebench_stop(bench);
}

TestSuite(watch, .init = begin, .fini = end);

/* ---- words ----------------------------------------------------------------------------------- */

static uint64_t device(const struct wireclient *c, uint64_t offset) {
    return c->windows.dev_base + offset;
}
static uint64_t host(const struct wireclient *c, uint64_t offset) {
    return c->windows.host_base + CELL + offset;
}

static void await(struct wireclient *c, uint32_t stream, uint64_t addr, uint64_t value) {
    struct wire_value v = {.addr = addr, .value = value, .bytes = 4, .compare = WIRE_VALUE_EQ};
    wireclient_send(c, WIRE_VALUE_WAIT, stream, false, &v, sizeof(v), NULL, 0);
}
static void put(struct wireclient *c, uint32_t stream, uint64_t addr, uint64_t value,
                uint32_t bytes) {
    struct wire_value v = {.addr = addr, .value = value, .bytes = bytes};
    wireclient_send(c, WIRE_VALUE_WRITE, stream, false, &v, sizeof(v), NULL, 0);
}
static void poke(struct wireclient *c, uint64_t offset, uint32_t value) {
    atom_store_release((_Atomic uint32_t *)(c->host + CELL + offset), value);
}
static const char *launched(void) {
    return wirebench_launched(bench);
}

/* No call reports the value: the worker finds it by polling. */
static void until_done(struct wireclient *c, uint32_t stream) {
    uint64_t last = c->seq[stream];
    bool done = PATIENCE_UNTIL((wirebench_run(bench), wireclient_done(c, stream) == last));
    cr_assert(done, "the value is not seen");
}

/* ---- main use -------------------------------------------------------------------------------- */

static bool met(uint32_t bytes, uint32_t compare, uint64_t value, uint64_t cell) {
    struct op op = {.value = {.value = value, .bytes = bytes, .compare = compare}};
    return watch_met(&op, cell);
}

Test(watch_met, reached_is_cyclic_and_of_the_cells_size) {
    cr_expect(met(4, WIRE_VALUE_GEQ, 5, 5) && met(4, WIRE_VALUE_GEQ, 5, 6));
    cr_expect(!met(4, WIRE_VALUE_GEQ, 5, 4));
    cr_expect(met(4, WIRE_VALUE_GEQ, 0xfffffffe, 1), "it went around");
    cr_expect(!met(4, WIRE_VALUE_GEQ, 1, 0xfffffffe));
    cr_expect(met(8, WIRE_VALUE_GEQ, 1, 0xfffffffe));
    cr_expect(met(8, WIRE_VALUE_GEQ, UINT64_MAX, 3) && !met(8, WIRE_VALUE_GEQ, 3, UINT64_MAX));
}

Test(watch_met, equal_common_and_missing_bits) {
    cr_expect(met(4, WIRE_VALUE_EQ, 7, 7) && !met(4, WIRE_VALUE_EQ, 7, 8));
    cr_expect(met(4, WIRE_VALUE_AND, 6, 2) && !met(4, WIRE_VALUE_AND, 6, 9));
    cr_expect(!met(4, WIRE_VALUE_NOR, 0xffff0000, 0xffff), "all bits of four bytes");
    cr_expect(met(4, WIRE_VALUE_NOR, 0xffff0000, 0x7fff));
    cr_expect(met(8, WIRE_VALUE_NOR, 0xffff0000, 0xffff), "of eight there are more");
}

/* ---- writers that release it ----------------------------------------------------------------- */

Test(watch, the_host_writes_and_says_nothing) {
    await(a, 1, host(a, 0), 3);
    wireclient_launch(a, 1, 0, 1);
    wireclient_launch(a, 2, 0, 2);
    cr_expect_str_eq(launched(), "2", "other streams go on");
    poke(a, 0, 2);
    cr_expect_str_eq(launched(), "");
    poke(a, 0, 3);
    until_done(a, 1);
    cr_expect_str_eq(launched(), "1");
}

Test(watch, what_is_there_already_is_not_waited_for) {
    poke(a, 0, 3);
    await(a, 1, host(a, 0), 3);
    await(a, 1, host(a, 0), 3);
    wireclient_launch(a, 1, 0, 1);
    cr_expect_str_eq(launched(), "1");
    cr_expect(list_empty(&bench->worker->work.watching));
}

Test(watch, another_stream_writes_or_copies) {
    await(a, 1, device(a, 64), 3);
    wireclient_launch(a, 1, 0, 1);
    await(a, 2, device(a, 128), 4);
    wireclient_launch(a, 2, 0, 2);
    put(a, 3, device(a, 64), 3, 4);
    cr_expect_str_eq(launched(), "1", "seen when that is complete");
    poke(a, 0, 4);
    wireclient_copy(a, 3, device(a, 128), host(a, 0), 4);
    cr_expect_str_eq(launched(), "2");
}

/* However rarely the worker polls by then. */
Test(watch, what_is_completed_is_a_reason_to_look) {
    await(a, 1, device(a, 64), 3);
    wireclient_launch(a, 1, 0, 1);
    wirebench_run(bench);
    usleep(100000);
    wirebench_run(bench);
    put(a, 3, device(a, 64), 3, 4);
    cr_expect_str_eq(launched(), "1");
}

Test(watch, eight_bytes) {
    struct wire_value v = {.addr = device(a, 64), .value = 1ull << 40, .bytes = 8};
    v.compare = WIRE_VALUE_GEQ;
    wireclient_send(a, WIRE_VALUE_WAIT, 1, false, &v, sizeof(v), NULL, 0);
    wireclient_launch(a, 1, 0, 1);
    put(a, 2, device(a, 64), (1ull << 40) - 1, 8);
    cr_expect_str_eq(launched(), "");
    put(a, 2, device(a, 64), 1ull << 41, 8);
    cr_expect_str_eq(launched(), "1");
}

/* Earlier work of the same stream may write the cell. */
Test(watch, it_begins_when_all_before_it_is_complete) {
    fakedev_hold(bench->worker->dev, true);
    poke(a, 0, 3);
    wireclient_launch(a, 1, 0, 1);
    await(a, 1, host(a, 0), 3);
    wireclient_launch(a, 1, 0, 2);
    cr_expect_str_eq(launched(), "1");
    poke(a, 0, 0);
    fakedev_finish_all(bench->worker->dev);
    cr_expect_str_eq(launched(), "");
    poke(a, 0, 3);
    cr_assert(PATIENCE_UNTIL((wirebench_run(bench), fakedev_busy(bench->worker->dev) == 1)));
    fakedev_hold(bench->worker->dev, false);
    cr_expect_str_eq(launched(), "2");
}

/* Through pages that both clients map. */
Test(watch, another_job_writes_to_memory_that_both_have) {
    struct wire_segment s = {.addr = device(a, 0), .bytes = PAGE}, o = {.segment = 1};
    uint64_t ticket = wireclient_send(a, WIRE_MEM_SHARE, 0, true, &s, sizeof(s), NULL, 0);
    cr_assert_eq(wireclient_result(a, ticket), 0);
    const struct wire_segment_reply *told = (const void *)wireclient_reply(a, ticket)->data;
    memcpy(o.key, told->key, sizeof(o.key));
    ticket = wireclient_send(b, WIRE_MEM_OPEN, 0, true, &o, sizeof(o), NULL, 0);
    cr_assert_eq(wireclient_result(b, ticket), 0);
    struct wire_segment show = {.segment = 1, .addr = device(b, 8 * PAGE), .bytes = PAGE};
    wireclient_send(b, WIRE_MEM_SHOW, 0, false, &show, sizeof(show), NULL, 0);
    await(b, 1, device(b, 8 * PAGE + 64), 9);
    wireclient_launch(b, 1, 0, 1);
    cr_expect_str_eq(launched(), "");
    put(a, 1, device(a, 64), 9, 4);
    until_done(b, 1);
    cr_expect_str_eq(launched(), "1");
}

Test(watch, more_than_are_looked_at_at_once) {
    for (uint32_t s = 1; s <= 40; s++)
        await(a, s, host(a, 4 * s), s);
    wirebench_run(bench);
    poke(a, 4 * 20, 20);
    until_done(a, 20);
    for (uint32_t s = 40; s >= 1; s--)
        poke(a, 4 * s, s);
    for (uint32_t s = 1; s <= 40; s++)
        until_done(a, s);
}

/* ---- waits that never end -------------------------------------------------------------------- */

Test(watch, who_waits_for_ever_hangs_alone_and_can_be_ended) {
    struct wireclient *c = join();
    for (uint32_t s = 1; s <= 20; s++) {
        await(c, s, host(c, 0), 1);
        wireclient_launch(c, s, 0, s);
    }
    wirebench_run(bench);
    wireclient_launch(a, 1, 0, 100);
    cr_expect_str_eq(launched(), "100");
    cr_expect_eq(wireclient_fault(c), 0);
    leave(c);
    cr_expect_str_eq(launched(), "");
}

Test(watch, who_dies_is_not_looked_for) {
    await(a, 1, host(a, 0), 1);
    await(a, 2, host(a, 8), 1);
    wirebench_run(bench);
    cr_expect(!list_empty(&bench->worker->work.watching));
    await(a, 3, host(b, 0), 1);
    wirebench_run(bench);
    cr_expect_eq(wireclient_fault(a), 700);
    cr_expect(list_empty(&bench->worker->work.watching));
    cr_expect_eq(value_wait_next_ns(bench->worker), UINT64_MAX);
}

/* The record that releases the stream comes after the end of the iteration. */
Test(watch, a_boundary_is_not_waited_for_by_what_waits) {
    for (int i = 0; i < 3; i++) {
        wireclient_say(a, WIRE_ITERATION);
        await(a, 1, device(a, 64), 1);
        wireclient_launch(a, 1, 0, (uint64_t)i);
    }
    put(a, 2, device(a, 64), 1, 4);
    until_done(a, 1);
}

/* ---- invalid addresses ----------------------------------------------------------------------- */

Test(watch, memory_that_is_not_backed_is_a_fault) {
    await(a, 1, device(a, 32 * PAGE), 0);
    wirebench_run(bench);
    cr_expect_eq(wireclient_fault(a), 700);
    cr_expect_eq(wireclient_fault(b), 0);
}

Test(watch, memory_of_others_is_a_fault) {
    poke(b, 0, 1);
    await(a, 1, host(b, 0), 1);
    wirebench_run(bench);
    cr_expect_eq(wireclient_fault(a), 700);
    put(b, 1, host(a, 0), 1, 4);
    wirebench_run(bench);
    cr_expect_eq(wireclient_fault(b), 700);
}
