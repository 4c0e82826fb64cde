/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues of the real driver's device with a completion signal behind each operation: order, depth,
 * levels, cancellation, missing memory, and the context's end. The test steps the streams.
 * test_cuda_batch.c tests signals behind several operations.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_shares.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/patience.h"
#include "test/lib/ptx/devmodule.h"

#define DEPTH 64u /* QUEUE_DEPTH */
#define MANY 100u

/* Streams in the order of creation: two for chunks, one for peeks, then the queues'. */
#define CLEARING 1u
#define FIRST_STREAM 3u

static struct cuda_rig rig;
static struct rig_space space;
static struct dev_chunk *chunks[4];
static struct dev_module *module;
static struct dev_queue *queue, *other;
static struct rig_op ops[MANY];
static uint64_t opening_ns, opened_ns;
static enum dev_completion way;

static struct dev_func *func(const char *name) {
    struct dev_func *f = NULL;
    struct dev_func_info info;
    char why[256];
    cr_assert_eq(rig.ops->func_get(module, name, &f, &info, why, sizeof(why)), 0);
    return f;
}

static void open_with(const struct fake_options *options, bool faulty) {
    char why[256];
    cuda_rig_load(&rig, faulty);
    rig.config.completion = way;
    rig.config.completion_each = true;
    rig.fake->start(options);
    opening_ns = fdutil_now_ns();
    cr_assert_eq(cuda_rig_open(&rig), 0);
    opened_ns = fdutil_now_ns();
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 4, chunks), 0);
    cr_assert_eq(devmodule_load(rig.ops, space.space, 0, RIG_IMAGE, sizeof(RIG_IMAGE), &module, why,
                                sizeof(why)),
                 0);
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &queue), 0);
}

#define CLOCK_NS 1000000000ull /* the device's clock when it is opened */

static void open_stepping(void) {
    open_with(&(struct fake_options){.stepping = true, .greatest = -2, .clock_ns = CLOCK_NS},
              false);
}

static void open_faulty(void) {
    open_with(&(struct fake_options){.stepping = true, .greatest = -2}, true);
}

static void close_all(void) {
    bool lost = rig.ops->driver->lost(rig.dev) != 0;
    if (other) rig.ops->queue_destroy(other);
    rig.ops->queue_destroy(queue);
    devmodule_unload(rig.ops, module);
    cuda_rig_unmap(&rig, &space, 0, 4, chunks);
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    if (!lost) cr_assert_str_eq(cuda_rig_complaint(&rig), "");
    rig.fake->start(&(struct fake_options){0}); /* memory that could not be freed */
}

static uint64_t base(void) {
    return space.windows.dev_base;
}

static int append(uint32_t i) {
    return cuda_rig_launch(&rig, queue, func("append"), &ops[i], 16, (uint64_t[]){base(), i + 1});
}

static void open_events(void) {
    way = DEV_COMPLETION_EVENTS;
    open_stepping();
}

TestSuite(cuda_queue, .init = open_stepping, .fini = close_all);
TestSuite(cuda_events, .init = open_events, .fini = close_all);
TestSuite(cuda_faulty, .init = open_faulty, .fini = close_all);

/* Runs the test with fences, and with events. */
#define BOTH(name)            \
    static void name(void);   \
    Test(cuda_queue, name) {  \
        name();               \
    }                         \
    Test(cuda_events, name) { \
        name();               \
    }                         \
    static void name(void)

BOTH(completes_when_it_has_run_and_not_before) {
    cr_assert_eq(cuda_rig_fill(&rig, queue, &ops[0], base(), 7, 100), 0);
    cr_assert_eq(cuda_rig_poll(&rig), 0);
    cr_assert(rig.fake->step(FIRST_STREAM), "the fill");
    cr_assert_eq(cuda_rig_poll(&rig), 0);
    cr_assert_eq(cuda_rig_words(base())[99], 7);
    cr_assert(rig.fake->step(FIRST_STREAM), "its number");
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_eq(ops[0].done, 1);
    cr_assert_leq(ops[0].dev.start_ns, ops[0].dev.end_ns);
    cr_assert_not(rig.fake->step(FIRST_STREAM));
}

BOTH(the_data_is_there_with_the_completion) {
    for (uint32_t i = 0; i < 10; i++)
        cr_assert_eq(cuda_rig_fill(&rig, queue, &ops[i], base(), i + 1, 100), 0);
    for (uint32_t i = 0; i < 10; i++) {
        while (cuda_rig_poll(&rig) == 0)
            cr_assert(rig.fake->step(FIRST_STREAM));
        cr_assert_eq(rig.done, i + 1);
        cr_assert_geq(cuda_rig_words(base())[99], i + 1);
    }
}

BOTH(no_more_than_its_depth_is_in_the_driver) {
    for (uint32_t i = 0; i < MANY; i++)
        cr_assert_eq(append(i), 0);
    uint32_t steps = 0;
    while (rig.fake->step(FIRST_STREAM))
        steps++;
    cr_assert_eq(steps, 2 * DEPTH, "operations and their numbers");
    cr_assert_eq(cuda_rig_poll(&rig), DEPTH);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), MANY - DEPTH);
    const uint32_t *list = cuda_rig_words(base());
    cr_assert_eq(list[0], MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(list[i + 1], i + 1);
        cr_assert_eq(ops[i].done, 1);
        cr_assert_eq(ops[i].dev.result, 0);
    }
}

BOTH(parameters_of_what_waits_are_kept) {
    uint64_t params[2] = {base(), 0};
    for (uint32_t i = 0; i < MANY; i++) {
        params[1] = i + 1;
        cr_assert_eq(cuda_rig_launch(&rig, queue, func("append"), &ops[i], 16, params), 0);
    }
    memset(params, 0xff, sizeof(params));
    while (rig.done < MANY) {
        rig.fake->run();
        cr_assert(cuda_rig_poll(&rig) > 0);
    }
    cr_assert_eq(cuda_rig_words(base())[MANY], MANY);
}

/* The stream of the other level runs nothing before the work given to the first one. */
BOTH(order_is_kept_from_level_to_level) {
    cr_assert_eq(rig.info.levels, 2);
    append(0), append(1);
    rig.ops->shares->queue_level(queue, 1);
    append(2), append(3);
    rig.ops->shares->queue_level(queue, 0);
    append(4);
    cr_assert_not(rig.fake->step(FIRST_STREAM + 1), "it waits");
    for (bool more = true; more;) { /* runs the later stream whenever possible */
        more = rig.fake->step(FIRST_STREAM + 1);
        if (!more) more = rig.fake->step(FIRST_STREAM);
    }
    cr_assert_eq(cuda_rig_poll(&rig), 5);
    const uint32_t *list = cuda_rig_words(base());
    for (uint32_t i = 0; i < 5; i++)
        cr_assert_eq(list[i + 1], i + 1);
}

BOTH(level_1_is_above_every_job_s_priority) {
    struct dev_queue *eager;
    struct fake_ran ran[64];
    cr_assert_eq(rig.ops->queue_create(space.space, -5, &eager), 0);
    cuda_rig_fill(&rig, eager, &ops[0], base(), 1, 1);
    rig.fake->run();
    rig.ops->shares->queue_level(eager, 1);
    cuda_rig_fill(&rig, eager, &ops[1], base(), 2, 1);
    rig.fake->run();
    uint32_t n = rig.fake->ran(ran, 64);
    cr_assert_eq(ran[n - 6].priority, -1);
    cr_assert_eq(ran[n - 1].priority, -2);
    cr_assert_eq(cuda_rig_poll(&rig), 2);
    rig.ops->queue_destroy(eager);
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* A single launch: returns the part of the device on which it ran. */
static struct fake_ran share_of(struct dev_queue *q) {
    static struct fake_ran ran[4096];
    cuda_rig_launch(&rig, q, func("append"), &ops[0], 16, (uint64_t[]){base(), 1});
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[0].dev.result, 0);
    uint32_t n = rig.fake->ran(ran, 4096);
    cr_assert(n >= 2 && ran[n - 2].kind == FAKE_LAUNCH);
    return ran[n - 2];
}

static struct fake_ran share_asked(struct dev_queue *q, uint32_t sms) {
    rig.ops->shares->queue_share(q, sms);
    return share_of(q);
}

BOTH(a_share_is_the_largest_that_is_no_larger) {
    cr_assert_not(rig.info.whole);
    cr_assert_eq(rig.info.share_sms, 16);
    cr_assert_eq(rig.info.sm_count, FAKE_SMS);
    cr_assert_eq(share_of(queue).sms, 0, "all of it, as it begins");
    cr_assert_eq(share_asked(queue, 49).sms, 48);
    cr_assert_eq(share_asked(queue, 48).sms, 48);
    cr_assert_eq(share_asked(queue, 47).sms, 32);
    cr_assert_eq(share_asked(queue, FAKE_SMS - 1).sms, 112);
    cr_assert_eq(share_asked(queue, 8).sms, 8);
    cr_assert_eq(share_asked(queue, 1).sms, 8, "the least that there is");
    cr_assert_eq(share_asked(queue, FAKE_SMS).sms, 0);
    cr_assert_eq(share_asked(queue, 5000).sms, 0);
    cr_assert_eq(share_asked(queue, 16).sms, 16);
    cr_assert_eq(share_asked(queue, 0).sms, 0);
}

BOTH(shares_change_level_with_their_queue) {
    rig.ops->shares->queue_share(queue, 16);
    rig.ops->shares->queue_level(queue, 1);
    struct fake_ran above = share_of(queue);
    cr_assert(above.sms == 16 && above.priority == -2);
    rig.ops->shares->queue_level(queue, 0);
    struct fake_ran below = share_of(queue);
    cr_assert(below.sms == 16 && below.priority == 0);
}

/* The stream of the other share runs nothing before the work given to the first one. */
BOTH(order_is_kept_from_share_to_share) {
    static const uint32_t shares[] = {0, 16, 80, 16, 0};
    for (uint32_t i = 0; i < 5; i++) {
        rig.ops->shares->queue_share(queue, shares[i]);
        append(2 * i), append(2 * i + 1);
    }
    for (bool more = true; more;) { /* runs the latest stream whenever possible */
        more = rig.fake->step(FIRST_STREAM + 2);
        if (!more) more = rig.fake->step(FIRST_STREAM + 1);
        if (!more) more = rig.fake->step(FIRST_STREAM);
    }
    cr_assert_eq(cuda_rig_poll(&rig), 10);
    const uint32_t *list = cuda_rig_words(base());
    for (uint32_t i = 0; i < 10; i++)
        cr_assert_eq(list[i + 1], i + 1);
}

/* Two halves of a device are different halves, and a queue that gives up its part leaves it to
 * others. */
BOTH(two_shares_are_beside_each_other_where_they_fit) {
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &other), 0);
    uint64_t first = share_asked(queue, 48).green;
    cr_assert_neq(share_asked(other, 48).green, first);
    share_asked(queue, 0);
    rig.ops->shares->queue_share(other, 0);
    cr_assert_eq(share_asked(other, 48).green, first);
    cr_assert_eq(share_asked(queue, 80).green, share_asked(other, 80).green, "there is one");
}

BOTH(what_is_gone_has_no_share) {
    uint64_t first = 0;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(rig.ops->queue_create(space.space, 0, &other), 0);
        uint64_t green = share_asked(other, 48).green;
        if (!first) first = green;
        cr_assert_eq(green, first);
        rig.ops->queue_destroy(other);
    }
    other = NULL;
}

/* ---- cancelled ------------------------------------------------------------------------------- */

BOTH(cancelled_is_what_the_driver_does_not_have) {
    for (uint32_t i = 0; i < MANY; i++)
        append(i);
    rig.ops->space_cancel(space.space);
    cr_assert_eq(cuda_rig_poll(&rig), MANY - DEPTH);
    for (uint32_t i = DEPTH; i < MANY; i++)
        cr_assert_eq(ops[i].dev.result, ERR_CANCELLED);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), DEPTH);
    for (uint32_t i = 0; i < MANY; i++)
        cr_assert_eq(ops[i].done, 1);
    cr_assert_eq(cuda_rig_words(base())[0], DEPTH);
    cr_assert_eq(append(0), 0, "the queue goes on");
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
}

BOTH(what_is_not_backed_fails_in_its_turn) {
    uint64_t beyond = base() + 4 * RIG_GRANULE;
    cuda_rig_fill(&rig, queue, &ops[0], base(), 1, 4);
    cr_assert_eq(cuda_rig_fill(&rig, queue, &ops[1], beyond - 4, 9, 2), 0);
    cuda_rig_copy(&rig, queue, &ops[2], base() + 64, beyond, 16);
    cuda_rig_fill(&rig, queue, &ops[3], base() + 32, 3, 4);
    cr_assert_eq(cuda_rig_poll(&rig), 0);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 4);
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_eq(ops[1].dev.result, ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(ops[1].dev.fault_addr, beyond - 4);
    cr_assert_eq(ops[2].dev.result, ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(ops[2].dev.fault_addr, beyond);
    cr_assert_eq(ops[3].dev.result, ERR_CANCELLED);
    cr_assert_eq(rig.ops->driver->lost(rig.dev), 0);
}

/* A client that polls the last write would take it as the sign that all earlier operations are
 * complete. */
BOTH(nothing_runs_behind_what_failed) {
    cuda_rig_fill(&rig, queue, &ops[0], base() + 4 * RIG_GRANULE, 1, 4);
    for (uint32_t i = 1; i < MANY; i++) /* includes operations that the driver does not have yet */
        cr_assert_eq(append(i), 0);
    rig.fake->run();
    uint32_t seen = 0;
    while (seen < MANY) {
        seen += cuda_rig_poll(&rig);
        rig.fake->run();
    }
    for (uint32_t i = 1; i < MANY; i++)
        cr_assert_eq(ops[i].dev.result, ERR_CANCELLED, "%u", i);
    cuda_rig_fill(&rig, queue, &ops[0], base(), 5, 1);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[0].dev.result, 0, "it was seen");
    cr_assert_eq(cuda_rig_words(base())[0], 5);
}

/* ---- new memory ------------------------------------------------------------------------------ */

/* A chunk that had an owner is cleared after the device's current work. Only the next user of
 * the chunk waits for that. */
BOTH(others_go_on_while_a_chunk_is_cleared) {
    struct rig_space another;
    struct dev_chunk *fresh[3];
    uint64_t at;
    cr_assert_eq(cuda_rig_space(&rig, &another, 1), 0);
    cr_assert_eq(rig.ops->queue_create(another.space, 0, &other), 0);
    at = another.windows.dev_base;
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(rig.ops->chunk_create(rig.dev, &fresh[i]), 0);
    cr_assert_eq(rig.ops->chunk_map(another.space, at, fresh, 3), 0);
    uint32_t before = *cuda_rig_words(at);
    cr_assert_neq(before, 0, "it is not cleared yet");
    cr_assert_eq(cuda_rig_launch(&rig, other, func("append"), &ops[20], 16, (uint64_t[]){at, 7}),
                 0);
    cr_assert_not(rig.fake->step(FIRST_STREAM + 1), "it waits for that");
    for (uint32_t i = 0; i < 10; i++) {
        append(i);
        while (rig.fake->step(FIRST_STREAM))
            continue;
        cr_assert_eq(cuda_rig_poll(&rig), 1, "the other job's launches");
    }
    cr_assert_eq(*cuda_rig_words(at), before);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_not(rig.fake->step(FIRST_STREAM + 1));
        cr_assert(rig.fake->step(CLEARING));
    }
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[20].dev.result, 0);
    cr_assert(cuda_rig_words(at)[0] == 1 && cuda_rig_words(at)[1] == 7, "it found zeros");
    rig.ops->queue_destroy(other);
    other = NULL;
    cuda_rig_unmap(&rig, &another, 0, 3, fresh);
    cuda_rig_space_end(&rig, &another);
}

/* ---- copies and fills ------------------------------------------------------------------------ */

BOTH(boxes_are_copied_row_by_row) {
    uint8_t *host = (uint8_t *)space.host, *dev = (uint8_t *)cuda_rig_words(base());
    const struct dev_copy in = {.dst = base(),
                                .src = (uintptr_t)host,
                                .width_bytes = 5,
                                .height = 3,
                                .depth = 2,
                                .dst_pitch = 16,
                                .src_pitch = 8,
                                .dst_slice = 64,
                                .src_slice = 32};
    for (int i = 0; i < 64; i++)
        host[i] = (uint8_t)(i + 1);
    memset(dev, 0, 256);
    cr_assert_eq(rig.ops->copy(queue, &in, &ops[0].dev), 0);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[0].dev.result, 0);
    uint8_t want[256] = {0};
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            memcpy(want + z * 64 + y * 16, host + z * 32 + y * 8, 5);
    cr_assert_arr_eq(dev, want, sizeof(want));
}

#define PIECE (8u << 20) /* SPACE_HOST_PIECE */

static uint8_t *show_host(void) {
    for (uint64_t at = 0; at < RIG_HOST; at += PIECE)
        cr_assert_eq(rig.ops->driver->host_show(space.space, (uintptr_t)space.host + at, 1), 0);
    uint8_t *edge = (uint8_t *)space.host + PIECE;
    for (int i = -600; i < 600; i++)
        edge[i] = (uint8_t)(i * 7 + i / 256);
    return edge;
}

static void run_one(int err) {
    cr_assert_eq(err, 0);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[0].dev.result, 0);
}

/* Pieces meet in the middle of a row, between rows and between slices, in the source or in the
 * destination. */
BOTH(copies_lie_in_pieces_of_the_host_window) {
    uint8_t *edge = show_host(), *dev = (uint8_t *)cuda_rig_words(base());
    for (int before = 1; before < 600; before += 37) {
        struct dev_copy k = {.dst = base(),
                             .src = (uintptr_t)edge - (uintptr_t)before,
                             .width_bytes = 19,
                             .height = 5,
                             .depth = 4,
                             .dst_pitch = 32,
                             .src_pitch = 24,
                             .dst_slice = 256,
                             .src_slice = 128};
        uint8_t want[1024] = {0};
        memset(dev, 0, sizeof(want));
        for (int z = 0; z < 4; z++)
            for (int y = 0; y < 5; y++)
                memcpy(want + z * 256 + y * 32, edge - before + z * 128 + y * 24, 19);
        run_one(rig.ops->copy(queue, &k, &ops[0].dev));
        cr_assert_arr_eq(dev, want, sizeof(want), "%d", before);
        k = (struct dev_copy){.dst = (uintptr_t)edge + PIECE - 250 + (uintptr_t)before / 2,
                              .src = (uintptr_t)edge - (uintptr_t)before,
                              .width_bytes = 500,
                              .height = 1,
                              .depth = 1};
        run_one(rig.ops->copy(queue, &k, &ops[0].dev));
        cr_assert_arr_eq((uint8_t *)k.dst, edge - before, 500, "%d", before);
    }
}

BOTH(fills_lie_in_pieces_of_the_host_window) {
    static const uint64_t value = 0x8877665544332211ull;
    uint8_t *edge = show_host();
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
        for (uint32_t height = 1; height <= 5; height += 4) {
            const struct dev_memset set = {.dst = (uintptr_t)edge - 16 * bytes,
                                           .pitch = 64,
                                           .width_elems = height > 1 ? 7 : 40,
                                           .height = height,
                                           .elem_bytes = bytes,
                                           .value = value};
            uint8_t want[1200];
            memcpy(want, edge - 600, sizeof(want));
            for (uint32_t y = 0; y < height; y++)
                for (uint32_t x = 0; x < set.width_elems; x++)
                    memcpy(want + 600 - 16 * bytes + y * 64 + x * bytes, &value, bytes);
            run_one(rig.ops->memset(queue, &set, &ops[0].dev));
            cr_assert_arr_eq(edge - 600, want, sizeof(want), "%u %u", bytes, height);
        }
}

BOTH(fills_of_each_width_in_rows) {
    static const uint64_t value = 0x8877665544332211ull;
    uint8_t *dev = (uint8_t *)cuda_rig_words(base());
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        uint8_t want[256] = {0};
        const struct dev_memset set = {.dst = base() + 8,
                                       .pitch = 64,
                                       .width_elems = 3,
                                       .height = 2,
                                       .value =
                                           bytes < 8 ? value & ((1ull << 8 * bytes) - 1) : value,
                                       .elem_bytes = bytes};
        memset(dev, 0, 256);
        ops[0] = (struct rig_op){0};
        cr_assert_eq(rig.ops->memset(queue, &set, &ops[0].dev), 0);
        rig.fake->run();
        cr_assert_eq(cuda_rig_poll(&rig), 1);
        cr_assert_eq(ops[0].dev.result, 0);
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 3; x++)
                memcpy(want + 8 + y * 64 + x * bytes, &value, bytes);
        cr_assert_arr_eq(dev, want, sizeof(want));
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

BOTH(launches_are_what_they_say) {
    uint64_t params[] = {base(), 4, 9};
    const struct dev_launch launch = {.func = func("fill"),
                                      .grid = {2, 3, 4},
                                      .block = {8, 4, 2},
                                      .cluster = {2, 1, 1},
                                      .shared_bytes = 100 << 10,
                                      .cooperative = 1,
                                      .params = params,
                                      .param_bytes = sizeof(params)};
    cr_assert_eq(rig.ops->launch(queue, &launch, &ops[0].dev), 0);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_eq(cuda_rig_words(base())[3], 9);
    struct fake_launch l = rig.fake->last_launch();
    cr_assert_arr_eq(l.grid, launch.grid, sizeof(l.grid));
    cr_assert_arr_eq(l.block, launch.block, sizeof(l.block));
    cr_assert_arr_eq(l.cluster, launch.cluster, sizeof(l.cluster));
    cr_assert_eq(l.cooperative, 1);
    cr_assert_eq(l.shared_bytes, 100 << 10);
}

BOTH(what_the_driver_refuses_is_the_operation_s_error) {
    uint64_t params[] = {base(), 4, 9};
    const struct dev_launch launch = {.func = func("fill"),
                                      .grid = {1, 1, 1},
                                      .block = {1, 1, 1},
                                      .shared_bytes = 300 << 10,
                                      .params = params,
                                      .param_bytes = sizeof(params)};
    cr_assert_eq(rig.ops->launch(queue, &launch, &ops[0].dev), 0);
    cuda_rig_fill(&rig, queue, &ops[1], base(), 5, 1);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 2);
    cr_assert_eq(ops[0].dev.result, -EINVAL);
    cr_assert_neq(ops[0].dev.fault_text[0], 0);
    cr_assert_eq(ops[1].dev.result, ERR_CANCELLED);
}

/* ---- times ----------------------------------------------------------------------------------- */

#define MS 1000000ll
#define BITS_NS 200 /* resolution of the driver's times, which are float milliseconds */

static uint64_t distance(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

/* Returns a time that the device's clock cannot have reached yet. The device was opened between
 * two readings of our clock. */
static uint64_t soon(void) {
    return CLOCK_NS + fdutil_now_ns() - opening_ns;
}

static void clock_to(uint64_t device_ns) {
    while (CLOCK_NS + fdutil_now_ns() - opened_ns < device_ns)
        continue;
    rig.fake->set_clock(device_ns);
}

/* The number of driver calls of a launch and of its completion. Clock synchronisation adds calls
 * once a second, so the minimum over several launches counts. */
static uint32_t calls_of_launch(bool timed, bool asked) {
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < 5; i++) {
        rig.asked.timed = timed;
        uint32_t before = rig.fake->calls();
        append(0);
        if (asked) rig.ops->driver->queue_time(queue, &ops[0].dev);
        rig.fake->run();
        cr_assert_eq(cuda_rig_poll(&rig), 1);
        uint32_t all = rig.fake->calls() - before;
        if (all < least) least = all;
    }
    return least;
}

Test(cuda_queue, times_are_calls_that_nobody_makes_who_does_not_ask) {
    cr_assert(rig.info.coarse);
    cr_assert_eq(calls_of_launch(false, false), 2, "the launch and its number");
    cr_assert_eq(calls_of_launch(true, false), 6, "two events, and when these were");
    cr_assert_eq(calls_of_launch(false, true), 5, "an event, a number behind it, when it was");
    cr_assert_eq(calls_of_launch(false, false), 2);
}

/* The device's clock differs from the worker's. */
BOTH(an_operation_s_times_are_the_device_s_if_it_asks) {
    rig.asked.timed = true;
    append(0), append(1);
    uint64_t began = soon();
    clock_to(began);
    cr_assert(rig.fake->step(FIRST_STREAM), "it begins");
    clock_to(began + 4 * MS);
    for (int i = 0; i < 3; i++)
        cr_assert(rig.fake->step(FIRST_STREAM), "it runs, ends, and says so");
    clock_to(began + 10 * MS);
    cr_assert(rig.fake->step(FIRST_STREAM));
    clock_to(began + 12 * MS);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 2);
    cr_assert(ops[0].dev.timed && ops[1].dev.timed);
    cr_assert_leq(distance(ops[0].dev.busy_ns, 4 * MS), BITS_NS);
    cr_assert_leq(distance(ops[1].dev.busy_ns, 2 * MS), BITS_NS);
    cr_assert_leq(distance(ops[1].dev.start_ns - ops[0].dev.start_ns, 10 * MS), BITS_NS);
    cr_assert_leq(distance(ops[1].dev.end_ns - ops[0].dev.end_ns, 8 * MS), BITS_NS);
}

/* If the clocks disagree, no operation may end before it was given to the driver: an event that
 * a client recorded before it would be later. */
BOTH(no_operation_ends_before_it_began) {
    rig.fake->set_clock(CLOCK_NS / 2);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t before = fdutil_now_ns();
        rig.asked.timed = i == 0;
        append(i);
        rig.ops->driver->queue_time(queue, &ops[i].dev);
        rig.fake->run();
        cr_assert_eq(cuda_rig_poll(&rig), 1);
        cr_assert_geq(ops[i].dev.start_ns, before);
        cr_assert_geq(ops[i].dev.end_ns, ops[i].dev.start_ns);
        cr_assert_leq(ops[i].dev.end_ns, fdutil_now_ns());
    }
}

BOTH(an_end_is_asked_for_while_it_runs) {
    append(0);
    cr_assert(rig.fake->step(FIRST_STREAM), "it runs");
    rig.ops->driver->queue_time(queue, &ops[0].dev);
    rig.fake->step(FIRST_STREAM);
    cr_assert_eq(cuda_rig_poll(&rig), 0, "its end is not known yet");
    append(1);
    rig.ops->driver->queue_time(queue, &ops[1].dev);
    uint64_t given = soon();
    clock_to(given);
    cr_assert(rig.fake->step(FIRST_STREAM), "its end");
    clock_to(given + 7 * MS);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 2);
    cr_assert_leq(distance(ops[1].dev.end_ns - ops[0].dev.end_ns, 7 * MS), BITS_NS);
    cr_assert_not(ops[0].dev.timed, "when it began nobody knows");
    cr_assert_leq(ops[0].dev.start_ns, ops[0].dev.end_ns);
}

/* Both kinds of end times are requested before the driver has the operation. */
BOTH(an_end_is_asked_for_before_it_is_the_driver_s) {
    for (uint32_t i = 0; i <= DEPTH; i++)
        append(i);
    /* not the latest operation: its time stays as it is */
    rig.ops->driver->queue_time(queue, &ops[0].dev);
    rig.ops->driver->queue_time(queue, &ops[DEPTH].dev);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), DEPTH);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert(ops[DEPTH].dev.timed);
    cr_assert_not(ops[0].dev.timed);
}

/* ---- the driver fails ------------------------------------------------------------------------ */

static void let_fail(const char *name, CUresult result) {
    struct faulty_rule rule = {.nth = 1, .result = (int)result};
    while (strcmp(rig.faulty->names[rule.call], name) != 0)
        rule.call++;
    rig.faulty->set(&rule);
}

Test(cuda_faulty, without_its_number_an_operation_is_waited_for) {
    append(0);
    let_fail("cuStreamWriteValue64_v2", CUDA_ERROR_OUT_OF_MEMORY);
    append(1);
    cr_assert_eq(rig.faulty->fired(), 1);
    cr_assert_eq(cuda_rig_poll(&rig), 2);
    cr_assert_eq(cuda_rig_words(base())[0], 2, "both have run");
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_eq(ops[1].dev.result, 0);
}

Test(cuda_faulty, a_level_that_cannot_be_had_leaves_the_order) {
    static const char *const calls[] = {"cuStreamCreateWithPriority", "cuEventCreate",
                                        "cuEventRecord", "cuStreamWaitEvent"};
    for (uint32_t i = 0; i < 4; i++) {
        append(2 * i);
        let_fail(calls[i], CUDA_ERROR_OUT_OF_MEMORY);
        rig.ops->shares->queue_level(queue, 1);
        append(2 * i + 1);
        cr_assert_eq(rig.faulty->fired(), 1, "%s", calls[i]);
        rig.ops->shares->queue_level(queue, 0);
    }
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 8);
    const uint32_t *list = cuda_rig_words(base());
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_eq(list[i + 1], i + 1);
        cr_assert_eq(ops[i].dev.result, 0);
    }
}

Test(cuda_faulty, what_cannot_wait_for_a_clear_is_waited_for) {
    static const char *const calls[] = {"cuEventRecord", "cuStreamWaitEvent"};
    for (uint32_t i = 0; i < 2; i++) {
        struct dev_chunk *fresh;
        uint64_t at = base() + (8 + i) * RIG_GRANULE;
        cr_assert_eq(rig.ops->chunk_create(rig.dev, &fresh), 0);
        let_fail(calls[i], CUDA_ERROR_OUT_OF_MEMORY);
        cr_assert_eq(rig.ops->chunk_map(space.space, at, &fresh, 1), 0);
        cuda_rig_launch(&rig, queue, func("append"), &ops[i], 16, (uint64_t[]){at, 7});
        cr_assert_eq(rig.faulty->fired(), 1, "%s", calls[i]);
        while (rig.fake->step(FIRST_STREAM))
            continue;
        rig.fake->run();
        cr_assert_eq(cuda_rig_poll(&rig), 1);
        cr_assert_eq(cuda_rig_words(at)[0], 1);
        rig.ops->chunk_unmap(space.space, at, 1);
        rig.ops->chunk_destroy(rig.dev, fresh);
    }
}

Test(cuda_faulty, an_operation_without_times_runs) {
    static const char *const calls[] = {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"};
    rig.asked.timed = true;
    for (uint32_t i = 0; i < 3; i++) {
        let_fail(calls[i], CUDA_ERROR_OUT_OF_MEMORY);
        append(i);
        rig.fake->run();
        cr_assert_eq(cuda_rig_poll(&rig), 1);
        cr_assert_eq(rig.faulty->fired(), 1, "%s", calls[i]);
        cr_assert_eq(ops[i].dev.result, 0);
        cr_assert_not(ops[i].dev.timed);
        cr_assert_leq(ops[i].dev.start_ns, ops[i].dev.end_ns);
        cr_assert_eq(cuda_rig_words(base())[i + 1], i + 1);
    }
}

Test(cuda_faulty, a_share_that_cannot_be_had_leaves_the_order) {
    append(0);
    let_fail("cuGreenCtxStreamCreate", CUDA_ERROR_OUT_OF_MEMORY);
    rig.ops->shares->queue_share(queue, 16);
    append(1);
    cr_assert_eq(rig.faulty->fired(), 1);
    append(2);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(cuda_rig_words(base())[i + 1], i + 1);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static bool is_readable(void) {
    struct pollfd p = {.fd = rig.ops->event_fd(rig.dev), .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

BOTH(a_sleeper_is_woken_by_what_completes) {
    cr_assert_eq(rig.ops->arm(rig.dev), 0, "nothing is on its way");
    append(0);
    cr_assert_eq(rig.ops->arm(rig.dev), 0);
    rig.fake->run();
    cr_assert(PATIENCE_UNTIL(is_readable()));
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_not(is_readable());
    append(1);
    rig.fake->run();
    cr_assert_eq(rig.ops->arm(rig.dev), 1, "it is complete already");
    cr_assert_eq(cuda_rig_poll(&rig), 1);
}

BOTH(a_sleeper_is_woken_by_the_end_of_the_context) {
    append(0);
    cr_assert_eq(rig.ops->arm(rig.dev), 0);
    rig.fake->end(CUDA_ERROR_ECC_UNCORRECTABLE);
    cr_assert(PATIENCE_UNTIL((is_readable() && cuda_rig_poll(&rig) == 1) ||
                             (is_readable() && rig.ops->arm(rig.dev) == 1)));
    cr_assert(rig.ops->driver->lost(rig.dev) != 0);
    cr_assert_eq(ops[0].done, 1);
}

/* ---- the end --------------------------------------------------------------------------------- */

BOTH(who_ended_the_context_is_named_where_it_can_be_known) {
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &other), 0);
    cuda_rig_launch(&rig, queue, func("fault"), &ops[0], 8,
                    (uint64_t[]){CUDA_ERROR_ILLEGAL_ADDRESS});
    append(1);
    cuda_rig_fill(&rig, other, &ops[2], base(), 1, 1);
    rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 3));
    cr_assert_eq(ops[0].dev.result, ERR_ILLEGAL_ADDRESS);
    cr_assert_neq(ops[0].dev.fault_text[0], 0);
    cr_assert_eq(ops[1].dev.result, ERR_DEVICE_LOST);
    cr_assert_eq(ops[2].dev.result, ERR_DEVICE_LOST);
    cr_assert_eq(rig.ops->driver->lost(rig.dev), ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(append(3), ERR_DEVICE_LOST);
}

/* A launch just after the end is the first to report it, and no job is blamed. */
BOTH(who_comes_too_late_did_not_do_it) {
    struct dev_func *late = func("append");
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &other), 0);
    cuda_rig_launch(&rig, queue, func("fault"), &ops[0], 8,
                    (uint64_t[]){CUDA_ERROR_ILLEGAL_ADDRESS});
    rig.fake->step(FIRST_STREAM);
    cr_assert_eq(cuda_rig_launch(&rig, other, late, &ops[1], 16, (uint64_t[]){base(), 1}), 0);
    cr_assert(cuda_rig_wait(&rig, 2));
    cr_assert_eq(ops[0].dev.result, ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(ops[1].dev.result, ERR_DEVICE_LOST);
}

static void fault(struct dev_queue *q, uint32_t i) {
    cuda_rig_launch(&rig, q, func("fault"), &ops[i], 8, (uint64_t[]){CUDA_ERROR_LAUNCH_FAILED});
}

static void fill(struct dev_queue *q, uint32_t i) {
    cuda_rig_launch(&rig, q, func("append"), &ops[i], 16, (uint64_t[]){base(), 1});
}

static void check_end(uint32_t i, int result, bool begun, uint32_t suspects) {
    cr_expect_eq(ops[i].dev.result, result, "%u: %d", i, ops[i].dev.result);
    cr_expect_eq(ops[i].dev.begun, begun, "%u", i);
    cr_expect_eq(ops[i].dev.suspects, suspects, "%u", i);
}

/* Two jobs have kernels in flight, so the culprit is unknown. Operations queued after those did
 * not begin. */
BOTH(one_of_two_did_it) {
    struct rig_space job;
    cr_assert_eq(cuda_rig_space(&rig, &job, 1), 0);
    cr_assert_eq(rig.ops->queue_create(job.space, 0, &other), 0);
    fault(queue, 0);
    fill(queue, 1);
    fill(other, 2);
    fill(other, 3);
    rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 4));
    check_end(0, ERR_DEVICE_LOST, true, 2);
    check_end(1, ERR_DEVICE_LOST, way == DEV_COMPLETION_EVENTS, 0);
    check_end(2, ERR_DEVICE_LOST, true, 2);
    check_end(3, ERR_DEVICE_LOST, way == DEV_COMPLETION_EVENTS, 0);
    cr_assert(strstr(ops[2].dev.fault_text, "one of the 2 kernels that"));
    rig.ops->queue_destroy(other);
    other = NULL;
    cuda_rig_space_end(&rig, &job);
}

/* The kernel is unknown, but the job is certain. */
BOTH(a_job_that_is_alone_did_it) {
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &other), 0);
    fault(queue, 0);
    fill(other, 1);
    fill(other, 2);
    rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 3));
    check_end(0, ERR_LAUNCH_FAILED, true, 2);
    check_end(1, ERR_LAUNCH_FAILED, true, 2);
    check_end(2, ERR_DEVICE_LOST, way == DEV_COMPLETION_EVENTS, 0);
    cr_assert(strstr(ops[1].dev.fault_text, "one of the 2 kernels of this job"));
}

/* An operation at the head of another stream that is no kernel cannot be the cause. An operation
 * that completed before counts as complete. */
Test(cuda_queue, copies_and_what_is_complete_are_no_suspects) {
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &other), 0);
    cuda_rig_fill(&rig, other, &ops[2], base(), 1, 1);
    cuda_rig_fill(&rig, other, &ops[3], base(), 1, 1);
    fill(other, 4);
    fill(queue, 0);
    fault(queue, 1);
    for (int i = 0; i < 4; i++)
        rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 5));
    check_end(0, 0, false, 0);
    check_end(1, ERR_LAUNCH_FAILED, true, 1);
    check_end(2, ERR_DEVICE_LOST, true, 0);
    check_end(3, ERR_DEVICE_LOST, true, 0);
    check_end(4, ERR_DEVICE_LOST, false, 0);
}

/* The streams may continue until the process ends, so all operations may have begun. */
Test(cuda_queue, what_is_ended_by_us_may_all_have_begun) {
    fill(queue, 0);
    fill(queue, 1);
    rig.fake->end(CUDA_ERROR_UNKNOWN);
    cr_assert(cuda_rig_wait(&rig, 2));
    cr_expect(ops[0].dev.begun);
    cr_expect(ops[1].dev.begun);
}

/* A peek of an innocent job does not report a wrong address. */
BOTH(after_the_end_all_say_that_it_is_over) {
    uint64_t value;
    struct dev_chunk *more;
    rig.fake->end(CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(rig.ops->peek(space.space, base(), 4, &value), ERR_DEVICE_LOST);
    cr_assert_eq(rig.ops->driver->lost(rig.dev), ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &more), ERR_DEVICE_LOST);
}
