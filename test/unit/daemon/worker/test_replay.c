/* SPDX-License-Identifier: Apache-2.0
 *
 * Several workers, one after the other, for the same client. The next one gets the state that the
 * last one left at one moment, and continues. Value waits and host functions hold the streams, so
 * that the operations in flight are known. The recovery state lists the operations that had begun,
 * as a killed worker would leave it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/memory/memory.h"
#include "test/lib/worker/succession.h"
#include "test/lib/worker/wireclient.h"

#define GRAN (2ull << 20)
#define MEMORY (96ull << 20)
#define MEMORY_MOST (64ull << 20) /* device memory of each worker */
#define WORDS_AT 4096u            /* offset in the host window of the words that streams wait for */
#define FROM_AT 8192u
#define TO_AT 12288u

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry gentle() { ret; }\n"
                            /* *q = *p + 1 */
                            ".visible .entry next(.param .u64 pp,.param .u64 pq) {\n"
                            ".reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.u64 %d1,[pp];\n"
                            "ld.param.u64 %d2,[pq]; ld.global.u32 %r1,[%d1];\n"
                            "add.s32 %r1,%r1,1; st.global.u32 [%d2],%r1; ret; }\n"
                            ".global .u32 step = 3;\n"
                            /* the same, except for the amount */
                            ".visible .entry steps(.param .u64 pp,.param .u64 pq) {\n"
                            ".reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.u64 %d1,[pp];\n"
                            "ld.param.u64 %d2,[pq]; ld.global.u32 %r1,[%d1];\n"
                            "ld.global.u32 %r2,[step]; add.s32 %r1,%r1,%r2;\n"
                            "st.global.u32 [%d2],%r1; ret; }\n";

static struct dev_ops ops; /* the software GPU's operations, as the test changes them */
static struct dev_recovery_ops recovery;

static struct succession begin(void) {
    if (!ops.open) ops = dev_soft;
    const struct worker_config config = {.ops = &ops,
                                         .device = {.memory_bytes = MEMORY, .threads = 1},
                                         .policy = {.exclusive = -1, .swap = -1}};
    return succession_begin(&config, NULL);
}

/* Another worker takes over; operation `seq` of stream `begun` had been given to the device (0:
 * unchanged). */
static void next_worker_when(struct succession *r, uint32_t begun, uint64_t seq) {
    struct recovery_state *e = &succession_client(r)->recovery_state;
    cr_assert(recovery_is_complete(e));
    if (seq) atomic_store(&e->header->begun[begun], seq);
    succession_next(r);
}

static void next_worker(struct succession *r) {
    next_worker_when(r, 0, 0);
    cr_assert_str_eq(r->refused, "");
}

/* ---- the client's records -------------------------------------------------------------------- */

static volatile uint32_t *word(const struct succession *r, uint32_t i) {
    return (volatile uint32_t *)(void *)(r->c->host + WORDS_AT) + i;
}

/* Holds the stream until word `i` is 1. */
static void hold(struct succession *r, uint32_t stream, uint32_t i) {
    struct wire_value v = {.addr = (uintptr_t)word(r, i), .value = 1, .bytes = 4};
    wireclient_send(r->c, WIRE_VALUE_WAIT, stream, false, &v, sizeof(v), NULL, 0);
}

static void let_go(struct succession *r, uint32_t i) {
    *word(r, i) = 1;
}

static bool reaches(struct succession *r, uint32_t stream, uint64_t seq) {
    const uint64_t end_ns = fdutil_now_ns() + 20000000000ull;
    while (wireclient_done(r->c, stream) < seq && fdutil_now_ns() < end_ns)
        wirebench_run(r->b);
    return wireclient_done(r->c, stream) >= seq && !wireclient_fault(r->c);
}

static void block(struct succession *r, uint16_t op) {
    struct wire_mem m = {.addr = r->c->windows.dev_base + WIRECLIENT_EPHEMERAL, .bytes = 512};
    wireclient_send(r->c, op, 0, false, &m, sizeof(m), NULL, 0);
    wirebench_run(r->b);
}

static uint64_t load(struct succession *r) {
    cr_assert_eq(wireclient_result(r->c, wireclient_load(r->c, 0, image)), 0);
    cr_assert_eq(wireclient_result(r->c, wireclient_func(r->c, 0, 0, "gentle")), 0);
    return 0;
}

static uint64_t launch(struct succession *r, uint32_t stream) {
    struct wire_launch l = {.func = 0, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    return wireclient_send(r->c, WIRE_LAUNCH, stream, false, &l, sizeof(l), NULL, 0);
}

/* ---- scenarios ------------------------------------------------------------------------------- */

/* Only the worker's own part of a page is new: its activity, and the device. */
Test(replay, a_page_takes_no_more_memory_than_it_did) {
    struct succession r = begin();
    uint64_t dev = r.c->windows.dev_base, host = (uintptr_t)r.c->host;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    cr_assert(reaches(&r, 0, wireclient_copy(r.c, 0, dev, host + FROM_AT, 64)));
    uint64_t done = wireclient_done(r.c, 0);
    /* far from the rest of the page */
    succession_client(&r)->com.page->text[WIRE_TEXT_BYTES - 1] = 7;
    next_worker(&r);
    cr_expect_eq(wireclient_done(r.c, 0), done);
    cr_expect_eq(r.c->com->text[WIRE_TEXT_BYTES - 1], 7);
    cr_expect_leq(r.after, r.before + 16384 / 512, "%ld blocks after %ld", (long)r.after,
                  (long)r.before);
    succession_end(&r);
}

Test(replay, output_of_kernels_goes_on_in_its_ring) {
    struct succession r = begin();
    const char *ring = (const char *)r.c->host + 8192;
    struct wire_mem m = {.addr = (uintptr_t)ring, .bytes = 8192};
    uint64_t t = wireclient_send(r.c, WIRE_TEXT, 0, true, &m, sizeof(m), NULL, 0);
    cr_assert_eq(wireclient_result(r.c, t), 0);
    text_put(&succession_client(&r)->text, 0, "one\n", 4);
    next_worker(&r);
    text_put(&succession_client(&r)->text, 0, "two\n", 4);
    cr_expect_eq(r.c->com->text_ring.addr, m.addr);
    cr_expect_eq(r.c->com->text_written, 24);
    cr_expect(!memcmp(ring + 8, "one\n", 4) && !memcmp(ring + 20, "two\n", 4));
    succession_end(&r);
}

Test(replay, what_it_lacked_stays_counted) {
    struct succession r = begin();
    uint64_t most = WIRECLIENT_EPHEMERAL, lane = WIRECLIENT_EPHEMERAL;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, most)), 0);
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, lane, most)),
                 ERR_NO_MEMORY);
    next_worker(&r);
    cr_expect_eq(atomic_load(&r.c->com->usage.refusals), 1);
    cr_expect_eq(atomic_load(&r.c->com->usage.needed_bytes), 2 * most);
    succession_end(&r);
}

Test(replay, what_had_not_begun_is_done_once_and_in_order) {
    struct succession r = begin();
    uint64_t dev = r.c->windows.dev_base, host = (uintptr_t)r.c->host;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    strcpy(r.c->host + FROM_AT, "first");
    strcpy(r.c->host + FROM_AT + 64, "second");
    cr_assert(reaches(&r, 0, wireclient_copy(r.c, 0, dev, host + FROM_AT, 64)));
    wireclient_create_stream(r.c, 1, WIRE_STREAM_NONBLOCKING);
    hold(&r, 1, 0);
    wireclient_copy(r.c, 1, host + TO_AT, dev, 64); /* "first" */
    wireclient_copy(r.c, 1, dev, host + FROM_AT + 64, 64);
    uint64_t last = wireclient_copy(r.c, 1, host + TO_AT + 64, dev, 64);
    wirebench_run(r.b);
    for (int i = 0; i < 3; i++)
        next_worker(&r);
    cr_expect_str_eq(r.c->host + TO_AT, "");
    let_go(&r, 0);
    cr_assert(reaches(&r, 1, last));
    cr_expect_str_eq(r.c->host + TO_AT, "first");
    cr_expect_eq(atomic_load(&r.c->com->stats.copies), 4, "each counts once");
    cr_expect_str_eq(r.c->host + TO_AT + 64, "second");
    succession_end(&r);
}

Test(replay, copies_that_had_begun_are_done_again) {
    struct succession r = begin();
    uint64_t dev = r.c->windows.dev_base, host = (uintptr_t)r.c->host;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    strcpy(r.c->host + FROM_AT, "again");
    hold(&r, 0, 0);
    wireclient_copy(r.c, 0, dev + 4096, host + FROM_AT, 64);
    uint64_t copy = wireclient_copy(r.c, 0, dev, host + FROM_AT, 64);
    uint64_t back = wireclient_copy(r.c, 0, host + TO_AT, dev, 64);
    wirebench_run(r.b);
    next_worker_when(&r, 0, copy);
    cr_expect_eq(wireclient_fault(r.c), 0);
    let_go(&r, 0);
    cr_assert(reaches(&r, 0, back));
    cr_expect_str_eq(r.c->host + TO_AT, "again");
    succession_end(&r);
}

/* One stream reads data that the other has written by then. */
Test(replay, copies_there_and_back_that_had_begun_are_not) {
    struct succession r = begin();
    uint64_t dev = r.c->windows.dev_base, host = (uintptr_t)r.c->host;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    hold(&r, 0, 0);
    wireclient_copy(r.c, 0, dev, host + FROM_AT, 64);
    uint64_t back = wireclient_copy(r.c, 0, host + FROM_AT, dev, 64);
    wirebench_run(r.b);
    next_worker_when(&r, 0, back);
    cr_expect_neq(wireclient_fault(r.c), 0);
    cr_expect(strstr(r.c->com->fault.text, "COPY was running"), "%s", r.c->com->fault.text);
    succession_end(&r);
}

/* The latest of these operations was given to the device last; the streams continue once the
 * word is 1. */
struct begun_rig {
    struct succession r;
    uint64_t dev, host;
};

static struct begun_rig begin_held(void) {
    struct begun_rig g = {.r = begin()};
    g.dev = g.r.c->windows.dev_base;
    g.host = (uintptr_t)g.r.c->host;
    cr_assert_eq(wireclient_result(g.r.c, wireclient_mem(g.r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    load(&g.r);
    cr_assert_eq(wireclient_result(g.r.c, wireclient_func(g.r.c, 0, 1, "next")), 0);
    cr_assert_eq(wireclient_result(g.r.c, wireclient_func(g.r.c, 0, 2, "steps")), 0);
    *(uint32_t *)(void *)(g.r.c->host + FROM_AT) = 5;
    cr_assert(reaches(&g.r, 0, wireclient_copy(g.r.c, 0, g.dev, g.host + FROM_AT, 4)));
    wireclient_create_stream(g.r.c, 1, WIRE_STREAM_NONBLOCKING);
    hold(&g.r, 0, 0);
    hold(&g.r, 1, 0);
    return g;
}

static uint64_t next(struct begun_rig *g, uint32_t stream, uint32_t func, uint64_t p, uint64_t q) {
    struct wire_launch l = {.func = func, .grid = {1, 1, 1}, .block = {1, 1, 1}, .param_bytes = 16};
    uint64_t params[2] = {p, q};
    return wireclient_send(g->r.c, WIRE_LAUNCH, stream, false, &l, sizeof(l), params, 16);
}

static void say_begun(struct begun_rig *g, uint32_t stream, uint64_t seq) {
    wirebench_run(g->r.b);
    atomic_store(&succession_client(&g->r)->recovery_state.header->begun[stream], seq);
}

static void goes_on(struct begun_rig *g, uint64_t at, uint32_t want) {
    next_worker(&g->r);
    cr_expect_eq(wireclient_fault(g->r.c), 0, "%s", g->r.c->com->fault.text);
    let_go(&g->r, 0);
    cr_assert(reaches(&g->r, 1, g->r.c->seq[1]) && reaches(&g->r, 0, g->r.c->seq[0]), "%s",
              g->r.c->com->fault.text);
    cr_assert(reaches(&g->r, 0, wireclient_copy(g->r.c, 0, g->host + TO_AT, at, 4)));
    cr_expect_eq(*(uint32_t *)(void *)(g->r.c->host + TO_AT), want);
    succession_end(&g->r);
}

static void fails(struct begun_rig *g, const char *kernel, const char *why) {
    next_worker(&g->r);
    cr_expect_neq(wireclient_fault(g->r.c), 0);
    cr_expect(strstr(g->r.c->com->fault.text, why), "%s", g->r.c->com->fault.text);
    cr_expect_str_eq(g->r.c->com->fault.kernel, kernel);
    succession_end(&g->r);
}

Test(replay, a_kernel_that_had_begun_runs_again) {
    struct begun_rig g = begin_held();
    next(&g, 0, 1, g.dev, g.dev + 64);
    /* adds a read of data that was written before */
    say_begun(&g, 0, next(&g, 0, 1, g.dev + 64, g.dev + 128));
    goes_on(&g, g.dev + 128, 7);
}

Test(replay, a_kernel_in_place_that_had_begun_fails_by_name) {
    struct begun_rig g = begin_held();
    say_begun(&g, 0, next(&g, 0, 1, g.dev, g.dev + 2));
    fails(&g, "next",
          "kernel next was running: its partial effects cannot be undone: the operation reads");
}

Test(replay, what_a_later_one_wrote_is_not_read_again) {
    struct begun_rig g = begin_held();
    next(&g, 0, 1, g.dev, g.dev + 64);
    say_begun(&g, 0, next(&g, 0, 1, g.dev + 64, g.dev));
    fails(&g, "next", "other operations use memory that one of them writes");
}

/* The order in which the two streams began is unknown. */
Test(replay, two_streams_that_had_begun_must_not_meet) {
    struct begun_rig g = begin_held();
    say_begun(&g, 0, next(&g, 0, 1, g.dev, g.dev + 64));
    say_begun(&g, 1, next(&g, 1, 1, g.dev + 64, g.dev + 128));
    fails(&g, "next", "other operations use memory that one of them writes");
    g = begin_held();
    say_begun(&g, 0, next(&g, 0, 1, g.dev, g.dev + 64));
    say_begun(&g, 1, next(&g, 1, 1, g.dev + 4, g.dev + 66));
    fails(&g, "next", "other operations use memory that one of them writes");
    g = begin_held();
    say_begun(&g, 0, next(&g, 0, 1, g.dev, g.dev + 64));
    say_begun(&g, 1, next(&g, 1, 1, g.dev, g.dev + 128));
    goes_on(&g, g.dev + 128, 6);
}

/* The host may have seen the value, and reused the memory that the kernel reads. */
Test(replay, what_the_host_may_have_been_told_is_over_is_not_done_again) {
    struct begun_rig g = begin_held();
    struct wire_value v = {.addr = g.host + TO_AT + 64, .value = 1, .bytes = 4};
    next(&g, 0, 1, g.host + FROM_AT, g.dev + 64);
    say_begun(&g, 0, wireclient_send(g.r.c, WIRE_VALUE_WRITE, 0, false, &v, sizeof(v), NULL, 0));
    fails(&g, "", "other operations use memory that one of them writes");
    g = begin_held();
    v.addr = g.host + TO_AT + 64;
    next(&g, 0, 1, g.dev, g.dev + 64);
    say_begun(&g, 0, wireclient_send(g.r.c, WIRE_VALUE_WRITE, 0, false, &v, sizeof(v), NULL, 0));
    goes_on(&g, g.dev + 64, 6);
}

Test(replay, a_variable_is_not_written_behind_its_reader) {
    struct begun_rig g = begin_held();
    struct wire_global_get ask = {.module = 0, .name_bytes = 5};
    uint64_t got = wireclient_send(g.r.c, WIRE_GLOBAL_GET, 0, true, &ask, sizeof(ask), "step", 5);
    cr_assert_eq(wireclient_result(g.r.c, got), 0);
    const struct wire_global_reply *where = (const void *)wireclient_reply(g.r.c, got)->data;
    uint64_t step = where->addr;
    next(&g, 0, 2, g.dev, g.dev + 64);
    say_begun(&g, 0, wireclient_copy(g.r.c, 0, step, g.host + FROM_AT, 4));
    fails(&g, "", "other operations use memory that one of them writes");
    g = begin_held();
    next(&g, 0, 2, g.dev, g.dev + 64);
    say_begun(&g, 0, wireclient_copy(g.r.c, 0, g.dev + 256, g.host + FROM_AT, 4));
    goes_on(&g, g.dev + 64, 8);
}

/* Only the operation that may have ended the previous worker is marked as suspect. */
Test(replay, a_suspect_is_told_so) {
    struct begun_rig g = begin_held();
    say_begun(&g, 0, next(&g, 0, 1, g.dev, g.dev));
    atomic_store(&succession_client(&g.r)->recovery_state.header->suspects, 3);
    next_worker(&g.r);
    cr_expect(strstr(g.r.c->com->fault.text,
                     "was running, one of 3 kernels that may have ended the worker"),
              "%s", g.r.c->com->fault.text);
    cr_expect_eq(atomic_load(&succession_client(&g.r)->recovery_state.header->suspects), 0);
    succession_end(&g.r);
}

/* Only operations that had begun are marked when they are read again. */
Test(replay, what_had_begun_is_known_until_it_runs) {
    struct succession r = begin();
    uint64_t dev = r.c->windows.dev_base, host = (uintptr_t)r.c->host;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    hold(&r, 0, 0);
    uint64_t first = wireclient_copy(r.c, 0, dev, host + FROM_AT, 64);
    wireclient_copy(r.c, 0, dev, host + FROM_AT, 64);
    wirebench_run(r.b);
    atomic_store(&succession_client(&r)->recovery_state.header->suspects, 3);
    next_worker_when(&r, 0, first);
    cr_assert_eq(wireclient_fault(r.c), 0);
    const struct stream *s = succession_client(&r)->streams.streams[0];
    cr_expect(stream_at(s, first)->again);
    cr_expect_not(stream_at(s, first + 1)->again);
    cr_expect_eq(succession_client(&r)->replay.suspects, 3);
    let_go(&r, 0);
    cr_assert(reaches(&r, 0, first + 1));
    succession_end(&r);
}

Test(replay, kernels_that_had_not_begun_run) {
    struct succession r = begin();
    load(&r);
    hold(&r, 0, 0);
    launch(&r, 0);
    uint64_t last = launch(&r, 0), launches;
    wirebench_run(r.b);
    launches = atomic_load(&r.c->com->stats.launches);
    next_worker(&r);
    next_worker(&r);
    cr_expect_eq(atomic_load(&r.c->com->stats.launches), launches, "counted once");
    const struct stream *s = succession_client(&r)->streams.streams[0];
    cr_expect_eq(stream_at(s, last)->launch.number, launches, "by the number that it had");
    let_go(&r, 0);
    cr_assert(reaches(&r, 0, last));
    succession_end(&r);
}

Test(replay, nothing_is_answered_twice) {
    struct succession r = begin();
    uint64_t back = wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN);
    cr_assert_eq(wireclient_result(r.c, back), 0);
    load(&r);
    uint64_t ping = wireclient_ping(r.c);
    cr_assert_eq(wireclient_result(r.c, ping), 0);
    uint64_t answers = atomic_load(&r.c->com->stats.answers);
    next_worker(&r);
    cr_expect_eq(atomic_load(&r.c->com->stats.answers), answers);
    succession_end(&r);
}

/* An operation that waits for all earlier ones is answered when those are complete. */
Test(replay, what_was_not_answered_is) {
    struct succession r = begin();
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    hold(&r, 0, 0);
    uint64_t unback = wireclient_mem(r.c, WIRE_MEM_UNBACK, 0, GRAN);
    cr_assert_eq(wireclient_result(r.c, unback), -EAGAIN);
    next_worker(&r);
    cr_assert_eq(wireclient_result(r.c, unback), -EAGAIN);
    /* this worker counts from where the first one was */
    next_worker(&r);
    cr_assert_eq(wireclient_result(r.c, unback), -EAGAIN);
    let_go(&r, 0);
    cr_assert(reaches(&r, 0, r.c->seq[0]));
    cr_assert_eq(wireclient_result(r.c, unback), 0);
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    succession_end(&r);
}

/* Numbers continue: although the log has no old ones, a new operation is not mistaken for an old
 * one. */
Test(replay, what_is_deferred_under_the_second_outlives_it) {
    struct succession r = begin();
    for (int i = 0; i < 3; i++)
        cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, i * GRAN, GRAN)), 0);
    cr_assert_eq(wireclient_result(r.c, wireclient_ping(r.c)), 0);
    next_worker(&r);
    hold(&r, 0, 0);
    uint64_t unback = wireclient_mem(r.c, WIRE_MEM_UNBACK, 0, GRAN);
    wirebench_run(r.b);
    cr_assert_eq(wireclient_result(r.c, wireclient_ping(r.c)), 0);
    next_worker(&r);
    let_go(&r, 0);
    cr_assert(reaches(&r, 0, r.c->seq[0]));
    cr_assert_eq(wireclient_result(r.c, unback), 0);
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    succession_end(&r);
}

Test(replay, a_host_function_is_called_once) {
    struct succession r = begin();
    uint64_t func = wireclient_host_func(r.c, 0, 77);
    wirebench_run(r.b);
    cr_assert_eq(atomic_load(&r.c->com->callbacks_posted), 1);
    next_worker(&r);
    next_worker(&r);
    cr_expect_eq(atomic_load(&r.c->com->callbacks_posted), 1);
    cr_expect_eq(wireclient_done(r.c, 0), func - 1);
    atomic_store(&r.c->sub->callbacks_done, 1);
    cr_assert(reaches(&r, 0, func));
    cr_assert(reaches(&r, 0, func));
    uint64_t more = wireclient_host_func(r.c, 0, 78);
    wirebench_run(r.b);
    cr_expect_eq(atomic_load(&r.c->com->callbacks_posted), 2);
    next_worker(&r);
    atomic_store(&r.c->sub->callbacks_done, 2);
    cr_assert(reaches(&r, 0, more));
    succession_end(&r);
}

Test(replay, it_returned_while_nobody_was_there) {
    struct succession r = begin();
    uint64_t func = wireclient_host_func(r.c, 0, 77);
    wirebench_run(r.b);
    atomic_store(&r.c->sub->callbacks_done, 1);
    next_worker(&r);
    cr_assert(reaches(&r, 0, func));
    cr_expect_eq(atomic_load(&r.c->com->callbacks_posted), 1);
    succession_end(&r);
}

Test(replay, a_stream_that_was_made_again) {
    struct succession r = begin();
    wireclient_create_stream(r.c, 1, WIRE_STREAM_NONBLOCKING);
    hold(&r, 1, 0);
    wireclient_host_func(r.c, 1, 5);
    wireclient_destroy_stream(r.c, 1);
    wireclient_create_stream(r.c, 1, WIRE_STREAM_NONBLOCKING);
    uint64_t last = wireclient_host_func(r.c, 1, 6);
    wirebench_run(r.b);
    next_worker(&r);
    next_worker(&r);
    let_go(&r, 0);
    cr_assert(reaches(&r, 1, last - 2));
    wirebench_run(r.b);
    next_worker(&r);
    atomic_store(&r.c->sub->callbacks_done, 1);
    cr_assert(reaches(&r, 1, last - 1));
    wirebench_run(r.b);
    cr_expect_eq(r.c->com->callbacks[1], 6);
    atomic_store(&r.c->sub->callbacks_done, 2);
    cr_assert(reaches(&r, 1, last));
    succession_end(&r);
}

/* Host functions are posted in another order than they were submitted. */
Test(replay, the_one_that_was_called_is_known) {
    struct succession r = begin();
    wireclient_create_stream(r.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(r.c, 2, WIRE_STREAM_NONBLOCKING);
    hold(&r, 1, 0);
    uint64_t first = wireclient_host_func(r.c, 1, 5), second = wireclient_host_func(r.c, 2, 6);
    wirebench_run(r.b);
    cr_assert_eq(r.c->com->callbacks[0], 6);
    next_worker(&r);
    let_go(&r, 0);
    cr_assert(reaches(&r, 1, first - 1));
    wirebench_run(r.b);
    cr_assert_eq(atomic_load(&r.c->com->callbacks_posted), 2);
    cr_expect_eq(r.c->com->callbacks[1], 5);
    atomic_store(&r.c->sub->callbacks_done, 1);
    cr_assert(reaches(&r, 2, second));
    cr_expect_eq(wireclient_done(r.c, 1), first - 1);
    succession_end(&r);
}

/* Records that it completed are no longer in the log. */
Test(replay, the_last_word_is_not_said_twice) {
    struct succession r = begin();
    block(&r, WIRE_MEM_USE);
    block(&r, WIRE_MEM_DROP);
    next_worker(&r);
    cr_assert_eq(wireclient_fault(r.c), 0);
    block(&r, WIRE_MEM_USE);
    next_worker(&r);
    block(&r, WIRE_MEM_DROP);
    cr_assert_eq(wireclient_fault(r.c), 0);
    wireclient_create_stream(r.c, 1, 0);
    wireclient_destroy_stream(r.c, 1);
    wirebench_run(r.b);
    next_worker(&r);
    cr_assert_eq(wireclient_fault(r.c), 0);
    load(&r);
    struct wire_module_unload u = {.module = 0};
    uint64_t gone = wireclient_send(r.c, WIRE_MODULE_UNLOAD, 0, true, &u, sizeof(u), NULL, 0);
    cr_assert_eq(wireclient_result(r.c, gone), 0);
    next_worker(&r);
    cr_assert_eq(wireclient_fault(r.c), 0);
    load(&r); /* under the same number */
    cr_assert(reaches(&r, 0, launch(&r, 0)));
    succession_end(&r);
}

/* The ring's read position is stored with a module's placement too, if that is all there is. */
Test(replay, a_module_and_its_place_alone) {
    struct succession r = begin();
    cr_assert_eq(wireclient_result(r.c, wireclient_load(r.c, 0, image)), 0);
    next_worker(&r);
    cr_assert_eq(wireclient_fault(r.c), 0);
    cr_assert_eq(wireclient_result(r.c, wireclient_func(r.c, 0, 0, "gentle")), 0);
    cr_assert(reaches(&r, 0, launch(&r, 0)));
    succession_end(&r);
}

/* State of a worker that ended while the module was being loaded. */
static void forget_place(struct recovery_state *e) {
    uint64_t at = 0, next;
    for (struct log_entry *l; (l = record_log_at(&e->log, at, &next)); at = next)
        if (record_log_record(l)->op == RECORD_LOG_PLACED) break;
    atomic_store(&e->header->log.end, at);
}

Test(replay, a_module_that_was_being_loaded) {
    struct succession r = begin();
    cr_assert_eq(wireclient_result(r.c, wireclient_load(r.c, 0, image)), 0);
    forget_place(&succession_client(&r)->recovery_state);
    next_worker(&r);
    cr_assert_eq(wireclient_fault(r.c), 0);
    cr_assert(recovery_is_complete(&succession_client(&r)->recovery_state), "it has a place now");
    cr_assert_eq(wireclient_result(r.c, wireclient_func(r.c, 0, 0, "gentle")), 0);
    next_worker(&r);
    cr_assert_eq(wireclient_fault(r.c), 0);
    cr_assert(reaches(&r, 0, launch(&r, 0)));
    succession_end(&r);
}

/* ---- objects that the device cannot restore -------------------------------------------------- */

static int refuse_place(struct dev_module *m, const struct dev_granule *where, uint32_t count,
                        char *why, size_t why_bytes) {
    (void)m, (void)where, (void)count;
    snprintf(why, why_bytes, "variable x of a module has another address than before");
    return -EINVAL;
}

static int reserve_elsewhere(struct dev *dev, struct dev_windows *windows,
                             const struct dev_space_ops *space_ops, void *arg,
                             struct dev_space **out) {
    windows->dev_base -= 1ull << 40;
    return dev_soft.space_create(dev, windows, space_ops, arg, out);
}

static const char *said; /* the reason that the device gives, for any space */

static const char *say(const struct dev_space *space) {
    (void)space;
    return said;
}

Test(replay, a_module_that_cannot_be_had_again_ends_its_job_by_name) {
    struct succession r = begin();
    load(&r);
    recovery = *dev_soft.recovery;
    recovery.module_place_at = refuse_place;
    ops.recovery = &recovery;
    next_worker(&r);
    cr_expect_neq(wireclient_fault(r.c), 0);
    cr_expect(strstr(r.c->com->fault.text, "variable x of a module"), "%s", r.c->com->fault.text);
    succession_end(&r);
}

Test(replay, addresses_that_are_elsewhere_end_the_job_by_name) {
    struct succession r = begin();
    ops.space_create = reserve_elsewhere;
    next_worker_when(&r, 0, 0);
    cr_expect(strstr(r.refused, "addresses elsewhere"), "%s", r.refused);
    wireclient_free(r.c);
    wirebench_stop(r.b);
}

static const char *lack(const struct succession *r) {
    const char *text = recovery_lacks(&succession_client(r)->recovery_state);
    return text ? text : "";
}

/* For modules, and for clients that get the addresses of variables: the device is asked before
 * the client gets an answer. */
Test(replay, the_device_is_asked_when_it_may_matter) {
    struct wire_global_get g = {.module = 0, .name_bytes = 5};
    ops = dev_soft;
    recovery = *dev_soft.recovery;
    recovery.space_unrestorable = say;
    ops.recovery = &recovery;
    struct succession r = begin();
    load(&r);
    cr_expect_str_eq(lack(&r), "");
    said = "variable x of a module changes";
    wireclient_result(r.c,
                      wireclient_send(r.c, WIRE_GLOBAL_GET, 0, true, &g, sizeof(g), "none", 5));
    cr_expect_str_eq(lack(&r), said);
    succession_end(&r);
    r = begin();
    load(&r);
    cr_expect_str_eq(lack(&r), said);
    succession_end(&r);
}

/* `done_bytes` of the memory are restored first, or all of it: restored memory counts once, on a
 * device too small to hold it twice. */
static void back_again(uint64_t done_bytes) {
    struct succession r = begin();
    uint64_t dev = r.c->windows.dev_base, host = (uintptr_t)r.c->host;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, MEMORY_MOST)), 0);
    for (uint64_t at = 0; at < done_bytes; at += GRAN)
        wireclient_copy(r.c, 0, dev + at, host + FROM_AT, 8);
    struct recovery_state *e = &succession_client(&r)->recovery_state;
    atomic_fetch_sub(&e->header->deferred_done, 1);
    if (done_bytes < MEMORY_MOST) {
        uint64_t rest = MEMORY_MOST - done_bytes;
        cr_assert_eq(memory_unback(succession_client(&r)->memory, dev + done_bytes, rest), 0);
    }
    next_worker(&r);
    cr_assert_eq(wireclient_fault(r.c), 0);
    cr_assert(reaches(&r, 0, wireclient_copy(r.c, 0, dev + MEMORY_MOST - 8, host + FROM_AT, 8)));
    cr_expect_eq(memory_persistent(succession_client(&r)->memory), MEMORY_MOST);
    succession_end(&r);
}

Test(replay, memory_that_was_backed_but_not_counted) {
    back_again(MEMORY_MOST);
}

Test(replay, memory_that_was_backed_in_part) {
    back_again(48ull << 20);
}
