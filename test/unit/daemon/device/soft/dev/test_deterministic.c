/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU as a deterministic device. Races between blocks, clocks, and kernels that wait
 * for later ones have the same results in every run. Neither the number of threads, nor other
 * clients, nor the time at which the later kernel is submitted matters.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/device/device.h"
#include "daemon/device/device_inflight.h"
#include "test/lib/patience.h"
#include "test/lib/ptx/devmodule.h"

#define MIB (1ull << 20)
#define BASE 0x210000000000ull
#define ALLOC (64 * MIB)
#define RUNS 12
#define WORDS 1024

static const char ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    /* Each thread adds terms of its own size to p[0], and records in p[4 + place] the order of
     * the warps. */
    ".visible .entry race(.param .u64 p)\n{\n.reg .b64 %d<4>; .reg .b32 %r<9>; .reg .f32 %f<3>;\n"
    ".reg .pred %p;\n"
    "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 96, "
    "%r1;\n"
    "mov.u32 %r4, 0;\n"
    "$L: mad.lo.u32 %r3, %r3, 1664525, 1013904223; shr.u32 %r5, %r3, 12; cvt.rn.f32.u32 %f1, %r5;\n"
    "rcp.rn.f32 %f1, %f1; red.global.add.f32 [%d1], %f1;\n"
    "add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 30; @%p bra $L;\n"
    "and.b32 %r6, %r1, 31; setp.ne.u32 %p, %r6, 0; @%p ret;\n"
    "atom.global.add.u32 %r7, [%d1+4], 1; mul.wide.u32 %d2, %r7, 4; add.u64 %d3, %d1, %d2;\n"
    "mad.lo.u32 %r8, %r2, 1024, %r1; st.global.u32 [%d3+16], %r8; ret;\n}\n"
    /* Reads the clock three times, with work in between. */
    ".visible .entry clocks(.param .u64 p)\n{\n.reg .b64 %d<6>; .reg .b32 %r<3>;\n"
    "ld.param.u64 %d1, [p]; mov.u64 %d2, %clock64; mov.u32 %r1, %clock; mov.u64 %d3, "
    "%globaltimer;\n"
    "mov.u64 %d4, %clock64; st.global.u64 [%d1], %d2; st.global.u32 [%d1+8], %r1;\n"
    "st.global.u64 [%d1+16], %d3; st.global.u64 [%d1+24], %d4; ret;\n}\n"
    /* Waits for p[2], then records its arrival like `race`. */
    ".visible .entry wait(.param .u64 p)\n{\n.reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %p;\n"
    "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "$W: ld.volatile.global.u32 %r3, [%d1+8]; setp.eq.u32 %p, %r3, 0; @%p bra $W;\n"
    "and.b32 %r6, %r1, 31; setp.ne.u32 %p, %r6, 0; @%p ret;\n"
    "atom.global.add.u32 %r7, [%d1+4], 1; mul.wide.u32 %d2, %r7, 4; add.u64 %d3, %d1, %d2;\n"
    "mad.lo.u32 %r8, %r2, 1024, %r1; st.global.u32 [%d3+16], %r8; ret;\n}\n"
    ".visible .entry tell(.param .u64 p)\n{\n.reg .b64 %d1; .reg .b32 %r1;\n"
    "ld.param.u64 %d1, [p]; mov.u32 %r1, 1; st.volatile.global.u32 [%d1+8], %r1; ret;\n}\n"
    ".visible .entry forever(.param .u64 p)\n{\n$L: bra $L;\n}\n";

struct client {
    struct dev_space *space;
    struct dev_queue *queue, *other;
    struct dev_module *module;
    struct dev_chunk *chunk;
    uint64_t base;
};

static struct dev *dev;

static void open_client(struct client *c, uint64_t base) {
    static const struct dev_space_ops ops;
    char why[256];
    uint64_t host = (uint64_t)(uintptr_t)mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct dev_windows w = {base, ALLOC, 32 * MIB, host, 4 * MIB, 2 * MIB};
    c->base = base;
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &c->space), 0);
    cr_assert_eq(dev_soft.queue_create(c->space, 0, &c->queue), 0);
    cr_assert_eq(dev_soft.queue_create(c->space, 0, &c->other), 0);
    cr_assert_eq(
        devmodule_load(&dev_soft, c->space, 0, ptx, sizeof(ptx), &c->module, why, sizeof(why)), 0,
        "%s", why);
    cr_assert_eq(dev_soft.chunk_create(dev, &c->chunk), 0);
    cr_assert_eq(dev_soft.chunk_map(c->space, base, &c->chunk, 1), 0);
}

static void close_client(struct client *c) {
    devmodule_unload(&dev_soft, c->module);
    dev_soft.queue_destroy(c->queue);
    dev_soft.queue_destroy(c->other);
    dev_soft.space_destroy(c->space);
    dev_soft.chunk_destroy(dev, c->chunk);
}

static void launch(const struct client *c, struct dev_queue *q, const char *name, uint32_t blocks,
                   uint32_t threads, struct dev_op *op) {
    struct dev_func *f;
    struct dev_func_info info;
    char why[256];
    cr_assert_eq(dev_soft.func_get(c->module, name, &f, &info, why, sizeof(why)), 0);
    struct dev_launch l = {.func = f,
                           .grid = {blocks, 1, 1},
                           .block = {threads, 1, 1},
                           .params = &c->base,
                           .param_bytes = info.param_bytes};
    cr_assert_eq(dev_soft.launch(q, &l, op), 0);
}

static void wait_event(void) {
    struct pollfd p = {.fd = dev_soft.event_fd(dev), .events = POLLIN};
    if (!dev_soft.arm(dev)) cr_assert_eq(poll(&p, 1, patience_ms()), 1, "nothing comes");
}

static unsigned wait_some(unsigned count) {
    unsigned failed = 0;
    while (count) {
        struct dev_op *op = dev_soft.poll(dev);
        if (!op) wait_event();
        for (; op; op = op->next, count--)
            failed += op->result != 0;
    }
    return failed;
}

/* Runs `work` once for a client of a new device, with an endless kernel of another client
 * running. */
static void run_once(uint32_t threads, bool beside, unsigned run,
                     void (*work)(struct client *, unsigned), uint32_t words[WORDS]) {
    struct dev_config config = {
        .memory_bytes = 256 * MIB, .threads = threads, .deterministic = true};
    struct client own, other;
    struct dev_op noise = {0};
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    open_client(&own, BASE);
    open_client(&other, BASE + (1ull << 36));
    if (beside) launch(&other, other.queue, "forever", 3, 64, &noise);
    work(&own, run);
    memcpy(words, (const void *)own.base, WORDS * sizeof(*words));
    dev_soft.space_cancel(other.space);
    if (beside) wait_some(1);
    close_client(&own);
    close_client(&other);
    dev_soft.close(dev);
}

static void check_same(void (*work)(struct client *, unsigned)) {
    static uint32_t first[WORDS], words[WORDS];
    run_once(1, false, 0, work, first);
    for (unsigned run = 1; run <= RUNS; run++) {
        run_once(run % 2 ? 4 : 1, run % 4 > 1, run, work, words);
        for (unsigned k = 0; k < WORDS; k++)
            cr_assert_eq(words[k], first[k], "run %u: word %u is 0x%x, first 0x%x", run, k,
                         words[k], first[k]);
    }
}

static void run_race(struct client *c, unsigned run) {
    struct dev_op op = {0};
    (void)run;
    launch(c, c->queue, "race", 200, 96, &op);
    cr_assert_eq(wait_some(1), 0, "%s", op.fault_text);
    cr_assert_eq(((const uint32_t *)c->base)[1], 600);
}
Test(deterministic, races_between_blocks_have_one_result) {
    check_same(run_race);
}

static void run_clocks(struct client *c, unsigned run) {
    struct dev_op ops[2] = {0};
    const uint64_t *told = (const uint64_t *)c->base;
    launch(c, c->queue, "race", 3, 96, &ops[0]);
    cr_assert_eq(wait_some(1), 0);
    usleep(run * 500);
    launch(c, c->queue, "clocks", 1, 1, &ops[1]);
    cr_assert_eq(wait_some(1), 0);
    cr_assert_gt(told[3], told[0], "no time passes");
    cr_assert_gt(told[2], 1000000000ull + 3 * 90 * 5, "what ran before took no time");
}
Test(deterministic, clocks_count_instructions) {
    check_same(run_clocks);
}

/* The later kernel is submitted sooner or later after the first one is suspended, also during
 * its next suspension. */
static void run_wait(struct client *c, unsigned run) {
    struct dev_op ops[2] = {0};
    launch(c, c->queue, "wait", 13, 96, &ops[0]);
    while (!dev_soft.inflight->stalled(c->space)) {
        wait_event();
        cr_assert_null(dev_soft.poll(dev), "it does not wait");
    }
    usleep(run * 7000);
    launch(c, c->other, "tell", 1, 1, &ops[1]);
    cr_assert_eq(wait_some(2), 0);
    cr_assert_eq(((const uint32_t *)c->base)[1], 39);
}
Test(deterministic, a_kernel_may_wait_for_a_later_one) {
    check_same(run_wait);
}

Test(deterministic, a_kernel_with_work_does_not_stand_still) {
    struct dev_config config = {.memory_bytes = 256 * MIB, .threads = 2, .deterministic = true};
    struct client c;
    struct dev_op op = {0};
    struct dev_info info;
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    dev_soft.info(dev, &info);
    cr_assert(info.in_order);
    open_client(&c, BASE);
    launch(&c, c.queue, "forever", 3, 64, &op);
    for (int k = 0; k < 20; k++) {
        usleep(2000);
        cr_assert_eq(dev_soft.inflight->stalled(c.space), 0);
    }
    dev_soft.space_cancel(c.space);
    cr_assert_eq(wait_some(1), 1);
    close_client(&c);
    dev_soft.close(dev);
}
