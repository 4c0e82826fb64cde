/* SPDX-License-Identifier: Apache-2.0
 *
 * The software device allocates no memory in the steady state, neither for operations nor for the
 * grids, blocks, stacks and frames of their kernels.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_shares.h"
#include "daemon/device/soft/launch/launch_memory.h"
#include "test/lib/allocations.h"
#include "test/lib/patience.h"
#include "test/lib/ptx/devmodule.h"

#define MIB (1ull << 20)
#define BASE 0x230000000000ull
#define LAUNCHES 8u /* launches of a round */
#define ROUNDS 1250u
#define LARGE (512u << 10) /* a copy large enough for a thread of the device */

/* `sum` adds i to each thread's cell by a function whose argument is on the stack. `sync` does
 * it by a function in which the blocks synchronize, with shared memory. */
static const char ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".func (.param .b32 out) plus(.param .b32 a, .param .b32 b)\n{\n"
    ".local .align 4 .b8 spill[8]; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
    "ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; mov.u64 %rd1, spill;\n"
    "st.local.u32 [%rd1], %r1; ld.local.u32 %r3, [%rd1]; add.u32 %r3, %r3, %r2;\n"
    "st.param.b32 [out], %r3; ret;\n}\n"
    ".visible .entry sum(.param .u64 p, .param .u32 v)\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v]; mov.u32 %r2, %tid.x;\n"
    "mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r3, [%rd3];\n"
    "{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r3;\n"
    "st.param.b32 [y], %r1; call (z), plus, (x, y); ld.param.b32 %r4, [z]; }\n"
    "st.global.u32 [%rd3], %r4; ret;\n}\n"
    ".visible .entry sync(.param .u64 p, .param .u32 v)\n{\n"
    ".shared .align 4 .b8 cells[4096]; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v]; mov.u32 %r2, %tid.x;\n"
    "mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; shl.b32 %r3, %r2, 2;\n"
    "mov.u32 %r4, cells; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r1; bar.sync 0;\n"
    "ld.shared.u32 %r5, [%r4]; red.global.add.u32 [%rd3], %r5; ret;\n}\n";

static struct dev *dev;
static struct dev_space *space;
static struct dev_queue *queue;
static struct dev_module *module;
static struct dev_chunk *chunk;
static struct dev_func *sum, *sync_func;
static uint32_t *host;
static struct dev_op ops[LAUNCHES + 3];
static uint32_t sent, come;

static struct dev_func *find(const char *name) {
    struct dev_func *f = NULL;
    struct dev_func_info info;
    char why[256];
    cr_assert_eq(dev_soft.func_get(module, name, &f, &info, why, sizeof(why)), 0, "%s", why);
    return f;
}

/* Uses one thread, so that the number of blocks executing at a time is the same in every round. */
static void open_device(void) {
    static const struct dev_space_ops own;
    const struct dev_config config = {.memory_bytes = 256 * MIB, .threads = 1};
    char why[256];
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    host = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct dev_windows w = {BASE, 64 * MIB, 32 * MIB, (uint64_t)(uintptr_t)host, 4 * MIB, 2 * MIB};
    cr_assert_eq(dev_soft.space_create(dev, &w, &own, NULL, &space), 0);
    cr_assert_eq(dev_soft.queue_create(space, 0, &queue), 0);
    cr_assert_eq(dev_soft.chunk_create(dev, &chunk), 0);
    cr_assert_eq(dev_soft.chunk_map(space, BASE, &chunk, 1), 0);
    cr_assert_eq(devmodule_load(&dev_soft, space, 0, ptx, sizeof(ptx), &module, why, sizeof(why)),
                 0, "%s", why);
    sum = find("sum");
    sync_func = find("sync");
}

static void close_device(void) {
    devmodule_unload(&dev_soft, module);
    dev_soft.queue_destroy(queue);
    dev_soft.space_destroy(space);
    dev_soft.chunk_destroy(dev, chunk);
    dev_soft.close(dev);
}

static struct dev_op *next_op(void) {
    struct dev_op *op = &ops[sent++ % (LAUNCHES + 3)];
    memset(op, 0, sizeof(*op));
    return op;
}

static void wait_all(void) {
    while (come < sent) {
        for (struct dev_op *op = dev_soft.poll(dev); op; op = op->next, come++)
            cr_assert_eq(op->result, 0, "%s", op->fault_text);
        struct pollfd p = {.fd = dev_soft.event_fd(dev), .events = POLLIN};
        if (come < sent && !dev_soft.arm(dev))
            cr_assert_eq(poll(&p, 1, patience_ms()), 1, "no completion");
    }
}

static void launch(struct dev_func *f, uint32_t blocks, int cooperative, uint32_t value) {
    unsigned char params[12];
    memcpy(params, &(uint64_t){BASE}, 8);
    memcpy(params + 8, &value, 4);
    const struct dev_launch l = {.func = f,
                                 .grid = {blocks, 1, 1},
                                 .block = {64, 1, 1},
                                 .cooperative = cooperative,
                                 .params = params,
                                 .param_bytes = sizeof(params)};
    cr_assert_eq(dev_soft.launch(queue, &l, next_op()), 0);
}

static void copy(uint64_t dst, uint64_t src, uint64_t bytes) {
    const struct dev_copy c = {
        .dst = dst, .src = src, .width_bytes = bytes, .height = 1, .depth = 1};
    cr_assert_eq(dev_soft.copy(queue, &c, next_op()), 0);
}

/* All kernels are in the queue before the first of them begins. */
static void run_round(uint32_t number) {
    const struct dev_memset zeros = {.dst = BASE, .elem_bytes = 4, .width_elems = 64, .height = 1};
    cr_assert_eq(dev_soft.memset(queue, &zeros, next_op()), 0);
    wait_all();
    dev_soft.shares->queue_still(queue, true);
    for (uint32_t i = 0; i < LAUNCHES; i += 2) {
        launch(sum, 1, 0, number);
        launch(sync_func, 3, i == 2, 1);
    }
    copy(BASE + MIB, BASE, LARGE);
    dev_soft.shares->queue_still(queue, false);
    wait_all();
    copy((uint64_t)(uintptr_t)host, BASE + MIB, 256);
    wait_all();
    for (uint32_t i = 0; i < 64; i++)
        cr_assert_eq(host[i], LAUNCHES / 2 * (number + 3));
}

Test(soft_allocations, launches_copies_and_fills_allocate_nothing_in_the_steady_state) {
    open_device();
    cr_assert_gt(atomic_load(&allocations), 0, "they are counted");
    run_round(0);
    unsigned int before = atomic_load(&allocations);
    for (uint32_t i = 1; i <= ROUNDS; i++)
        run_round(i);
    cr_expect_eq(atomic_load(&allocations), before, "%u allocations in %u launches",
                 atomic_load(&allocations) - before, ROUNDS * LAUNCHES);
    close_device();
}

/* ---- launch_memory.h ------------------------------------------------------------------------- */

Test(soft_allocations, free_memory_is_bounded_and_is_of_what_runs_now) {
    enum { OLD = 8, BLOCK = 4 << 20 };
    static struct launch_memory m;
    void *old[OLD], *now[2];
    launch_memory_init(&m);
    for (int i = 0; i < OLD; i++)
        cr_assert(old[i] = launch_memory_take(&m, BLOCK));
    for (int i = 0; i < OLD; i++)
        launch_memory_give(&m, old[i], BLOCK);
    cr_assert_eq(m.free_bytes, LAUNCH_MEMORY_KEPT);
    for (int i = 0; i < 2; i++)
        cr_assert(now[i] = launch_memory_take(&m, 100));
    for (int i = 0; i < 2; i++)
        launch_memory_give(&m, now[i], 100);
    cr_assert_eq(m.free_bytes, 256, "two of 128");
    unsigned int before = atomic_load(&allocations);
    for (int i = 0; i < 2; i++)
        cr_assert(now[i] = launch_memory_zeros(&m, 128));
    cr_expect_eq(atomic_load(&allocations), before);
    for (int i = 0; i < 128; i++)
        cr_expect_eq(((char *)now[0])[i] | ((char *)now[1])[i], 0);
    launch_memory_give(&m, now[0], 128);
    launch_memory_give(&m, now[1], 128);
    launch_memory_give(&m, launch_memory_take(&m, BLOCK + 1), BLOCK + 1);
    cr_expect_eq(m.free_bytes, 256, "what is larger is the system's");
    launch_memory_give(&m, NULL, BLOCK);
    launch_memory_finish(&m);
}

Test(soft_allocations, blocks_begin_with_a_cache_line) {
    static struct launch_memory m;
    void *blocks[13], *alone[13];
    launch_memory_init(&m);
    for (int i = 0; i < 13; i++) {
        blocks[i] = launch_memory_take(&m, 1u << i);
        alone[i] = launch_memory_take(NULL, 1u << i);
        cr_expect_eq((uintptr_t)blocks[i] % LAUNCH_MEMORY_ALIGN, 0);
        cr_expect_eq((uintptr_t)alone[i] % LAUNCH_MEMORY_ALIGN, 0);
    }
    for (int i = 0; i < 13; i++) {
        launch_memory_give(&m, blocks[i], 1u << i);
        launch_memory_give(NULL, alone[i], 1u << i);
    }
    launch_memory_finish(&m);
}
