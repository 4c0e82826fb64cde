/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that go to the driver in subgrids: how they are split, how many are with the driver at a
 * time, pausing between them, and every way in which such a launch ends early.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/cuda/module/cuda_cut.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_shares.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/patience.h"
#include "test/lib/ptx/devmodule.h"
#include "test/lib/ptx/image_build.h"

#define FIRST_STREAM 3u     /* two of chunks, one of peeks, then the queues' */
#define WAVE (2 * FAKE_SMS) /* a wave of blocks of 1024 threads */
#define MS 1000000ull

#define OWN ".reg .b32 %r; mov.u32 %r, %ctaid.x; ret;"
static const char image[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    "/*fake\nentry place 8\nentry append 8 4\nentry fault 4\nentry add 8 8 8 8\n*/\n"
    ".visible .entry place(.param .u64 l) { " OWN " }\n"
    ".visible .entry append(.param .u64 l, .param .u32 v) { .reg .b64 %r; mov.u64 %r, %gridid; "
    "ret; }\n"
    ".visible .entry fault(.param .u32 p) { " OWN " }\n";

static struct cuda_rig rig;
static struct rig_space space;
static struct dev_chunk *chunks[4];
static struct dev_module *module;
static struct dev_queue *queue, *other;
static struct rig_op ops[8];
static enum dev_completion way;
static uint32_t waves;

static struct dev_func *func(const char *name) {
    struct dev_func *f = NULL;
    struct dev_func_info info;
    char why[256];
    cr_assert_eq(rig.ops->func_get(module, name, &f, &info, why, sizeof(why)), 0);
    return f;
}

static void open_with(bool on, bool faulty, uint64_t timeout_ns) {
    char why[256];
    cuda_rig_load(&rig, faulty);
    rig.config.completion = way;
    rig.config.completion_each = true;
    rig.config.subgrids = on;
    rig.config.subgrid_waves = waves;
    rig.config.kernel_timeout_ns = timeout_ns;
    rig.fake->start(&(struct fake_options){.stepping = true, .greatest = -2});
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 4, chunks), 0);
    cr_assert_eq(
        devmodule_load(rig.ops, space.space, 0, image, sizeof(image), &module, why, sizeof(why)), 0,
        "%s", why);
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &queue), 0);
}

static void open_on(void) {
    open_with(true, false, 0);
}

static void open_events(void) {
    way = DEV_COMPLETION_EVENTS;
    open_on();
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

static struct dev_launch like(const char *name, uint32_t x, uint32_t y, uint32_t z,
                              const uint64_t *params, uint32_t bytes) {
    return (struct dev_launch){.func = func(name),
                               .grid = {x, y, z},
                               .block = {1024, 1, 1},
                               .params = params,
                               .param_bytes = bytes};
}

static void launch(struct dev_queue *q, uint32_t op, const struct dev_launch *l) {
    ops[op] = (struct rig_op){.dev.timed = rig.asked.timed};
    cr_assert_eq(rig.ops->launch(q, l, &ops[op].dev), 0);
}

static void place(uint32_t op, uint32_t x, uint32_t y, uint32_t z) {
    const uint64_t params[] = {base()};
    const struct dev_launch l = like("place", x, y, z, params, 8);
    launch(queue, op, &l);
}

static uint32_t parts_run(void) {
    return cuda_rig_words(base())[0] / 6;
}

static const uint32_t *part(uint32_t i) {
    return cuda_rig_words(base()) + 1 + 6 * i;
}

/* Runs all work that the driver has; the device submits no more. */
static void drain(void) {
    while (rig.fake->step(FIRST_STREAM) || rig.fake->step(FIRST_STREAM + 1))
        continue;
}

/* Runs parts until no more come. */
static void finish(uint32_t done) {
    for (int i = 0; i < 1000 && rig.done < done; i++) {
        drain();
        cuda_rig_poll(&rig);
    }
    cr_assert_eq(rig.done, done);
}

static void is_part(uint32_t i, uint32_t x, uint32_t y, uint32_t z) {
    const uint32_t *p = part(i);
    cr_expect(p[0] == x && p[1] == y && p[2] == z, "%u: %u %u %u", i, p[0], p[1], p[2]);
}

TestSuite(cuda_subgrid, .init = open_on, .fini = close_all);
TestSuite(cuda_subgrid_events, .init = open_events, .fini = close_all);
TestSuite(cuda_subgrid_own, .fini = close_all);

/* Runs the test with fences, and with events. */
#define BOTH(name)                    \
    static void name(void);           \
    Test(cuda_subgrid, name) {        \
        name();                       \
    }                                 \
    Test(cuda_subgrid_events, name) { \
        name();                       \
    }                                 \
    static void name(void)

BOTH(a_launch_of_several_waves_goes_in_parts) {
    cr_assert_eq(rig.info.slice_ns, DEV_WAVES);
    place(0, 2 * WAVE + 36, 1, 1);
    finish(1);
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_eq(ops[0].done, 1);
    cr_assert_eq(parts_run(), 3);
    is_part(0, 0, 0, 0), is_part(1, WAVE, 0, 0), is_part(2, 2 * WAVE, 0, 0);
    struct fake_launch last = rig.fake->last_launch();
    cr_assert(last.grid[0] == 36 && last.grid[1] == 1 && last.block[0] == 1024);
}

BOTH(it_is_cut_along_its_slowest_dimension) {
    place(0, 8, 100, 1);
    finish(1);
    cr_assert_eq(parts_run(), 4);
    is_part(1, 0, 29, 0), is_part(3, 0, 87, 0);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert(part(i)[3] == 8 && part(i)[4] == 100 && part(i)[5] == 1, "of the whole grid");
    struct fake_launch last = rig.fake->last_launch();
    cr_assert(last.grid[0] == 8 && last.grid[1] == 13 && last.grid[2] == 1);
}

BOTH(two_parts_are_the_driver_s_at_a_time) {
    place(0, 5 * WAVE, 1, 1);
    const uint64_t params[] = {base() + 4096, 7};
    const struct dev_launch behind = like("append", 1, 1, 1, params, 12);
    launch(queue, 1, &behind);
    drain();
    cr_assert_eq(parts_run(), 2);
    cr_assert_eq(cuda_rig_poll(&rig), 0);
    drain();
    cr_assert_eq(parts_run(), 4);
    cr_assert_eq(cuda_rig_words(base() + 4096)[0], 0, "what is behind it has not begun");
    finish(2);
    cr_assert_eq(parts_run(), 5);
    cr_assert_eq(cuda_rig_words(base() + 4096)[0], 1);
    cr_assert(ops[0].done == 1 && ops[1].done == 1 && !ops[1].dev.result);
}

/* The next part is submitted while one runs, so that the device does not wait for us. */
BOTH(a_part_that_is_through_is_followed_by_another) {
    place(0, 5 * WAVE, 1, 1);
    rig.fake->step(FIRST_STREAM), rig.fake->step(FIRST_STREAM);
    cr_assert_eq(cuda_rig_poll(&rig), 0);
    drain();
    cr_assert_eq(parts_run(), 3);
    finish(1);
}

BOTH(what_is_one_wave_or_cannot_be_cut_goes_as_a_whole) {
    const uint64_t list[] = {base(), 7};
    struct dev_launch l = like("append", 10 * WAVE, 1, 1, list, 12);
    launch(queue, 0, &l);
    cr_expect_eq(rig.fake->last_launch().grid[0], 10 * WAVE);
    l = like("place", WAVE, 1, 1, list, 8);
    launch(queue, 1, &l);
    cr_expect_eq(rig.fake->last_launch().grid[0], WAVE);
    l.grid[0] = 10 * WAVE;
    l.cooperative = 1;
    launch(queue, 2, &l);
    cr_expect_eq(rig.fake->last_launch().grid[0], 10 * WAVE);
    l.cooperative = 0;
    l.cluster[0] = l.cluster[1] = l.cluster[2] = 1;
    launch(queue, 3, &l);
    cr_expect_eq(rig.fake->last_launch().grid[0], 10 * WAVE);
    finish(4);
}

BOTH(parameters_are_kept_until_the_last_part) {
    uint64_t params[] = {base()};
    const struct dev_launch l = like("place", 6 * WAVE, 1, 1, params, 8);
    launch(queue, 0, &l);
    params[0] = 0;
    finish(1);
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_eq(parts_run(), 6);
}

BOTH(what_is_behind_the_parameters_is_not_taken_for_one) {
    uint64_t params[] = {base(), 77};
    const struct dev_launch l = like("place", 2 * WAVE, 1, 1, params, 16);
    launch(queue, 0, &l);
    finish(1);
    is_part(0, 0, 0, 0), is_part(1, WAVE, 0, 0);
}

BOTH(of_the_higher_level_nothing_is_cut) {
    rig.ops->shares->queue_level(queue, 1);
    place(0, 10 * WAVE, 1, 1);
    cr_expect_eq(rig.fake->last_launch().grid[0], 10 * WAVE);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    rig.ops->shares->queue_level(queue, 0);
    place(1, 10 * WAVE, 1, 1);
    cr_expect_eq(rig.fake->last_launch().grid[0], WAVE);
    rig.ops->shares->queue_level(queue, 1);
    drain();
    cuda_rig_poll(&rig);
    cr_expect_eq(rig.fake->last_launch().grid[0], 8 * WAVE, "the rest at once");
    finish(2);
    cr_assert_eq(parts_run(), 4);
    is_part(3, 2 * WAVE, 0, 0);
}

BOTH(parts_are_as_large_as_the_share) {
    rig.ops->shares->queue_share(queue, 16);
    place(0, 3 * WAVE, 1, 1);
    cr_expect_eq(rig.fake->last_launch().grid[0], 32);
    rig.ops->shares->queue_share(queue, 0);
    drain();
    cuda_rig_poll(&rig);
    cr_expect_eq(rig.fake->last_launch().grid[0], WAVE);
    finish(1);
    is_part(2, 64, 0, 0);
    cr_assert_eq(ops[0].dev.result, 0);
}

Test(cuda_subgrid_own, parts_may_have_more_or_less_than_a_wave) {
    waves = 2500;
    open_on();
    place(0, 10 * WAVE, 1, 1);
    cr_expect_eq(rig.fake->last_launch().grid[0], WAVE * 5 / 2);
    finish(1);
    cr_assert_eq(parts_run(), 4);
    close_all();
    waves = 1;
    rig.done = 0;
    open_on();
    place(0, 4, 1, 1);
    finish(1);
    cr_assert_eq(parts_run(), 4, "a block each");
}

Test(cuda_subgrid_own, without_the_option_nothing_is_cut) {
    open_with(false, false, 0);
    cr_assert_eq(rig.info.slice_ns, 0);
    place(0, 10 * WAVE, 1, 1);
    rig.ops->shares->queue_still(queue, true);
    place(1, 10 * WAVE, 1, 1);
    rig.fake->run();
    cr_assert_eq(cuda_rig_poll(&rig), 2);
    cr_assert_eq(parts_run(), 2);
}

/* ---- paused ---------------------------------------------------------------------------------- */

BOTH(it_stands_still_between_its_parts) {
    rig.asked.timed = true;
    place(0, 6 * WAVE, 1, 1);
    rig.ops->shares->queue_still(queue, true);
    for (int i = 0; i < 5; i++) {
        drain();
        cr_assert_eq(cuda_rig_poll(&rig), 0);
        cr_assert_eq(parts_run(), 2, "those that the driver had");
    }
    cr_assert_eq(rig.ops->arm(rig.dev), 0, "and nothing comes of itself");
    rig.ops->shares->queue_still(queue, false);
    drain();
    cr_assert_eq(parts_run(), 4);
    finish(1);
    cr_assert_eq(parts_run(), 6);
    cr_assert_eq(ops[0].dev.result, 0);
    cr_assert_not(ops[0].dev.timed, "what it takes is not to be learnt of this");
}

BOTH(the_time_that_it_stood_is_not_its_own) {
    place(0, 3 * WAVE, 1, 1);
    rig.ops->shares->queue_still(queue, true);
    drain();
    cuda_rig_poll(&rig);
    for (uint64_t from = fdutil_now_ns(); fdutil_now_ns() - from < 20 * MS;)
        continue;
    rig.ops->shares->queue_still(queue, false);
    finish(1);
    cr_assert_geq(ops[0].dev.end_ns - ops[0].dev.start_ns, 20 * MS);
    cr_assert_leq(ops[0].dev.busy_ns, ops[0].dev.end_ns - ops[0].dev.start_ns - 20 * MS);
}

BOTH(no_kernel_begins_while_its_queue_stands_still) {
    rig.ops->shares->queue_still(queue, true);
    place(0, 3 * WAVE, 1, 1);
    place(1, 1, 1, 1);
    cuda_rig_fill(&rig, queue, &ops[2], base() + 4096, 9, 1);
    drain();
    cr_assert_eq(cuda_rig_poll(&rig), 0);
    cr_assert_eq(parts_run(), 0);
    rig.ops->shares->queue_still(queue, false);
    finish(3);
    cr_assert_eq(parts_run(), 4);
    cr_assert_eq(cuda_rig_words(base() + 4096)[0], 9);
}

BOTH(others_go_on_while_one_stands_still) {
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &other), 0);
    const uint64_t params[] = {base() + 4096};
    const struct dev_launch l = like("place", 3 * WAVE, 1, 1, params, 8);
    place(0, 3 * WAVE, 1, 1);
    rig.ops->shares->queue_still(queue, true);
    launch(other, 1, &l);
    finish(1);
    cr_assert_eq(ops[1].done, 1);
    cr_assert_eq(parts_run(), 2);
    rig.ops->shares->queue_still(queue, false);
    finish(2);
}

/* ---- ended early ----------------------------------------------------------------------------- */

BOTH(cancelled_it_ends_with_the_parts_that_run) {
    place(0, 6 * WAVE, 1, 1);
    place(1, 6 * WAVE, 1, 1);
    rig.ops->space_cancel(space.space);
    cr_assert_eq(cuda_rig_poll(&rig), 1, "the one that has not begun");
    cr_assert_eq(ops[1].dev.result, ERR_CANCELLED);
    finish(2);
    cr_assert_eq(parts_run(), 2);
    cr_assert_eq(ops[0].dev.result, ERR_CANCELLED);
    cr_assert(ops[0].done == 1 && ops[1].done == 1);
    place(2, 3 * WAVE, 1, 1);
    finish(3);
    cr_assert_eq(ops[2].dev.result, 0, "the queue goes on");
}

BOTH(cancelled_while_it_stands_still_it_ends_at_once) {
    place(0, 6 * WAVE, 1, 1);
    rig.ops->shares->queue_still(queue, true);
    drain();
    cr_assert_eq(cuda_rig_poll(&rig), 0);
    rig.ops->space_cancel(space.space);
    cr_assert_eq(cuda_rig_poll(&rig), 1);
    cr_assert_eq(ops[0].dev.result, ERR_CANCELLED);
    cr_assert_eq(parts_run(), 2);
    rig.ops->shares->queue_still(queue, false);
    place(1, 3 * WAVE, 1, 1);
    finish(2);
    cr_assert_eq(parts_run(), 5);
}

static uint32_t kernel_fault(struct dev_queue *q, uint32_t op, uint32_t x) {
    const uint64_t params[] = {CUDA_ERROR_LAUNCH_FAILED};
    const struct dev_launch l = like("fault", x, 1, 1, params, 4);
    launch(q, op, &l);
    return op;
}

BOTH(a_fault_in_a_part_is_the_operation_s) {
    kernel_fault(queue, 0, 6 * WAVE);
    place(1, 3 * WAVE, 1, 1);
    rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 2));
    cr_assert_eq(ops[0].dev.result, ERR_LAUNCH_FAILED);
    cr_assert(ops[0].dev.begun && ops[0].dev.suspects == 1);
    cr_assert_eq(ops[1].dev.result, ERR_DEVICE_LOST);
    cr_assert_not(ops[1].dev.begun);
}

/* No part of the launch was in flight. */
BOTH(who_stands_still_is_no_suspect) {
    struct rig_space job;
    cr_assert_eq(cuda_rig_space(&rig, &job, 1), 0);
    cr_assert_eq(rig.ops->queue_create(job.space, 0, &other), 0);
    place(0, 6 * WAVE, 1, 1);
    rig.ops->shares->queue_still(queue, true);
    drain();
    cuda_rig_poll(&rig);
    kernel_fault(other, 1, 1);
    rig.fake->step(FIRST_STREAM + 1);
    cr_assert(cuda_rig_wait(&rig, 2));
    cr_expect_eq(ops[1].dev.result, ERR_LAUNCH_FAILED);
    cr_expect_eq(ops[1].dev.suspects, 1);
    cr_expect_eq(ops[0].dev.result, ERR_DEVICE_LOST);
    cr_expect_eq(ops[0].dev.suspects, 0);
    cr_expect(ops[0].dev.begun, "some of it was done");
    rig.ops->queue_destroy(other);
    other = NULL;
    cuda_rig_space_end(&rig, &job);
}

/* If a part fails, the cancelled kernel is known to be the cause. */
BOTH(who_is_cancelled_in_the_middle_is_a_suspect_still) {
    kernel_fault(queue, 0, 6 * WAVE);
    rig.ops->space_cancel(space.space);
    rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 1));
    cr_expect_eq(ops[0].dev.result, ERR_LAUNCH_FAILED);
    cr_expect_eq(ops[0].dev.suspects, 1);
}

Test(cuda_subgrid_own, a_kernel_that_stands_still_runs_out_of_no_time) {
    open_with(true, false, 20 * MS);
    place(0, 6 * WAVE, 1, 1);
    rig.ops->shares->queue_still(queue, true);
    drain();
    for (uint64_t from = fdutil_now_ns(); fdutil_now_ns() - from < 60 * MS;)
        cr_assert_eq(cuda_rig_poll(&rig), 0);
    cr_assert_eq(rig.ops->driver->lost(rig.dev), 0);
    rig.ops->shares->queue_still(queue, false);
    finish(1);
    cr_assert_eq(ops[0].dev.result, 0);
}

Test(cuda_subgrid_own, a_part_that_does_not_end_runs_out_of_time) {
    open_with(true, false, 20 * MS);
    place(0, 6 * WAVE, 1, 1);
    rig.fake->step(FIRST_STREAM), rig.fake->step(FIRST_STREAM);
    cr_assert(cuda_rig_wait(&rig, 1));
    cr_assert_eq(ops[0].dev.result, ERR_KERNEL_TIMEOUT);
    cr_assert(rig.ops->driver->lost(rig.dev) != 0);
}

/* ---- the driver fails ------------------------------------------------------------------------ */

static void let_fail(const char *name, uint32_t nth, CUresult result) {
    struct faulty_rule rule = {.nth = nth, .result = (int)result};
    while (strcmp(rig.faulty->names[rule.call], name) != 0)
        rule.call++;
    rig.faulty->set(&rule);
}

Test(cuda_subgrid_own, a_part_that_is_refused_is_the_last) {
    open_with(true, true, 0);
    let_fail("cuLaunchKernelEx", 4, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    place(0, 6 * WAVE, 1, 1);
    place(1, 1, 1, 1);
    finish(2);
    cr_assert_eq(rig.faulty->fired(), 1);
    cr_assert_eq(parts_run(), 3);
    cr_assert(ops[0].dev.result != 0 &&
              strstr(ops[0].dev.fault_text, "the driver rejected the operation"));
    cr_assert_eq(ops[1].dev.result, ERR_CANCELLED);
    place(2, 3 * WAVE, 1, 1);
    finish(3);
    cr_assert_eq(ops[2].dev.result, 0);
}

Test(cuda_subgrid_own, without_its_second_module_a_kernel_goes_as_a_whole) {
    open_with(true, true, 0);
    static const struct {
        const char *call;
        uint32_t nth;
    } calls[] = {{"cuModuleLoadDataEx", 2},
                 {"cuModuleGetFunction", 2},
                 {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 1}};
    for (uint32_t i = 0; i < 3; i++) {
        char why[256];
        devmodule_unload(rig.ops, module);
        let_fail(calls[i].call, calls[i].nth, CUDA_ERROR_OUT_OF_MEMORY);
        cr_assert_eq(devmodule_load(rig.ops, space.space, 0, image, sizeof(image), &module, why,
                                    sizeof(why)),
                     0);
        place(0, 6 * WAVE, 1, 1);
        cr_assert_eq(rig.faulty->fired(), 1, "%s", calls[i].call);
        cr_assert_eq(rig.fake->last_launch().grid[0], 6 * WAVE, "%s", calls[i].call);
        finish(i + 1);
        cr_assert_eq(ops[0].dev.result, 0);
    }
}

/* ---- images that can be split ---------------------------------------------------------------- */

static uint32_t loads;

static CUresult capability(int *value, CUdevice_attribute which, CUdevice device) {
    (void)device;
    *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
}

static CUresult load_data(CUmodule *out, const void *text, unsigned int count,
                          CUjit_option *options, void **values) {
    (void)count, (void)options, (void)values;
    cr_expect(strstr(text, ".entry place("));
    *out = (CUmodule)(uintptr_t)++loads;
    return CUDA_SUCCESS;
}

static bool is_cut(const struct image_entry *entries, size_t count) {
    struct context c = {
        .driver = {.cuDeviceGetAttribute = capability, .cuModuleLoadDataEx = load_data}};
    CUmodule m = NULL;
    struct buf fatbin;
    buf_init(&fatbin);
    image_build_fatbin(&fatbin, entries, count);
    cr_assert_eq(cuda_cut_load(&c, fatbin.data, fatbin.len, &m), 0);
    buf_finish(&fatbin);
    return m != NULL;
}

/* The driver may run code that it did not make from the PTX in the same image; such code is not
 * split. */
Test(cuda_cut, only_what_the_driver_makes_from_ptx_is_cut) {
    struct buf cubin;
    buf_init(&cubin);
    image_build_cubin(&cubin, 90, &(struct image_build_kernel){.name = "place"}, 1);
    struct image_entry e[2] = {{.kind = 1, .target = 90, .data = image, .bytes = sizeof(image)},
                               {.kind = 2, .target = 90, .data = cubin.data, .bytes = cubin.len}};
    cr_expect(is_cut(e, 1));
    cr_expect_not(is_cut(e, 2), "machine code for this GPU");
    e[1].target = 80;
    cr_expect(is_cut(e, 2), "for another one");
    e[0].target = 100;
    cr_expect_not(is_cut(e, 1), "for a newer one");
    cr_expect_eq(loads, 2);
    buf_finish(&cubin);
}
