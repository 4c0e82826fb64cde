/* SPDX-License-Identifier: Apache-2.0
 *
 * The software device through its table of operations, as in the worker.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "daemon/device/device.h"
#include "daemon/device/device_inflight.h"
#include "daemon/device/device_null_mode.h"
#include "daemon/device/device_settings.h"
#include "daemon/device/device_shares.h"
#include "test/lib/patience.h"
#include "test/lib/ptx/devmodule.h"
#include "test/lib/ptx/image_build.h"

#define MIB (1ull << 20)
#define BASE 0x210000000000ull
#define ALLOC (64 * MIB)

static const char ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 hits;\n"
    ".const .align 4 .b8 table[80];\n.const .u32 factor = 3;\n"
    ".visible .entry add(.param .u64 p, .param .u32 v)\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v];\n"
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
    "mad.lo.s32 %r5, %r3, %r4, %r2; mul.wide.s32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r6, [%rd3]; add.s32 %r7, %r6, %r1; st.global.u32 [%rd3], %r7; ret;\n}\n"
    ".visible .entry forever(.param .u64 p)\n{\n$L: bra $L;\n}\n"
    ".visible .entry forever_table(.param .u64 p)\n{\n.reg .b32 %r; mov.u32 %r, %tid.x;\n"
    "and.b32 %r, %r, 1; $T: .branchtargets $A, $B;\n$A: brx.idx %r, $T;\n$B: brx.idx %r, $T;\n}\n"
    /* Counts in p[0] and never ends. */
    ".visible .entry ticks(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [p];\n$L: red.global.add.u64 [%rd1], 1; bra $L;\n}\n"
    /* Sets p[1] when it begins, waits for p[2], and stores p[0] before and after 60 slices. */
    ".visible .entry watch(.param .u64 p)\n{\n.reg .b64 %rd<6>; .reg .b32 %r<3>; .reg .pred %p;\n"
    "ld.param.u64 %rd1, [p]; st.global.u64 [%rd1+8], 1;\n"
    "$W: ld.volatile.global.u64 %rd2, [%rd1+16]; setp.eq.u64 %p, %rd2, 0; @%p bra $W;\n"
    "ld.volatile.global.u64 %rd3, [%rd1]; mov.u32 %r1, 0;\n"
    "$L: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 655360; @%p bra $L;\n"
    "ld.volatile.global.u64 %rd4, [%rd1]; sub.u64 %rd5, %rd4, %rd3;\n"
    "st.global.u64 [%rd1+24], %rd5; ret;\n}\n";

static struct dev *dev;
static struct dev_space *space;
static struct dev_queue *queue;
static struct dev_module *module;
static uint64_t host;

static void open_device(uint32_t threads, uint64_t timeout_ns) {
    struct dev_config config = {
        .memory_bytes = 256 * MIB, .threads = threads, .kernel_timeout_ns = timeout_ns};
    static const struct dev_space_ops ops;
    char why[256];
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    host = (uint64_t)(uintptr_t)mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct dev_windows w = {BASE, ALLOC, 32 * MIB, host, 4 * MIB, 2 * MIB};
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &space), 0);
    cr_assert_eq(dev_soft.queue_create(space, 0, &queue), 0);
    cr_assert_eq(devmodule_load(&dev_soft, space, 0, ptx, sizeof(ptx), &module, why, sizeof(why)),
                 0, "%s", why);
}

#define MOST_CHUNKS 128
static struct dev_chunk *chunks[MOST_CHUNKS]; /* in the order of creation */
static uint32_t chunk_count;

/* Maps new chunks at these addresses. */
static int back(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    uint32_t first = chunk_count, count = (uint32_t)(bytes / (2 * MIB));
    for (; chunk_count < first + count; chunk_count++) {
        int err = dev_soft.chunk_create(dev, &chunks[chunk_count]);
        if (err) return err;
    }
    return dev_soft.chunk_map(s, addr, chunks + first, count);
}

/* Waits for one completion, by the event descriptor as the worker does. */
static struct dev_op *wait_one(void) {
    struct dev_op *op;
    while (!(op = dev_soft.poll(dev))) {
        if (dev_soft.arm(dev)) continue;
        struct pollfd p = {.fd = dev_soft.event_fd(dev), .events = POLLIN};
        cr_assert_eq(poll(&p, 1, patience_ms()), 1, "no completion");
    }
    return op;
}

static void launch(struct dev_queue *q, const char *name, uint32_t blocks, uint64_t p, uint32_t v,
                   struct dev_op *op) {
    struct dev_func *f;
    struct dev_func_info info;
    char why[256];
    unsigned char params[12];
    memcpy(params, &p, 8);
    memcpy(params + 8, &v, 4);
    cr_assert_eq(dev_soft.func_get(module, name, &f, &info, why, sizeof(why)), 0);
    struct dev_launch l = {.func = f,
                           .grid = {blocks, 1, 1},
                           .block = {32, 1, 1},
                           .params = params,
                           .param_bytes = info.param_bytes};
    cr_assert_eq(dev_soft.launch(q, &l, op), 0);
}

static void close_device(void) {
    devmodule_unload(&dev_soft, module);
    dev_soft.queue_destroy(queue);
    dev_soft.space_destroy(space);
    while (chunk_count)
        dev_soft.chunk_destroy(dev, chunks[--chunk_count]);
    cr_assert_eq(dev_soft.mem_used(dev), 0, "memory left behind");
    dev_soft.close(dev);
}

/* ---- compute capability ---------------------------------------------------------------------- */

static const char newer_ptx[] = ".version 8.7\n.target sm_120\n.address_size 64\n"
                                ".visible .entry k()\n{\nret;\n}\n";

static int load_for_120(struct dev_module **m, char *why) {
    return devmodule_load(&dev_soft, space, 0, newer_ptx, sizeof(newer_ptx), m, why, 256);
}

Test(soft, modules_are_chosen_for_the_capability_that_the_space_is_told) {
    struct dev_module *m;
    struct dev_func *f;
    struct dev_func_info info;
    char why[256];
    open_device(1, 0);
    cr_assert_eq(load_for_120(&m, why), ERR_NO_BINARY);
    cr_assert_str_eq(why, "the PTX is for sm_120, the device is sm_90");
    cr_assert_eq(devmodule_load(&dev_soft, space, 130, newer_ptx, sizeof(newer_ptx), &m, why, 256),
                 0);
    cr_assert_eq(dev_soft.func_get(m, "k", &f, &info, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(info.binary_version, 130, "as this load says");
    devmodule_unload(&dev_soft, m);
    dev_soft.settings->space_capability(space, 121);
    cr_assert_eq(load_for_120(&m, why), 0, "%s", why);
    cr_assert_eq(dev_soft.func_get(m, "k", &f, &info, why, sizeof(why)), 0, "%s", why);
    cr_assert(info.ptx_version == 120 && info.binary_version == 121);
    devmodule_unload(&dev_soft, m);
    close_device();
}

/* ---- spaces of null jobs --------------------------------------------------------------------- */

static struct dev_space *null_space;
static struct dev_queue *null_queue;

static void open_null(void) {
    static const struct dev_space_ops ops;
    struct dev_windows w = {BASE + (1ull << 40), ALLOC, 32 * MIB, host, 4 * MIB, 2 * MIB};
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &null_space), 0);
    cr_assert_eq(dev_soft.null_mode->space_null(null_space), 0);
    cr_assert_eq(dev_soft.queue_create(null_space, 0, &null_queue), 0);
}

static void close_null(void) {
    dev_soft.queue_destroy(null_queue);
    dev_soft.space_destroy(null_space);
}

/* A module of machine code only, in the space of a null job. */
static struct dev_module *load_cubin(struct dev_space *s, int err) {
    static const struct image_param params[] = {{0, 0, 8, 0}, {1, 8, 4, 0}};
    static const struct image_param wrong[] = {{0, 8, 8, 0}};
    static const struct image_build_kernel kernels[] = {
        {"k", 40, 512, 400, {256, 1, 1}, 12, params, 2, 0, 0},
        {"wrong", 8, 0, 0, {0}, 12, wrong, 1, 0, 0},
        {"no_total", 8, 0, 0, {0}, 0, params, 2, 0, 0},
    };
    static const struct image_build_var vars[] = {{"zeros", NULL, 5, 0, 0, 0},
                                                  {"filled", "abcdefg", 8, 0, 0, 0},
                                                  {"constant", "xyz", 4, 1, 0, 0}};
    struct buf cubin;
    struct dev_module *m;
    char why[256];
    buf_init(&cubin);
    image_build_cubin_vars(&cubin, 90, kernels, 3, vars, 3);
    cr_assert_eq(devmodule_load(&dev_soft, s, 0, cubin.data, cubin.len, &m, why, sizeof(why)), err,
                 "%s", why);
    buf_finish(&cubin);
    return m;
}

Test(soft, an_image_is_not_read_to_its_end_for_a_space_that_is_over) {
    char why[256];
    struct dev_module *m;
    open_device(1, 0);
    dev_soft.space_cancel(space);
    cr_expect_eq(devmodule_load(&dev_soft, space, 0, ptx, sizeof(ptx), &m, why, sizeof(why)),
                 ERR_CANCELLED);
    cr_expect_null(m);
    close_device();
}

Test(soft, machine_code_is_taken_where_nothing_is_computed) {
    struct dev_func_info info;
    struct dev_func *f;
    char why[256];
    open_device(1, 0);
    open_null();
    struct dev_module *m = load_cubin(null_space, 0);
    cr_assert_eq(dev_soft.func_count(m), 3);
    cr_assert_eq(dev_soft.func_get(m, "k", &f, &info, why, sizeof(why)), 0, "%s", why);
    cr_expect(info.param_count == 2 && info.param_bytes == 12 && info.params[1].offset == 8 &&
              info.params[1].bytes == 4);
    cr_expect(info.regs == 40 && info.shared_bytes == 400 && info.max_threads == 256 &&
              info.local_bytes == 512 && info.binary_version == 90 && info.ptx_version == 90);
    cr_assert_eq(dev_soft.func_get(m, "wrong", &f, &info, why, sizeof(why)), ERR_INVALID_IMAGE);
    cr_expect_str_eq(why, "the kernel's parameters exceed the size that the cubin gives");
    cr_assert_eq(dev_soft.func_get(m, "no_total", &f, &info, why, sizeof(why)), 0, "%s", why);
    cr_expect(info.param_bytes == 12 && info.regs == 16 && info.max_threads == 1024);
    cr_expect_eq(dev_soft.func_get(m, "absent", &f, &info, why, sizeof(why)), ERR_NOT_FOUND);
    devmodule_unload(&dev_soft, m);
    m = load_cubin(space, 0);
    cr_assert_eq(dev_soft.func_get(m, "k", &f, &info, why, sizeof(why)), ERR_NO_BINARY,
                 "the other space computes");
    devmodule_unload(&dev_soft, m);
    close_null();
    close_device();
}

Test(soft, variables_of_machine_code_are_there) {
    uint64_t at, bytes;
    open_device(1, 0);
    open_null();
    struct dev_module *m = load_cubin(null_space, 0);
    cr_expect_eq(dev_soft.global_count(m), 3);
    cr_assert_eq(dev_soft.global_get(m, "filled", &at, &bytes), 0);
    cr_expect(bytes == 8 && at % 256 == 0);
    struct dev_copy out = {.dst = host, .src = at, .width_bytes = 8, .height = 1, .depth = 1};
    struct dev_op op = {0};
    cr_assert_eq(dev_soft.copy(null_queue, &out, &op), 0);
    cr_assert_eq(wait_one(), &op);
    cr_expect_eq(op.result, 0);
    cr_expect_str_eq((char *)(uintptr_t)host, "abcdefg");
    cr_assert_eq(dev_soft.global_get(m, "zeros", &at, &bytes), 0);
    cr_expect_eq(bytes, 5);
    cr_expect_eq(dev_soft.global_get(m, "absent", &at, &bytes), ERR_NOT_FOUND);
    devmodule_unload(&dev_soft, m);
    close_null();
    close_device();
}

Test(soft, too_many_variables_are_refused) {
    struct image_build_var vars[2] = {{"small", NULL, 8, 0, 0, 0},
                                      {"large", NULL, UINT32_MAX, 0, 0, 0}};
    struct buf cubin;
    struct dev_module *m;
    char why[256];
    open_device(1, 0);
    open_null();
    uint64_t before = dev_soft.mem_used(dev);
    for (int large = 0; large < 2; large++) {
        vars[1].bytes = large ? UINT32_MAX : 33 * MIB;
        buf_init(&cubin);
        image_build_cubin_vars(&cubin, 90, NULL, 0, vars, 2);
        int err =
            devmodule_load(&dev_soft, null_space, 0, cubin.data, cubin.len, &m, why, sizeof(why));
        cr_expect_eq(err, ERR_NO_MEMORY);
        cr_expect_str_eq(
            why, "the cubin's variables do not fit into the module window (window_module_bytes)");
        buf_finish(&cubin);
    }
    cr_expect_eq(dev_soft.mem_used(dev), before);
    close_null();
    close_device();
}

Test(soft, nothing_is_computed_where_nothing_is_to_be) {
    struct dev_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = &(uint64_t[2]){0}};
    struct dev_func_info info;
    struct dev_op op = {0};
    char why[256];
    struct dev_module *m;
    open_device(1, 0);
    open_null();
    cr_assert_eq(devmodule_load(&dev_soft, null_space, 0, ptx, sizeof(ptx), &m, why, sizeof(why)),
                 0);
    cr_assert_eq(dev_soft.func_get(m, "add", &l.func, &info, why, sizeof(why)), 0, "%s", why);
    l.param_bytes = info.param_bytes;
    cr_expect_eq(dev_soft.launch(null_queue, &l, &op), -EPERM, "not even PTX");
    cr_expect_eq(dev_soft.null_mode->spend(queue, 1, 1000, &op), -EPERM, "and the other way round");
    devmodule_unload(&dev_soft, m);
    close_null();
    close_device();
}

/* Fills, times and copies of one queue. */
Test(soft, time_is_spent_in_order) {
    struct dev_op ops[4] = {{0}};
    open_device(1, 0);
    open_null();
    uint32_t *h = (uint32_t *)(uintptr_t)host;
    cr_assert_eq(back(null_space, BASE + (1ull << 40), 2 * MIB), 0);
    struct dev_memset set = {.dst = BASE + (1ull << 40),
                             .width_elems = 16,
                             .height = 1,
                             .value = 0x11223344,
                             .elem_bytes = 4};
    struct dev_copy out = {
        .dst = host, .src = BASE + (1ull << 40), .width_bytes = 64, .height = 1, .depth = 1};
    h[0] = 0;
    cr_assert_eq(dev_soft.null_mode->spend(null_queue, 16, 30000000, &ops[0]), 0);
    cr_assert_eq(dev_soft.memset(null_queue, &set, &ops[1]), 0);
    cr_assert_eq(dev_soft.null_mode->spend(null_queue, 4, 20000000, &ops[2]), 0);
    cr_assert_eq(dev_soft.copy(null_queue, &out, &ops[3]), 0);
    int seen = 0;
    while (seen < 4)
        for (struct dev_op *op = wait_one(); op; op = op->next, seen++) {
            cr_assert_eq(op, &ops[seen], "completions come in order");
            cr_assert_eq(op->result, 0, "%s", op->fault_text);
            if (seen) cr_expect_geq(op->start_ns, ops[seen - 1].end_ns);
        }
    cr_expect_eq(h[0], 0x11223344);
    cr_expect_eq(ops[0].end_ns - ops[0].start_ns, 30000000);
    cr_expect_eq(ops[0].busy_ns, 30000000);
    cr_expect_eq(ops[2].end_ns - ops[2].start_ns, 20000000);
    cr_expect_eq(ops[2].busy_ns, 5000000, "a quarter of the device");
    cr_expect_eq(dev_soft.inflight->busy(dev, &ops[2]), 5000000);
    close_null();
    close_device();
}

Test(soft, spent_time_is_as_much_longer_as_a_share_is_less) {
    struct dev_op ops[2] = {{0}};
    open_device(1, 0);
    open_null();
    dev_soft.shares->queue_share(null_queue, 4);
    cr_assert_eq(dev_soft.null_mode->spend(null_queue, 100, 10000000, &ops[0]), 0);
    cr_assert_eq(dev_soft.null_mode->spend(null_queue, 2, 1000000, &ops[1]), 0);
    for (int seen = 0; seen < 2;)
        for (struct dev_op *op = wait_one(); op; op = op->next)
            seen++;
    cr_expect_eq(ops[0].end_ns - ops[0].start_ns, 40000000, "4 of the device's 16");
    cr_expect_eq(ops[0].busy_ns, 10000000, "it is as much work");
    cr_expect_eq(ops[1].end_ns - ops[1].start_ns, 1000000, "who needs less loses nothing");
    close_null();
    close_device();
}

/* Meanwhile the only thread executes the other space's kernels. */
Test(soft, spent_time_keeps_nobody_and_is_cancelled_with_its_space) {
    struct dev_op ops[3] = {{0}}, kernel = {0};
    open_device(1, 0);
    open_null();
    cr_assert_eq(back(space, BASE, 2 * MIB), 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(dev_soft.null_mode->spend(null_queue, 16, 3600000000000, &ops[i]), 0);
    launch(queue, "add", 1, BASE, 1, &kernel);
    cr_assert_eq(wait_one(), &kernel);
    cr_expect_eq(kernel.result, 0);
    dev_soft.space_cancel(null_space);
    int seen = 0;
    while (seen < 3)
        for (struct dev_op *op = wait_one(); op; op = op->next, seen++)
            cr_assert_eq(op->result, ERR_CANCELLED);
    cr_assert_eq(dev_soft.null_mode->spend(null_queue, 16, 1000, &ops[0]), 0,
                 "what comes later is served");
    cr_assert_eq(wait_one(), &ops[0]);
    cr_expect_eq(ops[0].result, 0);
    close_null();
    close_device();
}

/* ---- queues ---------------------------------------------------------------------------------- */

Test(soft, queues_keep_order_and_kernels_compute) {
    open_device(2, 0);
    cr_assert_eq(back(space, BASE, 2 * MIB), 0);
    struct dev_op ops[5] = {{0}};
    uint32_t *h = (uint32_t *)(uintptr_t)host;
    for (int i = 0; i < 320; i++)
        h[i] = (uint32_t)i;
    struct dev_copy in = {.dst = BASE, .src = host, .width_bytes = 1280, .height = 1, .depth = 1};
    struct dev_copy out = {
        .dst = host + 4096, .src = BASE, .width_bytes = 1280, .height = 1, .depth = 1};
    cr_assert_eq(dev_soft.copy(queue, &in, &ops[0]), 0);
    launch(queue, "add", 10, BASE, 5, &ops[1]);
    launch(queue, "add", 10, BASE, 7, &ops[2]);
    cr_assert_eq(dev_soft.copy(queue, &out, &ops[3]), 0);
    int seen = 0;
    while (seen < 4)
        for (struct dev_op *op = wait_one(); op; op = op->next, seen++) {
            cr_assert_eq(op, &ops[seen], "completions come in order");
            cr_assert_eq(op->result, 0, "%s", op->fault_text);
            cr_assert_leq(op->start_ns, op->end_ns);
        }
    for (uint32_t i = 0; i < 320; i++)
        cr_assert_eq(h[1024 + i], i + 12);
    close_device();
}

/* A client that polls the second operation's memory would take it as the sign that all earlier
 * operations are complete. */
Test(soft, nothing_runs_behind_what_failed) {
    open_device(2, 0);
    cr_assert_eq(back(space, BASE, 2 * MIB), 0);
    uint32_t *sign = (uint32_t *)(uintptr_t)host;
    struct dev_memset fill = {
        .dst = host, .width_elems = 1, .height = 1, .value = 1, .elem_bytes = 4};
    struct dev_copy bad = {
        .dst = BASE + 4 * MIB, .src = host, .width_bytes = 4, .height = 1, .depth = 1};
    /* a kernel fails on a thread of the device, a small copy at once */
    for (int round = 0; round < 2; round++) {
        struct dev_op ops[4] = {{0}};
        *sign = 0;
        if (round)
            cr_assert_eq(dev_soft.copy(queue, &bad, &ops[0]), 0);
        else
            launch(queue, "add", 1, BASE + 4 * MIB, 1, &ops[0]);
        cr_assert_eq(dev_soft.memset(queue, &fill, &ops[1]), 0);
        launch(queue, "add", 1, BASE, 1, &ops[2]);
        cr_assert_eq(dev_soft.memset(queue, &fill, &ops[3]), 0);
        int seen = 0;
        while (seen < 4)
            for (struct dev_op *op = wait_one(); op; op = op->next, seen++)
                cr_assert_eq(op->result, seen ? ERR_CANCELLED : ERR_ILLEGAL_ADDRESS, "%d", seen);
        cr_assert_eq(*sign, 0);
        struct dev_op after = {0}; /* the failure was reported */
        cr_assert_eq(dev_soft.memset(queue, &fill, &after), 0);
        cr_assert_eq(wait_one()->result, 0);
        cr_assert_eq(*sign, 1);
    }
    close_device();
}

Test(soft, memory_is_accounted_and_checked) {
    open_device(1, 0);
    uint64_t before = dev_soft.mem_used(dev);
    cr_assert_eq(back(space, BASE + 2 * MIB, 4 * MIB), 0);
    cr_assert_eq(dev_soft.mem_used(dev), before + 4 * MIB);
    struct dev_op op = {0};
    launch(queue, "add", 1, BASE, 1, &op); /* no memory there */
    cr_assert_eq(wait_one(), &op);
    cr_assert_eq(op.result, ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(op.fault_addr, BASE);
    launch(queue, "add", 1, BASE + 2 * MIB, 1, &op);
    cr_assert_eq(wait_one()->result, 0);
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE + 2 * MIB, 1), 0);
    launch(queue, "add", 1, BASE + 2 * MIB, 1, &op); /* no failure any more */
    cr_assert_eq(wait_one()->result, ERR_ILLEGAL_ADDRESS);
    close_device();
}

Test(soft, the_device_has_an_end) {
    open_device(1, 0);
    struct dev_windows w = {BASE + (1ull << 40), 1ull << 30, 2 * MIB, host, MIB, 0};
    static const struct dev_space_ops ops;
    struct dev_space *other;
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &other), 0);
    cr_assert_eq(back(other, w.dev_base, 300 * MIB), ERR_NO_MEMORY);
    cr_assert_eq(dev_soft.mem_used(dev), 256 * MIB);
    while (chunk_count)
        dev_soft.chunk_destroy(dev, chunks[--chunk_count]);
    cr_assert_eq(back(other, w.dev_base, 100 * MIB), 0);
    struct dev_space *clash;
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &clash), -EEXIST);
    dev_soft.space_destroy(other);
    close_device();
}

Test(soft, an_endless_kernel_holds_nobody_up_and_can_be_cancelled) {
    open_device(1, 0); /* one thread: only slices let the other queue run */
    struct dev_queue *second;
    cr_assert_eq(dev_soft.queue_create(space, 0, &second), 0);
    cr_assert_eq(back(space, BASE, 2 * MIB), 0);
    struct dev_op endless = {0}, after = {0}, other = {0};
    launch(queue, "forever", 3, BASE, 0, &endless);
    launch(queue, "add", 1, BASE, 1, &after);
    launch(second, "add", 1, BASE, 1, &other);
    cr_assert_eq(wait_one(), &other);
    cr_assert_eq(other.result, 0);
    dev_soft.space_cancel(space);
    int seen = 0;
    while (seen < 2)
        for (struct dev_op *op = wait_one(); op; op = op->next, seen++)
            cr_assert_eq(op->result, ERR_CANCELLED);
    launch(second, "add", 1, BASE, 1, &other); /* later operations run */
    cr_assert_eq(wait_one(), &other);
    cr_assert_eq(other.result, 0);
    dev_soft.queue_destroy(second);
    close_device();
}

static uint64_t busy_above(const struct dev_op *op, uint64_t ns) {
    uint64_t busy = 0;
    for (int i = 0; i < 60000 && busy <= ns; i++) {
        busy = dev_soft.inflight->busy(dev, op);
        usleep(1000);
    }
    cr_assert_gt(busy, ns);
    return busy;
}

/* The value grows while the kernel runs, and the final total is not smaller. */
Test(soft, an_operation_in_flight_has_its_time_so_far) {
    open_device(2, 0);
    cr_assert_eq(back(space, BASE, 2 * MIB), 0);
    struct dev_op endless = {0};
    launch(queue, "forever", 3, BASE, 0, &endless);
    uint64_t busy = busy_above(&endless, busy_above(&endless, 0));
    dev_soft.space_cancel(space);
    cr_assert_eq(wait_one(), &endless);
    cr_assert_geq(endless.busy_ns, busy);
    cr_assert_eq(dev_soft.inflight->busy(dev, &endless), endless.busy_ns);
    close_device();
}

/* At least as many blocks as threads loop through a jump table. Another client's blocks run
 * concurrently, and the loops end when their queue is cancelled. */
Test(soft, a_loop_through_a_table_holds_nobody_up, .timeout = 600) {
    open_device(2, 0);
    struct dev_windows w = {BASE + (1ull << 40), 64 * MIB, 32 * MIB, host, MIB, 0};
    static const struct dev_space_ops ops;
    struct dev_space *other;
    struct dev_queue *theirs;
    struct dev_op endless = {0}, served = {0};
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &other), 0);
    cr_assert_eq(dev_soft.queue_create(other, 0, &theirs), 0);
    struct dev_module *mine = module;
    char why[256];
    launch(queue, "forever_table", 8, BASE, 0, &endless);
    cr_assert_eq(devmodule_load(&dev_soft, other, 0, ptx, sizeof(ptx), &module, why, sizeof(why)),
                 0);
    for (int k = 0; k < 20; k++) {
        launch(theirs, "add", 4, host, 1, &served);
        cr_assert_eq(wait_one(), &served);
        cr_assert_eq(served.result, 0);
    }
    dev_soft.space_cancel(space);
    cr_assert_eq(wait_one(), &endless);
    cr_assert_eq(endless.result, ERR_CANCELLED);
    launch(theirs, "add", 4, host, 1, &served);
    cr_assert_eq(wait_one(), &served);
    cr_assert_eq(served.result, 0);
    devmodule_unload(&dev_soft, module);
    module = mine;
    dev_soft.queue_destroy(theirs);
    dev_soft.space_destroy(other);
    close_device();
}

Test(soft, a_loop_through_a_table_has_its_timeout, .timeout = 600) {
    open_device(2, 20000000);
    struct dev_op endless = {0};
    launch(queue, "forever_table", 8, BASE, 0, &endless);
    cr_assert_eq(wait_one(), &endless);
    cr_assert_eq(endless.result, ERR_KERNEL_TIMEOUT);
    close_device();
}

/* Returns the progress of `ticks` while `watch` ran for 60 slices of the only thread. `early`:
 * the level of watch's queue before it begins, `late`: after that. */
static uint64_t ticks_beside_watch(uint32_t early, uint32_t late) {
    volatile uint64_t *p = (volatile uint64_t *)(uintptr_t)host;
    struct dev_op ticks = {0}, watch = {0};
    struct dev_queue *second;
    cr_assert_eq(dev_soft.queue_create(space, 0, &second), 0);
    p[0] = p[1] = p[2] = 0;
    dev_soft.shares->queue_level(second, early);
    launch(queue, "ticks", 1, host, 0, &ticks);
    while (!p[0])
        usleep(100);
    launch(second, "watch", 1, host, 0, &watch);
    while (!p[1])
        usleep(100);
    dev_soft.shares->queue_level(second, late);
    p[2] = 1;
    cr_assert_eq(wait_one(), &watch);
    cr_assert_eq(watch.result, 0, "%s", watch.fault_text);
    uint64_t got = p[3];
    dev_soft.space_cancel(space);
    cr_assert_eq(wait_one(), &ticks);
    dev_soft.queue_destroy(second);
    return got;
}

Test(soft, a_queue_of_level_1_goes_first) {
    open_device(1, 0);
    struct dev_info info;
    dev_soft.info(dev, &info);
    cr_assert_eq(info.levels, 2);
    cr_expect_gt(ticks_beside_watch(0, 0), 0, "equal slices");
    cr_expect_eq(ticks_beside_watch(1, 1), 0, "nothing is left for the other");
    close_device();
}

Test(soft, a_level_changes_with_operations_in_flight) {
    open_device(1, 0);
    cr_expect_eq(ticks_beside_watch(0, 1), 0);
    cr_expect_gt(ticks_beside_watch(1, 0), 0);
    cr_expect_eq(ticks_beside_watch(0, 7), 0, "there is none above");
    close_device();
}

/* Without the limit, the first kernel would take both threads and never end. */
Test(soft, a_queue_has_no_more_than_its_share) {
    struct dev_queue *greedy;
    struct dev_op endless, small;
    struct dev_info info;
    open_device(2, 0);
    dev_soft.info(dev, &info);
    cr_assert_eq(back(space, BASE, 2 * MIB), 0);
    cr_assert_eq(dev_soft.queue_create(space, 0, &greedy), 0);
    dev_soft.shares->queue_level(greedy, 1);
    dev_soft.shares->queue_share(greedy, info.sm_count / 2);
    launch(greedy, "forever", 64, BASE, 0, &endless);
    for (int i = 0; i < 20; i++) {
        launch(queue, "add", 64, BASE, 1, &small);
        cr_assert_eq(wait_one(), &small);
    }
    dev_soft.space_cancel(space);
    cr_expect_eq(wait_one(), &endless);
    dev_soft.queue_destroy(greedy);
    close_device();
}

/* A sixteenth of the only thread: the kernel is suspended between its slices, and resumes without
 * a call. */
Test(soft, a_queue_has_its_share) {
    struct dev_op op;
    open_device(1, 0);
    cr_assert_eq(back(space, BASE, 2 * MIB), 0);
    dev_soft.shares->queue_share(queue, 1);
    for (int i = 0; i < 20; i++) {
        launch(queue, "add", 64, BASE, 1, &op);
        cr_assert_eq(wait_one(), &op);
        cr_expect_eq(op.result, 0);
    }
    launch(queue, "forever", 64, BASE, 0, &op);
    dev_soft.space_cancel(space);
    cr_expect_eq(wait_one(), &op);
    close_device();
}

/* While it is suspended, and only then, a kernel that never ends leaves the only thread to
 * others; a copy in its queue is not suspended. */
Test(soft, a_kernel_stands_still_until_it_is_to_go_on) {
    struct dev_queue *second;
    struct dev_op ticks = {0}, small;
    open_device(1, 0);
    volatile uint64_t *p = (volatile uint64_t *)(uintptr_t)host;
    cr_assert_eq(dev_soft.queue_create(space, 0, &second), 0);
    launch(queue, "ticks", 1, host, 0, &ticks);
    while (!p[0])
        usleep(100);
    dev_soft.shares->queue_still(queue, true);
    launch(second, "add", 1, host + 4096, 1, &small);
    cr_assert_eq(wait_one(), &small, "and by then its slice has ended");
    uint64_t then = p[0];
    for (int i = 0; i < 20; i++) {
        launch(second, "add", 1, host + 4096, 1, &small);
        cr_assert_eq(wait_one(), &small);
        cr_expect_eq(p[0], then, "it goes on by itself");
    }
    dev_soft.shares->queue_still(queue, false);
    while (p[0] == then)
        usleep(100);
    dev_soft.shares->queue_still(queue, true);
    launch(second, "add", 1, host + 4096, 1, &small);
    cr_assert_eq(wait_one(), &small);
    dev_soft.space_cancel(space);
    cr_assert_eq(wait_one(), &ticks, "what is cancelled stands still no longer");
    cr_expect_eq(ticks.result, ERR_CANCELLED);
    dev_soft.queue_destroy(second);
    close_device();
}

/* A dying client must not wait while the only thread is busy at level 1. */
Test(soft, what_is_cancelled_waits_for_no_level) {
    open_device(1, 0);
    struct dev_windows w = {BASE + (1ull << 40), 64 * MIB, 32 * MIB, host, MIB, 0};
    static const struct dev_space_ops ops;
    struct dev_space *other;
    struct dev_queue *high;
    struct dev_module *mine = module, *theirs;
    struct dev_op ticks = {0}, running = {0}, queued = {0};
    volatile uint64_t *p = (volatile uint64_t *)(uintptr_t)host;
    char why[256];
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &other), 0);
    cr_assert_eq(dev_soft.queue_create(other, 0, &high), 0);
    cr_assert_eq(devmodule_load(&dev_soft, other, 0, ptx, sizeof(ptx), &theirs, why, sizeof(why)),
                 0);
    launch(queue, "forever", 1, BASE, 0, &running);
    launch(queue, "forever", 1, BASE, 0, &queued);
    dev_soft.shares->queue_level(high, 1);
    module = theirs;
    launch(high, "ticks", 1, host, 0, &ticks);
    module = mine;
    while (!p[0])
        usleep(100);
    dev_soft.space_cancel(space);
    cr_assert_eq(wait_one(), &running);
    cr_expect_eq(running.result, ERR_CANCELLED);
    if (!running.next) cr_assert_eq(wait_one(), &queued);
    cr_expect_eq(queued.result, ERR_CANCELLED);
    dev_soft.space_cancel(other);
    cr_assert_eq(wait_one(), &ticks);
    devmodule_unload(&dev_soft, theirs);
    dev_soft.queue_destroy(high);
    dev_soft.space_destroy(other);
    close_device();
}

/* An operation begins when a thread takes it, not when it is submitted or heads its queue. */
Test(soft, an_operation_starts_when_the_device_begins_with_it) {
    open_device(1, 0);
    struct dev_op ticks = {0}, watch = {0}, after = {0};
    struct dev_queue *second;
    volatile uint64_t *p = (volatile uint64_t *)(uintptr_t)host;
    cr_assert_eq(dev_soft.queue_create(space, 0, &second), 0);
    dev_soft.shares->queue_level(queue, 1);
    launch(queue, "watch", 1, host, 0, &watch);
    while (!p[1])
        usleep(100);
    launch(queue, "ticks", 1, host, 0, &ticks); /* queued behind `watch` */
    launch(second, "add", 1, host + 4096, 1, &after);
    p[2] = 1;
    cr_assert_eq(wait_one(), &watch);
    while (!p[0])
        usleep(100);
    cr_expect_null(dev_soft.poll(dev), "level 1 has not stopped");
    dev_soft.shares->queue_level(queue, 0);
    cr_assert_eq(wait_one(), &after);
    dev_soft.space_cancel(space);
    cr_assert_eq(wait_one(), &ticks);
    cr_expect_leq(watch.start_ns, watch.end_ns);
    cr_expect_geq(ticks.start_ns, watch.end_ns, "its queue's head was not through");
    cr_expect_geq(after.start_ns, watch.end_ns, "the only thread was not free");
    cr_expect_leq(after.end_ns, ticks.end_ns);
    dev_soft.queue_destroy(second);
    close_device();
}

/* The kernel `add` executes 12 instructions, and reads and writes a row of words. */
Test(soft, a_kernel_is_counted) {
    struct dev_op op = {0}, set = {0};
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        open_device(threads, 0);
        cr_assert_eq(back(space, BASE, 2 * MIB), 0);
        launch(queue, "add", 100, BASE, 1, &op);
        cr_assert_eq(wait_one(), &op);
        cr_expect_eq(op.thread_insts, 100 * 32 * 12, "%lu", (unsigned long)op.thread_insts);
        cr_expect_eq(op.memory_bytes, 100 * 256, "%lu", (unsigned long)op.memory_bytes);
        set.thread_insts = set.memory_bytes = 9; /* leftover values of an earlier use */
        struct dev_memset m = {.dst = BASE, .width_elems = MIB, .height = 1, .elem_bytes = 1};
        cr_assert_eq(dev_soft.memset(queue, &m, &set), 0);
        cr_assert_eq(wait_one(), &set);
        cr_expect_eq(set.thread_insts | set.memory_bytes, 0, "kernels alone are counted");
        close_device();
    }
}

Test(soft, the_roofline_is_of_the_gpu_that_it_says_it_is) {
    struct dev_info i;
    open_device(1, 0);
    dev_soft.info(dev, &i);
    cr_expect_eq(i.insts_s, i.sm_count * 128ull * 1980 * 1000000);
    cr_expect_eq(i.bytes_s, 3352320000000ull); /* 5120 bits at 2619 MHz, double data rate */
    close_device();
}

Test(soft, kernel_timeout) {
    open_device(2, 20000000);
    struct dev_op op = {0};
    launch(queue, "forever", 1, BASE, 0, &op);
    cr_assert_eq(wait_one(), &op);
    cr_assert_eq(op.result, ERR_KERNEL_TIMEOUT);
    close_device();
}

Test(soft, no_kernel_takes_more_of_the_device_than_there_is) {
    open_device(2, 20000000);
    struct dev_op op = {0};
    launch(queue, "forever", 8, BASE, 0, &op); /* occupies both threads until it is cancelled */
    cr_assert_eq(wait_one(), &op);
    cr_expect_gt(op.busy_ns, 0);
    cr_expect_leq(op.busy_ns, op.end_ns - op.start_ns);
    close_device();
}

Test(soft, modules_and_their_variables) {
    open_device(1, 0);
    struct dev_func *f;
    struct dev_func_info info;
    uint64_t addr, bytes;
    char why[256];
    cr_assert_eq(dev_soft.func_count(module), 5);
    cr_assert_str_eq(dev_soft.func_name(module, 0), "add");
    cr_assert_null(dev_soft.func_name(module, 5));
    cr_assert_eq(dev_soft.func_get(module, "missing", &f, &info, why, sizeof(why)), ERR_NOT_FOUND);
    cr_assert_eq(dev_soft.func_get(module, "add", &f, &info, why, sizeof(why)), 0);
    cr_assert_eq(info.param_count, 2);
    cr_assert_eq(info.param_bytes, 12);
    cr_assert_eq(info.params[1].offset, 8);
    cr_assert_eq(info.ptx_version, 75);
    cr_assert_eq(info.binary_version, 90);
    cr_assert_eq(info.const_bytes, 84);
    cr_assert_eq(dev_soft.global_get(module, "hits", &addr, &bytes), 0);
    cr_assert_eq(bytes, 4);
    cr_assert(addr >= BASE + ALLOC && addr < BASE + ALLOC + 32 * MIB, "outside the module window");
    struct dev_op op = {0};
    launch(queue, "add", 1, addr, 3, &op);
    wait_one();
    cr_assert_eq(op.result, 0);
    cr_assert_eq(*(uint32_t *)(uintptr_t)addr, 3);
    struct dev_module *bad;
    cr_assert_eq(devmodule_load(&dev_soft, space, 0, "nonsense", 8, &bad, why, sizeof(why)),
                 ERR_INVALID_IMAGE);
    cr_assert_null(bad);
    cr_assert_gt(strlen(why), 0);
    close_device();
}

/* The program accesses these variables by address, so they lie in memory that it maps too. */
Test(soft, managed_variables_lie_in_the_host_window) {
    static const char text[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                               ".visible .global .attribute(.managed) .align 4 .u32 shown = 9;\n";
    struct dev_module *first, *second;
    uint64_t addr, again, bytes;
    char why[256];
    open_device(1, 0);
    cr_assert_eq(devmodule_load(&dev_soft, space, 0, text, sizeof(text), &first, why, sizeof(why)),
                 0, "%s", why);
    cr_assert_eq(dev_soft.global_get(first, "shown", &addr, &bytes), 0);
    cr_assert(addr >= host + 2 * MIB && addr < host + 4 * MIB);
    cr_assert_eq(bytes, 4);
    cr_assert_eq(*(uint32_t *)(uintptr_t)addr, 9);
    cr_assert_eq(devmodule_load(&dev_soft, space, 0, text, sizeof(text), &second, why, sizeof(why)),
                 ERR_NO_MEMORY, "there is room for one granule");
    *(uint32_t *)(uintptr_t)addr = 77;
    devmodule_unload(&dev_soft, first);
    cr_assert_eq(devmodule_load(&dev_soft, space, 0, text, sizeof(text), &second, why, sizeof(why)),
                 0);
    cr_assert_eq(dev_soft.global_get(second, "shown", &again, &bytes), 0);
    cr_assert_eq(again, addr);
    cr_assert_eq(*(uint32_t *)(uintptr_t)addr, 9, "initialised anew");
    devmodule_unload(&dev_soft, second);
    close_device();
}
