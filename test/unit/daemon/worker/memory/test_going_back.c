/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that go back to a savepoint under the next worker: completed operations since then are
 * repeated, the rest continues, and the host notices nothing. A host function that has not returned
 * keeps operations in flight; half-done kernels are simulated by writing into the memory.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/device/device_variables.h"
#include "daemon/worker/memory/memory.h"
#include "proto/cuda/cuda_abi.h"
#include "test/lib/worker/nodriver.h"
#include "test/lib/worker/succession.h"
#include "test/lib/worker/wireclient.h"

#define GRAN (2ull << 20)
#define MEMORY (96ull << 20)
#define FROM_AT 8192u /* offset in the host window */
#define TO_AT 12288u
#define SPOILED 0xdeadbeefu
#define HOLDS 1u /* nonblocking stream whose host function does not return */
#define OTHER 2u

enum kernel_func { APPLY, SLOWLY, COUNT, SAY };

static const char image[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f,.param .b64 a);\n"
    ".global .u32 total = 10;\n.global .align 1 .b8 text[3] = {104,105,0};\n"
    /* *p = *p * 3 + *q */
    ".visible .entry apply(.param .u64 pp,.param .u64 pq) {\n"
    ".reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.u64 %d1,[pp]; ld.param.u64 %d2,[pq];\n"
    "ld.global.u32 %r1,[%d1]; ld.global.u32 %r2,[%d2]; mad.lo.s32 %r1,%r1,3,%r2;\n"
    "st.global.u32 [%d1],%r1; ret; }\n"
    /* the same, but slowly */
    ".visible .entry slowly(.param .u64 pp,.param .u64 pq) {\n"
    ".reg .b64 %d<3>; .reg .b32 %r<4>; .reg .pred %p<2>;\n"
    "ld.param.u64 %d1,[pp]; ld.param.u64 %d2,[pq]; mov.u32 %r3,0;\n"
    "more: add.u32 %r3,%r3,1; setp.lt.u32 %p1,%r3,100000; @%p1 bra more;\n"
    "ld.global.u32 %r1,[%d1]; ld.global.u32 %r2,[%d2]; mad.lo.s32 %r1,%r1,3,%r2;\n"
    "st.global.u32 [%d1],%r1; ret; }\n"
    /* *p = ++total */
    ".visible .entry count(.param .u64 pp,.param .u64 pq) {\n"
    ".reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1,[pp]; ld.global.u32 %r1,[total];\n"
    "add.u32 %r1,%r1,1; st.global.u32 [total],%r1; st.global.u32 [%d1],%r1; ret; }\n"
    ".visible .entry say(.param .u64 pp,.param .u64 pq) {\n"
    ".reg .b64 %d<2>; .param .b64 f; .param .b64 a; .param .b32 o;\n"
    "mov.u64 %d1,text; cvta.global.u64 %d1,%d1; st.param.b64 [f],%d1; mov.u64 %d1,0;\n"
    "st.param.b64 [a],%d1; call.uni (o),vprintf,(f,a); ret; }\n";

/* ---- the device's operations ----------------------------------------------------------------- */

static struct dev_ops ops; /* the software GPU's operations, of which these are observed */
static uint32_t given;     /* operations given to the device for a client that catches up */
static uint32_t together;  /* number of these given while others were in flight */
static uint32_t stall_at;  /* from this operation on, completion is not reported */
static uint64_t least[WIRE_STREAMS_FIRST]; /* stream_done at the end; must not decrease */
static bool lowered;

static void watch(struct dev_op *op) {
    const struct client *c = client_of(op_of(op)->stream);
    for (uint32_t i = 0; i < WIRE_STREAMS_FIRST; i++)
        lowered |= atomic_load(&c->com.page->stream_done[i]) < least[i];
    if (!replay_catches_up(&c->replay)) return;
    given++;
    together += c->inflight > 0;
}

static int watch_launch(struct dev_queue *q, const struct dev_launch *l, struct dev_op *op) {
    watch(op);
    return dev_soft.launch(q, l, op);
}

static int watch_copy(struct dev_queue *q, const struct dev_copy *k, struct dev_op *op) {
    watch(op);
    return dev_soft.copy(q, k, op);
}

static int watch_memset(struct dev_queue *q, const struct dev_memset *k, struct dev_op *op) {
    watch(op);
    return dev_soft.memset(q, k, op);
}

static bool dies; /* ends the process at the next completion */
static int lost;

static int watch_lost(struct dev *dev) {
    return lost;
}

static struct dev_op *watch_poll(struct dev *dev) {
    struct dev_op *over = stall_at && given >= stall_at ? NULL : dev_soft.poll(dev);
    for (struct dev_op *op = dies ? over : NULL; op; op = op->next) {
        op->result = ERR_DEVICE_LOST;
        op->begun = true;
        lost = ERR_ILLEGAL_ADDRESS;
    }
    return over;
}

static bool save_dies; /* the device is lost when memory or variables are saved next */

static int die(void) {
    lost = ERR_ILLEGAL_ADDRESS;
    return ERR_DEVICE_LOST;
}

static int watch_save(struct dev *dev, void *to, const struct dev_chunk *chunk) {
    return save_dies ? die() : dev_soft.chunk_save(dev, to, chunk);
}

static int watch_granule(struct dev *dev, void *to, uint64_t chunk) {
    return save_dies ? die() : dev_soft.variables->granule_save(dev, to, chunk);
}

static bool load_dies;

static int watch_load(struct dev *dev, uint64_t chunk, const void *from) {
    return load_dies ? die() : dev_soft.variables->granule_load(dev, chunk, from);
}

/* ---- a client -------------------------------------------------------------------------------- */

static struct succession r;
static uint64_t dev, host;

static struct savepoint *point(void) {
    return &succession_client(&r)->recovery_state.savepoint;
}

static void no_more(void) {
    point()->due_ns = point()->soonest_ns = UINT64_MAX;
}

static bool is_whole(void) {
    wirebench_run(r.b);
    return savepoint_whole(point());
}

static uint64_t reason(void) {
    return atomic_load(&r.c->com->savepoint.reason);
}

/* Saves the memory while no operation is in flight; memory is not saved again before the next
 * call. */
static void save(void) {
    point()->due_ns = point()->soonest_ns = 0;
    wireclient_event(r.c, 0, 0);
    cr_assert(is_whole(), "reason %lu", reason());
    no_more();
}

static volatile uint32_t *word(uint32_t i) {
    return (volatile uint32_t *)(uintptr_t)dev + i;
}

static uint32_t *host_word(uint32_t at) {
    return (uint32_t *)(void *)(r.c->host + at);
}

static void get_func(enum kernel_func func, const char *name) {
    cr_assert_eq(wireclient_result(r.c, wireclient_func(r.c, 0, func, name)), 0);
}

static const struct dev_variables_ops watched_variables = {watch_granule, watch_load};
static const struct dev_driver_ops watched_driver = {.lost = watch_lost,
                                                     .space_owns = nodriver_owns,
                                                     .host_show = nodriver_show,
                                                     .host_shown = nodriver_shown,
                                                     .queue_time = nodriver_time};

static void setup(void) {
    ops = dev_soft;
    ops.launch = watch_launch;
    ops.copy = watch_copy;
    ops.memset = watch_memset;
    ops.poll = watch_poll;
    ops.driver = &watched_driver;
    ops.chunk_save = watch_save;
    ops.variables = &watched_variables;
    const struct worker_config config = {.ops = &ops,
                                         .device = {.memory_bytes = MEMORY, .threads = 2},
                                         .policy = {.exclusive = -1, .swap = -1},
                                         .savepoint_ns = 1};
    const struct wire_job job = {.flags = WIRE_JOB_RESERVED | WIRE_JOB_SAVEPOINTS};
    r = succession_begin(&config, &job);
    no_more();
    dev = r.c->windows.dev_base;
    host = (uintptr_t)r.c->host;
    cr_assert_eq(wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    cr_assert_eq(wireclient_result(r.c, wireclient_load(r.c, 0, image)), 0);
    get_func(APPLY, "apply");
    get_func(SLOWLY, "slowly");
    get_func(COUNT, "count");
    get_func(SAY, "say");
    wireclient_create_stream(r.c, HOLDS, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(r.c, OTHER, WIRE_STREAM_NONBLOCKING);
    wirebench_run(r.b);
}

static void teardown(void) {
    succession_end(&r);
}

TestSuite(going_back, .init = setup, .fini = teardown);

static uint64_t launch(uint32_t stream, enum kernel_func func, uint32_t to, uint32_t from) {
    struct wire_launch l = {.func = func, .grid = {1, 1, 1}, .block = {1, 1, 1}, .param_bytes = 16};
    uint64_t params[2] = {dev + 4ull * to, dev + 4ull * from};
    return wireclient_send(r.c, WIRE_LAUNCH, stream, false, &l, sizeof(l), params, 16);
}

/* Fills one word of 4 bytes. */
static uint64_t fill(uint32_t stream, uint64_t addr, uint32_t value) {
    struct wire_memset m = {
        .dst = addr, .width_elems = 1, .height = 1, .value = value, .elem_bytes = 4};
    return wireclient_send(r.c, WIRE_MEMSET, stream, false, &m, sizeof(m), NULL, 0);
}

static uint64_t write_value(uint32_t stream, uint64_t addr, uint64_t value, uint32_t bytes) {
    struct wire_value v = {.addr = addr, .value = value, .bytes = bytes};
    return wireclient_send(r.c, WIRE_VALUE_WRITE, stream, false, &v, sizeof(v), NULL, 0);
}

static bool reaches(uint32_t stream) {
    const uint64_t end_ns = fdutil_now_ns() + 20000000000ull;
    while (wireclient_done(r.c, stream) < r.c->seq[stream] && fdutil_now_ns() < end_ns)
        wirebench_run(r.b);
    return wireclient_done(r.c, stream) >= r.c->seq[stream] && !wireclient_fault(r.c);
}

static void all_complete(void) {
    cr_assert(reaches(0) && reaches(HOLDS) && reaches(OTHER), "%s", r.c->com->fault.text);
}

static void hold(void) {
    wireclient_host_func(r.c, HOLDS, 77);
    wirebench_run(r.b);
}

static void let_go(void) {
    atomic_store(&r.c->sub->callbacks_done, atomic_load(&r.c->com->callbacks_posted));
}

/* Ends the worker while the stream's latest operation has begun and has done half of its work. */
static void die_within(uint32_t stream) {
    wirebench_run(r.b);
    for (uint32_t i = 0; i < WIRE_STREAMS_FIRST; i++)
        least[i] = wireclient_done(r.c, i);
    atomic_store(&succession_client(&r)->recovery_state.header->begun[stream], r.c->seq[stream]);
    for (uint32_t i = 0; i < 64; i++)
        *word(i) = SPOILED;
    given = together = 0;
    succession_next(&r);
}

static void go_on(void) {
    const uint64_t end_ns = fdutil_now_ns() + 20000000000ull;
    while (succession_client(&r)->replay.active && fdutil_now_ns() < end_ns)
        wirebench_run(r.b);
    cr_assert_not(succession_client(&r)->replay.active);
    cr_assert_eq(wireclient_fault(r.c), 0, "%s", r.c->com->fault.text);
}

static void go_back_within(uint32_t stream) {
    die_within(stream);
    cr_assert_str_eq(r.refused, "");
    cr_assert(succession_client(&r)->replay.back);
    no_more();
    go_on();
}

static uint64_t returns(void) {
    return atomic_load(&r.c->com->savepoint.returns);
}

/* Sets word 0 to 5 and saves it. */
static void begin_with(uint32_t value) {
    *host_word(FROM_AT) = value;
    wireclient_copy(r.c, 0, dev, host + FROM_AT, 4);
    fill(0, dev + 4, 1);
    fill(0, dev + 8, 2);
    all_complete();
    save();
}

/* Ends the worker during the latest kernel, with this value in word 0. */
static void ends_with(uint32_t value) {
    let_go();
    all_complete();
    cr_expect_eq(*word(0), value, "%u, not %u", *word(0), value);
    cr_expect_not(lowered, "the page goes back");
}

/* ---- repeated operations --------------------------------------------------------------------- */

Test(going_back, what_was_complete_is_done_again_in_order) {
    begin_with(5);
    launch(0, APPLY, 0, 1); /* 16 */
    launch(0, APPLY, 0, 2); /* 50 */
    all_complete();
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 151 */
    go_back_within(HOLDS);
    cr_expect_eq(returns(), 1);
    cr_expect_eq(given, 2);
    cr_expect_eq(*word(0), 50, "%u", *word(0));
    cr_expect_eq(*word(1), 1);
    ends_with(151);
}

static void until_lost(void) {
    const uint64_t end_ns = fdutil_now_ns() + 20000000000ull;
    while (!lost && fdutil_now_ns() < end_ns)
        wirebench_run(r.b);
    cr_assert(lost);
}

static void next_device(void) {
    dies = save_dies = load_dies = false;
    lost = 0;
    succession_next(&r);
    cr_assert_str_eq(r.refused, "");
}

/* All of its operations are back with a device error, and a savepoint is due. */
Test(going_back, none_is_taken_of_a_device_that_is_lost) {
    begin_with(5);
    point()->due_ns = point()->soonest_ns = 0;
    launch(0, APPLY, 0, 1); /* 16 */
    dies = true;
    until_lost();
    cr_expect(savepoint_whole(point()), "reason %lu", reason());
    for (uint32_t i = 0; i < 64; i++)
        *word(i) = SPOILED;
    next_device();
    cr_assert(succession_client(&r)->replay.back);
    no_more();
    go_on();
    ends_with(16);
}

/* The client's memory is not the reason. */
Test(going_back, a_device_that_is_lost_while_memory_is_saved) {
    begin_with(5);
    save_dies = true;
    point()->due_ns = point()->soonest_ns = 0;
    wireclient_event(r.c, 0, 0);
    until_lost();
    next_device();
    go_on();
    cr_expect(savepoint_possible(point()), "reason %lu", reason());
    save();
}

/* The savepoint stays, because the client has other operations in flight. */
Test(going_back, a_device_that_is_lost_while_variables_are_saved) {
    begin_with(5);
    launch(0, APPLY, 0, 1); /* 16 */
    all_complete();
    save_dies = true;
    wireclient_load(r.c, 1, image);
    until_lost();
    cr_expect(savepoint_whole(point()), "reason %lu", reason());
    atomic_store(&succession_client(&r)->recovery_state.header->begun[0], r.c->seq[0] + 1);
    next_device();
    cr_assert(succession_client(&r)->replay.back);
    no_more();
    go_on();
    ends_with(16);
}

/* The client is not told that it cannot go back either. */
Test(going_back, a_device_that_is_lost_while_variables_are_loaded) {
    begin_with(5);
    launch(0, COUNT, 0, 1); /* 11 */
    all_complete();
    atomic_store(&succession_client(&r)->recovery_state.header->begun[0], r.c->seq[0] + 1);
    load_dies = true;
    succession_next(&r);
    until_lost();
    next_device();
    cr_assert(succession_client(&r)->replay.back);
    no_more();
    go_on();
    ends_with(11);
}

/* A client that cannot continue gets the reason why it had no savepoint. */
Test(going_back, why_there_was_none_is_said) {
    begin_with(5);
    wireclient_result(r.c, wireclient_mem(r.c, WIRE_MEM_UNBACK, GRAN, GRAN));
    cr_assert_not(is_whole());
    hold();
    launch(HOLDS, APPLY, 0, 1);
    die_within(HOLDS);
    cr_expect(strstr(r.c->com->fault.text, "no savepoint: the job has freed memory"), "%s",
              r.c->com->fault.text);
}

/* Streams' waits for each other are not repeated: the log's order satisfies them. */
Test(going_back, one_after_the_other) {
    begin_with(5);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t to = i % 2 ? OTHER : 0, from = i % 2 ? 0 : OTHER;
        wireclient_wait(r.c, to, from, r.c->seq[from]);
        launch(to, i % 3 ? SLOWLY : APPLY, 0, 1);
    }
    all_complete();
    uint32_t before = *word(0);
    hold();
    launch(HOLDS, APPLY, 0, 1);
    go_back_within(HOLDS);
    cr_expect_eq(given, 8);
    cr_expect_eq(together, 0, "%u were not alone", together);
    ends_with(before * 3 + 1);
}

Test(going_back, copies_have_what_they_had) {
    begin_with(5);
    *host_word(FROM_AT) = 6;
    wireclient_copy(r.c, 0, dev, host + FROM_AT, 4);
    all_complete();
    *host_word(FROM_AT) = 7; /* the host may change this now */
    launch(0, APPLY, 0, 1);  /* 19 */
    wireclient_copy(r.c, 0, dev + 16, dev, 4);
    all_complete();
    for (uint32_t i = 0; i < 32; i++)
        host_word(FROM_AT)[i] = 100 + i;
    struct wire_copy rows = {.dst = dev + 64,
                             .src = host + FROM_AT,
                             .width_bytes = 8,
                             .height = 2,
                             .depth = 2,
                             .dst_pitch = 16,
                             .src_pitch = 32,
                             .dst_slice = 32,
                             .src_slice = 64};
    wireclient_send(r.c, WIRE_COPY, 0, false, &rows, sizeof(rows), NULL, 0);
    all_complete();
    memset(host_word(FROM_AT), 0, 128);
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 58 */
    go_back_within(HOLDS);
    cr_expect_eq(*word(4), 19);
    static const uint32_t want[] = {100, 101, 0, 0, 108, 109, 0, 0, 116, 117, 0, 0, 124, 125};
    for (uint32_t i = 0; i < sizeof(want) / sizeof(*want); i++)
        cr_expect_eq(word(16)[i], want[i], "%u: %u", i, word(16)[i]);
    ends_with(58);
}

Test(going_back, what_was_kept_of_a_copy_may_be_gone) {
    begin_with(5);
    wireclient_copy(r.c, 0, dev, host + FROM_AT, 4);
    all_complete();
    atomic_store(&succession_client(&r)->recovery_state.header->savepoint.data_end, 0);
    hold();
    launch(HOLDS, APPLY, 0, 1);
    die_within(HOLDS);
    cr_expect(strstr(r.c->com->fault.text, "the data of an unfinished copy was not saved"), "%s",
              r.c->com->fault.text);
}

Test(going_back, fills_and_values_of_the_device) {
    begin_with(5);
    fill(0, dev, 9);
    write_value(0, dev + 16, 0x1122334455667788, 8);
    write_value(0, dev + 24, 77, 4);
    launch(0, APPLY, 0, 6); /* 104 */
    all_complete();
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 313 */
    go_back_within(HOLDS);
    cr_expect(*word(4) == 0x55667788 && *word(5) == 0x11223344 && *word(6) == 77);
    ends_with(313);
}

Test(going_back, variables_go_back_too) {
    begin_with(5);
    launch(0, COUNT, 8, 0); /* 11 */
    all_complete();
    save();
    launch(0, COUNT, 8, 0);
    launch(0, COUNT, 8, 0); /* 13 */
    all_complete();
    hold();
    launch(HOLDS, COUNT, 0, 0);
    go_back_within(HOLDS);
    cr_expect_eq(*word(8), 13, "%u", *word(8));
    ends_with(14);
}

/* ---- data for the host ----------------------------------------------------------------------- */

Test(going_back, the_host_is_told_nothing_again) {
    begin_with(5);
    launch(0, APPLY, 0, 1); /* 16 */
    wireclient_copy(r.c, 0, host + TO_AT, dev, 4);
    wireclient_copy(r.c, 0, host + TO_AT + 4, host + TO_AT, 4);
    fill(0, host + TO_AT + 8, 3);
    write_value(0, host + TO_AT + 12, 4, 4);
    wireclient_event(r.c, 0, 6);
    wireclient_host_func(r.c, OTHER, 5);
    wirebench_run(r.b);
    let_go();
    all_complete();
    cr_assert(host_word(TO_AT)[0] == 16 && host_word(TO_AT)[1] == 16 && host_word(TO_AT)[2] == 3 &&
              host_word(TO_AT)[3] == 4);
    memset(host_word(TO_AT), 0xee, 16); /* the host was told that it may */
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 49 */
    wirebench_run(r.b);
    uint64_t event_ns = atomic_load(&r.c->com->event_ns[6]);
    uint64_t posted = atomic_load(&r.c->com->callbacks_posted);
    uint64_t launches = atomic_load(&r.c->com->stats.launches);
    uint64_t copies = atomic_load(&r.c->com->stats.copies);
    go_back_within(HOLDS);
    for (uint32_t i = 0; i < 4; i++)
        cr_expect_eq(host_word(TO_AT)[i], 0xeeeeeeee, "%u: %u", i, host_word(TO_AT)[i]);
    cr_expect_eq(atomic_load(&r.c->com->event_ns[6]), event_ns);
    cr_expect_eq(atomic_load(&r.c->com->callbacks_posted), posted);
    cr_expect_eq(atomic_load(&r.c->com->stats.launches), launches);
    cr_expect_eq(atomic_load(&r.c->com->stats.copies), copies);
    ends_with(49);
}

/* Iterations are detected from new launches, not from repeated ones, which were counted before. */
Test(going_back, iterations_are_those_that_were) {
    begin_with(5);
    for (uint32_t i = 0; i < 900; i++) {
        launch(0, i % 8 ? APPLY : COUNT, i % 8 ? 0 : 8, 1);
        if (i % 8 == 7) all_complete();
    }
    all_complete();
    uint32_t before = *word(0);
    uint64_t boundaries = atomic_load(&r.c->com->boundaries);
    cr_assert_gt(boundaries, 2);
    cr_assert_not(boundary_holds(&succession_client(&r)->boundary));
    hold();
    launch(HOLDS, APPLY, 0, 1);
    go_back_within(HOLDS);
    cr_expect_eq(given, 900);
    cr_expect_eq(succession_client(&r)->boundary.iteration_gate.passed, 0);
    cr_expect_eq(atomic_load(&r.c->com->boundaries), boundaries);
    ends_with(before * 3 + 1);
}

/* ---- several worker ends --------------------------------------------------------------------- */

Test(going_back, who_dies_before_it_has_caught_up_goes_back_again) {
    begin_with(5);
    for (uint32_t i = 0; i < 4; i++)
        launch(0, APPLY, 0, 1);
    all_complete();
    uint32_t before = *word(0);
    hold();
    launch(HOLDS, APPLY, 0, 1);
    stall_at = 2;
    die_within(HOLDS);
    cr_assert(succession_client(&r)->replay.active, "it has not caught up");
    struct recovery_header *h = succession_client(&r)->recovery_state.header;
    for (uint32_t i = 0; i < WIRE_STREAMS_FIRST; i++)
        atomic_store(&h->begun[i], 0); /* any host function that is in flight */
    stall_at = given = 0;
    succession_next(&r);
    cr_assert(succession_client(&r)->replay.back);
    no_more();
    go_on();
    cr_expect_eq(given, 4);
    cr_expect_eq(returns(), 1, "once, as a whole");
    ends_with(before * 3 + 1);
}

Test(going_back, to_the_same_one_twice) {
    begin_with(5);
    launch(0, APPLY, 0, 1); /* 16 */
    all_complete();
    hold();
    launch(HOLDS, APPLY, 0, 2); /* 50 */
    go_back_within(HOLDS);
    let_go();
    all_complete();
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 151 */
    go_back_within(HOLDS);
    cr_expect_eq(given, 2, "what the second one completed is of it now");
    cr_expect_eq(returns(), 2);
    ends_with(151);
}

Test(going_back, who_has_caught_up_stays) {
    begin_with(5);
    launch(0, APPLY, 0, 1); /* 16 */
    all_complete();
    hold();
    launch(HOLDS, APPLY, 0, 2); /* 50 */
    go_back_within(HOLDS);
    ends_with(50);
    succession_next(&r);
    cr_expect_not(succession_client(&r)->replay.back, "nothing is under way");
    no_more();
    go_on();
    cr_expect_eq(returns(), 1);
    launch(0, APPLY, 0, 1); /* 151 */
    all_complete();
    cr_expect_eq(*word(0), 151);
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 454; the old savepoint still counts */
    go_back_within(HOLDS);
    cr_expect_eq(given, 3);
    ends_with(454);
}

Test(going_back, from_the_next_one) {
    begin_with(5);
    launch(0, APPLY, 0, 1); /* 16 */
    all_complete();
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 49 */
    go_back_within(HOLDS);
    ends_with(49);
    save();                 /* into the first savepoint's spare chunks */
    launch(0, APPLY, 0, 1); /* 148 */
    all_complete();
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 445 */
    go_back_within(HOLDS);
    cr_expect_eq(given, 1);
    ends_with(445);
}

/* If the savepoint were void, its memory would be lost. */
Test(going_back, who_must_and_cannot_ends) {
    begin_with(5);
    struct recovery_header *h = succession_client(&r)->recovery_state.header;
    atomic_store(&h->savepoint.returning, 1);
    atomic_store(&h->savepoint.whole, 0);
    succession_next(&r);
    cr_expect_str_not_empty(r.refused);
    struct wireclient *c = r.c;
    struct wirebench *b = r.b;
    wireclient_free(c);
    wirebench_stop(b);
    setup(); /* for the teardown */
}

/* Without operations in flight, launches that had not begun keep their numbers. */
Test(going_back, nobody_goes_back_for_nothing) {
    begin_with(5);
    launch(0, APPLY, 0, 1);
    launch(0, APPLY, 0, 1); /* 49 */
    all_complete();
    hold();
    uint64_t last = launch(HOLDS, APPLY, 0, 1); /* 148 */
    wirebench_run(r.b);
    uint64_t launches = atomic_load(&r.c->com->stats.launches);
    succession_next(&r);
    no_more();
    go_on();
    cr_expect_not(succession_client(&r)->replay.back);
    cr_expect_eq(returns(), 0);
    cr_expect_eq(atomic_load(&r.c->com->stats.launches), launches);
    const struct stream *s = succession_client(&r)->streams.streams[HOLDS];
    cr_expect_eq(stream_at(s, last)->launch.number, launches);
    ends_with(148);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

struct script {
    _Alignas(8) unsigned char bytes[4096];
    uint32_t used;
    uint64_t seq[2];
};

static void add(struct script *t, uint16_t op, uint32_t lane, void *rec, uint32_t bytes,
                const void *tail, uint32_t tail_bytes) {
    struct wire_graph_item item = {.bytes = bytes + tail_bytes};
    struct wire_record *record = rec;
    record->op = op;
    record->stream = lane;
    record->seq = ++t->seq[lane];
    memcpy(t->bytes + t->used, &item, sizeof(item));
    memcpy(t->bytes + t->used + sizeof(item), rec, bytes);
    if (tail_bytes) memcpy(t->bytes + t->used + sizeof(item) + bytes, tail, tail_bytes);
    t->used += (uint32_t)sizeof(item) + ((item.bytes + 7) & ~7u);
}

static void add_apply(struct script *t, uint32_t lane, uint32_t to, uint32_t from) {
    struct wire_launch l = {
        .func = APPLY, .grid = {1, 1, 1}, .block = {1, 1, 1}, .param_bytes = 16};
    uint64_t params[2] = {dev + 4ull * to, dev + 4ull * from};
    add(t, WIRE_LAUNCH, lane, &l, sizeof(l), params, 16);
}

static void add_copy(struct script *t, uint32_t lane, uint64_t dst, uint64_t src) {
    struct wire_copy k = {.dst = dst, .src = src, .width_bytes = 4, .height = 1, .depth = 1};
    add(t, WIRE_COPY, lane, &k, sizeof(k), NULL, 0);
}

static void add_wait(struct script *t, uint32_t lane, uint32_t on) {
    struct wire_stream_wait w = {.on = on, .on_seq = t->seq[on]};
    add(t, WIRE_STREAM_WAIT, lane, &w, sizeof(w), NULL, 0);
}

static void launch_graph(const struct script *t, uint32_t first, uint32_t second) {
    struct wire_graph_launch l = {.graph = 0, .lanes = 2};
    struct wire_graph_lane lanes[2] = {{.stream = first, .first_seq = r.c->seq[first] + 1},
                                       {.stream = second, .first_seq = r.c->seq[second] + 1}};
    r.c->seq[first] += t->seq[0];
    r.c->seq[second] += t->seq[1];
    wireclient_send(r.c, WIRE_GRAPH_LAUNCH, 0, false, &l, sizeof(l), lanes, sizeof(lanes));
}

Test(going_back, records_of_graphs) {
    struct script t = {0};
    add_apply(&t, 0, 0, 1);
    add_wait(&t, 1, 0);
    add_copy(&t, 1, dev + 16, host + FROM_AT);
    add_apply(&t, 1, 0, 4);
    add_copy(&t, 1, host + TO_AT, dev);
    struct wire_graph_data d = {.graph = 0, .piece_bytes = t.used, .total_bytes = t.used};
    begin_with(5);
    wireclient_send(r.c, WIRE_GRAPH_DATA, 0, false, &d, sizeof(d), t.bytes, t.used);
    *host_word(FROM_AT) = 1000;
    launch_graph(&t, 0, OTHER); /* 16, 1048 */
    all_complete();
    *host_word(FROM_AT) = 2000;
    launch_graph(&t, OTHER, 0); /* 3145, 11435 */
    all_complete();
    cr_assert_eq(*host_word(TO_AT), 11435);
    *host_word(FROM_AT) = 0;
    *host_word(TO_AT) = 0;
    hold();
    launch_graph(&t, HOLDS, OTHER); /* 34306, 102918 + what is there */
    go_back_within(HOLDS);
    cr_expect_eq(given, 6);
    cr_expect_eq(together, 0);
    cr_expect_eq(*host_word(TO_AT), 0);
    cr_expect_eq(*word(0), 11435, "%u", *word(0));
    *host_word(FROM_AT) = 1;
    ends_with(102919);
    cr_expect_eq(*host_word(TO_AT), 102919);
}

/* ---- events that void a savepoint ------------------------------------------------------------ */

static void expect_void(const char *what, enum savepoint_reason why) {
    cr_expect_not(is_whole(), "%s", what);
    cr_expect_eq(reason(), why, "%s: %lu", what, reason());
    cr_expect(savepoint_possible(point()), "%s", what);
    all_complete();
    save();
}

Test(going_back, void_when_what_it_has_is_another) {
    struct wire_module_unload unload = {.module = 1};
    begin_with(5);
    wireclient_mem(r.c, WIRE_MEM_BACK, GRAN, GRAN);
    cr_expect(is_whole(), "it gets memory");
    wireclient_mem(r.c, WIRE_MEM_UNBACK, GRAN, GRAN);
    expect_void("unback", SAVEPOINT_CHANGED);
    wireclient_load(r.c, 1, image);
    cr_expect(is_whole(), "it gets code");
    wireclient_send(r.c, WIRE_MODULE_UNLOAD, 0, true, &unload, sizeof(unload), NULL, 0);
    expect_void("unload", SAVEPOINT_CHANGED);
}

Test(going_back, void_when_it_does_what_is_done_once) {
    struct wire_value value = {.addr = host + TO_AT, .value = 0, .bytes = 4};
    struct wire_limit limit = {.limit = CU_LIMIT_STACK_SIZE, .value = 4096};
    begin_with(5);
    wireclient_send(r.c, WIRE_VALUE_WAIT, 0, false, &value, sizeof(value), NULL, 0);
    expect_void("wait", SAVEPOINT_ONCE);
    wireclient_send(r.c, WIRE_LIMIT, 0, true, &limit, sizeof(limit), NULL, 0);
    expect_void("limit", SAVEPOINT_ONCE);
    launch(0, SAY, 0, 0);
    all_complete();
    expect_void("text", SAVEPOINT_ONCE);
    launch(0, APPLY, 0, 0);
    wireclient_event(r.c, 0, 1);
    wireclient_copy(r.c, 0, dev, host + FROM_AT, 64);
    fill(0, dev, 5);
    write_value(0, dev, 5, 4);
    all_complete();
    cr_expect(is_whole());
}

/* Lets all host functions return when they are called. */
static void let_all_go(void) {
    const uint64_t end_ns = fdutil_now_ns() + 20000000000ull;
    while (succession_client(&r)->streams.completed < succession_client(&r)->streams.pushed &&
           fdutil_now_ns() < end_ns) {
        let_go();
        wirebench_run(r.b);
    }
    all_complete();
}

/* Ends the iteration that the host function holds; the next one begins and is held as well,
 * after a kernel. */
static void pass_a_boundary(void) {
    const uint64_t end_ns = fdutil_now_ns() + 20000000000ull;
    uint64_t posted = atomic_load(&r.c->com->callbacks_posted);
    wirebench_run(r.b);
    cr_assert_not(savepoint_whole(point()));
    point()->due_ns = point()->soonest_ns = 0;
    let_go();
    while (atomic_load(&r.c->com->callbacks_posted) == posted && fdutil_now_ns() < end_ns)
        wirebench_run(r.b);
    cr_assert_eq(atomic_load(&r.c->com->callbacks_posted), posted + 1);
}

static void begin_next_iteration(void) {
    wireclient_say(r.c, WIRE_ITERATION);
    launch(OTHER, APPLY, 0, 2);
    wireclient_host_func(r.c, OTHER, 78);
}

/* Memory is saved before the boundary is passed. */
Test(going_back, at_a_boundary) {
    begin_with(5);
    savepoint_void(point(), SAVEPOINT_CHANGED);
    hold();
    launch(HOLDS, APPLY, 0, 1); /* 16 */
    begin_next_iteration();     /* 50 */
    pass_a_boundary();
    cr_expect(savepoint_whole(point()));
    no_more();
    launch(OTHER, APPLY, 0, 1); /* 151 */
    go_back_within(OTHER);
    cr_expect_eq(given, 1, "the one behind the boundary");
    cr_expect_eq(*word(0), 50, "%u", *word(0));
    ends_with(151);
}

/* A record that voids the savepoint may lie after the boundary at which memory is saved: the
 * save must not come later. A later record ends the wait, so repeating operations in the log's
 * order would be wrong. */
Test(going_back, none_is_taken_before_a_wait_that_is_open) {
    struct wire_value v = {.addr = host + TO_AT, .value = 1, .bytes = 4};
    begin_with(5);
    hold();
    launch(HOLDS, APPLY, 0, 1);
    begin_next_iteration();
    wireclient_send(r.c, WIRE_VALUE_WAIT, OTHER, false, &v, sizeof(v), NULL, 0);
    pass_a_boundary();
    cr_expect_not(savepoint_whole(point()));
    *host_word(TO_AT) = 1;
    let_all_go();
    cr_expect(is_whole(), "it is over");
}

/* Variables have their initial values. */
Test(going_back, code_that_came_since_then) {
    begin_with(5);
    wireclient_load(r.c, 1, image);
    all_complete();
    cr_expect(is_whole());
    cr_expect_gt(atomic_load(&point()->header->granule_count), 1);
    hold();
    launch(HOLDS, APPLY, 0, 1);
    go_back_within(HOLDS);
    cr_expect_str_empty(r.refused);
    cr_expect_not(client_dead(succession_client(&r)));
    ends_with(16);
}

/* The memory was zeroed when it was allocated. */
Test(going_back, memory_that_came_since_then) {
    begin_with(5);
    savepoint_void(point(), SAVEPOINT_CHANGED);
    hold();
    launch(HOLDS, APPLY, 0, 1);
    begin_next_iteration();
    wireclient_mem_silent(r.c, WIRE_MEM_BACK, GRAN, GRAN);
    pass_a_boundary();
    cr_expect(savepoint_whole(point()));
    let_all_go();
    launch(0, APPLY, 0, 1);
    wireclient_copy(r.c, 0, dev + GRAN, dev, 4);
    all_complete();
    uint32_t before = *word(0);
    hold();
    launch(HOLDS, APPLY, 0, 1);
    go_back_within(HOLDS);
    cr_expect_eq(*(volatile uint32_t *)(uintptr_t)(dev + GRAN), before);
    ends_with(before * 3 + 1);
}

/* Memory is freed in parts, by the next worker too. */
Test(going_back, nor_before_memory_goes_that_an_earlier_worker_was_told_of) {
    begin_with(5);
    wireclient_mem(r.c, WIRE_MEM_BACK, GRAN, 20 * GRAN);
    hold();
    wireclient_mem_silent(r.c, WIRE_MEM_UNBACK, GRAN, 20 * GRAN);
    wirebench_run(r.b);
    succession_next(&r);
    no_more();
    go_on();
    launch(OTHER, APPLY, 0, 1);
    wirebench_run(r.b);
    begin_next_iteration();
    pass_a_boundary();
    cr_expect_not(savepoint_whole(point()));
    let_all_go();
    cr_expect(is_whole());
}

/* ---- programs without savepoints ------------------------------------------------------------- */

static void expect_never(void) {
    cr_expect_not(savepoint_possible(point()));
    cr_expect_not(is_whole());
    cr_expect_eq(reason(), SAVEPOINT_HOST);
}

Test(going_back, never_with_a_host_address_in_parameters) {
    struct wire_launch l = {
        .func = APPLY, .grid = {1, 1, 1}, .block = {1, 1, 1}, .param_bytes = 16};
    uint64_t params[2] = {dev, host + r.c->windows.host_bytes - 1};
    begin_with(5);
    wireclient_send(r.c, WIRE_LAUNCH, 0, false, &l, sizeof(l), params, 16);
    wirebench_run(r.b);
    expect_never();
}

static void put_address(uint32_t at) {
    uint64_t addr = host;
    memcpy(r.c->host + FROM_AT + at, &addr, sizeof(addr));
}

Test(going_back, never_with_a_host_address_that_is_copied) {
    begin_with(5);
    put_address(24);
    wireclient_copy(r.c, 0, dev + 128, host + FROM_AT, 24); /* reads up to that word */
    all_complete();
    cr_expect(is_whole());
    wireclient_copy(r.c, 0, dev + 128, host + FROM_AT, 32);
    all_complete();
    expect_never();
}

/* A word of device memory, at any offset in the host window. */
Test(going_back, never_with_one_that_is_odd_in_the_host) {
    begin_with(5);
    put_address(12);
    wireclient_copy(r.c, 0, dev + 128, host + FROM_AT, 64); /* no whole words there */
    all_complete();
    cr_expect(is_whole());
    wireclient_copy(r.c, 0, dev + 124, host + FROM_AT, 64);
    all_complete();
    expect_never();
}

Test(going_back, never_with_one_in_a_later_row) {
    struct wire_copy rows = {.dst = dev + 256,
                             .src = host + FROM_AT,
                             .width_bytes = 8,
                             .height = 2,
                             .depth = 2,
                             .dst_pitch = 12,
                             .src_pitch = 16,
                             .dst_slice = 24,
                             .src_slice = 32};
    begin_with(5);
    put_address(32);
    wireclient_send(r.c, WIRE_COPY, 0, false, &rows, sizeof(rows), NULL, 0);
    all_complete();
    expect_never();
}

/* The program does so before the first savepoint, whose saved memory must not contain such a
 * word either. */
Test(going_back, never_though_none_was_taken_yet) {
    savepoint_void(point(), SAVEPOINT_CHANGED);
    put_address(0);
    wireclient_copy(r.c, 0, dev, host + FROM_AT, 8);
    all_complete();
    expect_never();
}

Test(going_back, never_with_a_value_that_is_one) {
    begin_with(5);
    write_value(0, dev, host - 1, 8);
    all_complete();
    cr_expect(is_whole());
    write_value(0, dev, host, 8);
    all_complete();
    expect_never();
}
