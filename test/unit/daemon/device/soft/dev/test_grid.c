/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: stepping in slices, with several threads, endless kernels, blocks that wait for others,
 * and memory that a kernel must not access.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

static void check_forever(struct ptxrun *r) {
    int32_t *flag = ptxrun_alloc(r, 4);
    r->slice = 5000;
    r->max_steps = 50;
    int err = ptxrun_launch(r, "forever", 3, 64, 1, (uint64_t)flag);
    cr_assert_eq(err, ERR_CANCELLED, "%s: %d", ptxrun_what, err);
    cr_assert_geq(r->steps, 49);
    cr_assert_gt(r->result.warp_insts, 1000);
    err = ptxrun_launch(r, "forever_alone", 1, 32, 1, (uint64_t)flag);
    cr_assert_eq(err, ERR_CANCELLED, "%s: %d", ptxrun_what, err);
    *flag = 12345;
    cr_assert_eq(ptxrun_launch(r, "forever", 3, 64, 1, (uint64_t)flag), 0);
}
Test(grid, endless_kernels_give_way_and_can_be_cancelled) {
    ptxrun_each("engine", check_forever);
}

/* Every kind of loop: a slice must end in each. */
#define LOOP(body)                                                                  \
    ".visible .entry main(.param .u64 p) {\n"                                       \
    ".reg .pred %p, %q; .reg .b32 %r<6>; .reg .b64 %d<4>; ld.param.u64 %d1, [p];\n" \
    "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p, %r2, 0;\n" body " }\n"
static const char *const loops[] = {
    LOOP("A: bra A;"),
    LOOP("A: @%p bra A; B: bra B;"),
    LOOP("A: add.u32 %r3, %r3, 1; bra B; B: bra A;"),
    LOOP("T: .branchtargets A; mov.u32 %r3, 0; A: brx.idx %r3, T;"),
    LOOP("T: .branchtargets A, B; A: brx.idx %r2, T; B: brx.idx %r2, T;"),
    LOOP("T: .branchtargets A, B; A: @%p brx.idx %r2, T; B: @!%p brx.idx %r2, T; bra A;"),
    LOOP("T: .branchtargets A, B; B: mov.u32 %r2, 0; A: xor.b32 %r2, %r2, 1; brx.idx %r2, T;"),
    LOOP("T: .branchtargets A, B; mov.u32 %r3, 0; A: setp.gt.u32 %q, %r1, 30; @%q bra B;"
         "brx.idx %r3, T; B: bar.warp.sync 0xffffffff; exit;"),
    LOOP("T: .branchtargets A, B; A: ld.volatile.global.u32 %r3, [%d1]; brx.idx %r3, T; B: ret;"),
    LOOP("T: .branchtargets A; mov.u32 %r3, 0; A: call leaf; brx.idx %r3, T;"),
    LOOP("T: .branchtargets A; mov.u32 %r3, 0; A: bar.sync 0; brx.idx %r3, T;"),
    LOOP("T: .branchtargets A; mov.u32 %r3, 0;"
         "A: shfl.sync.idx.b32 %r4, %r1, 3, 31, 0xffffffff; brx.idx %r3, T;"),
    LOOP("T: .branchtargets A; mov.u32 %r3, 0; mov.u64 %d2, leaf;"
         "P: .callprototype _ (); A: call %d2, (), P; brx.idx %r3, T;"),
    /* 2 to the power of 60 calls, at most 60 deep, without a branch. */
    LOOP("{ .param .b32 n; st.param.b32 [n], 60; call twice, (n); } ret;"),
};

Test(grid, every_endless_loop_gives_way, .timeout = 600) {
    for (size_t k = 0; k < sizeof(loops) / sizeof(loops[0]); k++) {
        char text[2048];
        snprintf(
            text, sizeof(text),
            ".version 8.0\n.target sm_80\n.address_size 64\n.func leaf() { ret; }\n"
            ".func twice(.param .b32 n) { .reg .pred %%p; .reg .b32 %%r; ld.param.u32 %%r, [n];\n"
            "setp.eq.u32 %%p, %%r, 0; @%%p ret; sub.u32 %%r, %%r, 1;\n"
            "{ .param .b32 m; st.param.b32 [m], %%r; call twice, (m); call twice, (m); } ret; }\n"
            "%s",
            loops[k]);
        struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
        r->slice = 5000;
        r->max_steps = 50;
        uint32_t *zero = ptxrun_alloc(r, 4);
        int err = ptxrun_launch(r, "main", 2, 64, 1, (uint64_t)zero);
        cr_assert_eq(err, ERR_CANCELLED, "loop %zu: %d %s%s", k, err, r->why, r->result.text);
        cr_assert_geq(r->steps, 49, "loop %zu", k);
        ptxrun_destroy(r);
    }
}

/* Warp-instructions in twenty slices of 100,000 of an endless kernel. */
static uint64_t insts_of_slices(struct ptxrun *r, const char *kernel) {
    int32_t *flag = ptxrun_alloc(r, 4);
    struct code_kernel *k;
    struct grid *g;
    cr_assert_eq(code_kernel_get(r->module, kernel, &k, r->why, sizeof(r->why)), 0);
    uint64_t param = (uint64_t)flag;
    struct launch_config config = {.kernel = k,
                                   .grid = {1, 1, 1},
                                   .block = {32, 1, 1},
                                   .params = &param,
                                   .param_bytes = 8,
                                   .ranges = r->ranges};
    cr_assert_eq(grid_create(&g, &config), 0);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(grid_step(g, 100000), GRID_MORE);
    grid_cancel(g, ERR_KERNEL_TIMEOUT);
    cr_assert_eq(grid_step(g, 100000), GRID_DONE);
    struct grid_result result;
    grid_result(g, &result);
    cr_assert_eq(result.err, ERR_KERNEL_TIMEOUT);
    grid_destroy(g);
    return result.warp_insts;
}

static struct ptxrun *kernel_of(const char *body) {
    static char text[1024];
    snprintf(text, sizeof(text),
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry main(.param .u64 flag) { .reg .pred %%p; .reg .b64 %%d; .reg .b32 "
             "%%r<5>;\n"
             "ld.param.u64 %%d, [flag]; mov.u32 %%r1, %%tid.x; %s }\n",
             body);
    return ptxrun_create(text, strlen(text), 0);
}

static void check_slices(struct ptxrun *r) {
    uint64_t insts = insts_of_slices(r, "forever_alone");
    cr_assert(insts >= 2000000 && insts < 4000000, "%llu", (unsigned long long)insts);
}
Test(grid, a_slice_is_about_its_budget) {
    ptxrun_each("engine", check_slices);
}

/* Turns in which a block only polls are short, and their overhead counts. */
Test(grid, a_slice_of_waiting_is_no_longer) {
    struct ptxrun *r =
        kernel_of("A: ld.volatile.global.u32 %r3, [%d]; setp.eq.u32 %p, %r3, 0; @%p bra A;");
    uint64_t insts = insts_of_slices(r, "main");
    cr_assert(insts >= 50000 && insts < 1000000, "%llu", (unsigned long long)insts);
    ptxrun_destroy(r);
}

/* The first warp polls while the second one counts to 100,000, over many quanta. */
static void check_asking(const char *ask) {
    char body[512];
    snprintf(body, sizeof(body),
             "setp.ge.u32 %%p, %%r1, 32; mov.u32 %%r2, 0; @%%p bra count;\n"
             "ask: %s setp.eq.u32 %%p, %%r3, 0; @%%p bra ask; ret;\n"
             "count: add.u32 %%r2, %%r2, 1; setp.lt.u32 %%p, %%r2, 100000; @%%p bra count;\n"
             "st.global.u32 [%%d], 1;",
             ask);
    struct ptxrun *r = kernel_of(body);
    int err = ptxrun_launch(r, "main", 1, 64, 1, (uint64_t)ptxrun_alloc(r, 4));
    cr_assert_eq(err, 0, "%d %s", err, r->result.text);
    cr_assert_lt(r->result.warp_insts, 300400, "%s: %llu", ask,
                 (unsigned long long)r->result.warp_insts);
    ptxrun_destroy(r);
}
Test(grid, who_asks_in_vain_gives_its_turn_away) {
    check_asking("ld.volatile.global.u32 %r3, [%d];");
    check_asking("ld.relaxed.gpu.global.u32 %r3, [%d];");
    check_asking("atom.global.or.b32 %r3, [%d], 0;");
}

/* Each of 1,024 lanes takes a lock that all lanes want. A critical section has about ten
 * instructions, and the next owner is chosen among the same warp's lanes before all other warps. */
static void check_lock(const char *again, uint64_t insts) {
    char body[512];
    snprintf(body, sizeof(body),
             "mov.u32 %%r2, 0; bra ask; again: %s ask: atom.global.cas.b32 %%r3, [%%d], 0, 1;"
             "setp.ne.u32 %%p, %%r3, 0; @%%p bra again; membar.gl;"
             "ld.volatile.global.u32 %%r4, [%%d + 4]; add.u32 %%r4, %%r4, 1;"
             "st.volatile.global.u32 [%%d + 4], %%r4; membar.gl;"
             "atom.global.exch.b32 %%r3, [%%d], 0;",
             again);
    struct ptxrun *r = kernel_of(body);
    uint32_t *lock = ptxrun_alloc(r, 8);
    int err = ptxrun_launch(r, "main", 4, 256, 1, (uint64_t)lock);
    cr_assert_eq(err, 0, "%d %s", err, r->result.text);
    cr_assert(lock[0] == 0 && lock[1] == 1024, "%u %u", lock[0], lock[1]);
    cr_assert_lt(r->result.warp_insts, insts, "%s: %llu", again,
                 (unsigned long long)r->result.warp_insts);
    ptxrun_destroy(r);
}
Test(grid, who_has_the_lock_goes_before_who_wants_it) {
    check_lock("", 30000);
}
Test(grid, who_has_the_lock_goes_before_who_counts) {
    check_lock("add.u32 %r2, %r2, 1;", 400000);
}

/* Two parts of a warp wait for the other warp, which counts to 100,000: neither delays the
 * other. */
Test(grid, who_all_wait_give_their_turn_away) {
    struct ptxrun *r = kernel_of("setp.ge.u32 %p, %r1, 32; mov.u32 %r2, 0; @%p bra count;"
                                 "setp.lt.u32 %p, %r1, 9; @%p bra few;"
                                 "many: ld.volatile.global.u32 %r3, [%d]; setp.eq.u32 %p, %r3, 0;"
                                 "@%p bra many; ret;"
                                 "few: ld.volatile.global.u32 %r3, [%d]; setp.eq.u32 %p, %r3, 0;"
                                 "@%p bra few; ret;"
                                 "count: add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 100000;"
                                 "@%p bra count; st.global.u32 [%d], 1;");
    int err = ptxrun_launch(r, "main", 1, 64, 1, (uint64_t)ptxrun_alloc(r, 4));
    cr_assert_eq(err, 0, "%d %s", err, r->result.text);
    cr_assert_lt(r->result.warp_insts, 301000, "%llu", (unsigned long long)r->result.warp_insts);
    ptxrun_destroy(r);
}

static void check_wait(struct ptxrun *r) {
    int32_t *flag = ptxrun_alloc(r, 4), *out = ptxrun_alloc(r, 400);
    int err = ptxrun_launch(r, "wait_for_last", 100, 32, 2, (uint64_t)flag, (uint64_t)out);
    cr_assert_eq(err, 0, "%s: %s", ptxrun_what, r->result.text);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(out[i], 7);
}
Test(grid, a_block_that_waits_lets_others_begin) {
    ptxrun_each("engine", check_wait);
}

static void check_last(struct ptxrun *r) {
    enum { N = 10000, BLOCKS = 23 };
    int32_t *in = ptxrun_alloc(r, N * 4), *part = ptxrun_alloc(r, BLOCKS * 4),
            *out = ptxrun_alloc(r, 4), sum = 0;
    for (int i = 0; i < N; i++)
        sum += in[i] = i % 97;
    for (r->threads = 1; r->threads <= 3; r->threads++) {
        *out = 0;
        int err = ptxrun_launch(r, "last_block", BLOCKS, 96, 4, (uint64_t)in, (uint64_t)part,
                                (uint64_t)out, (uint64_t)N);
        cr_assert_eq(err, 0, "%s", r->result.text);
        cr_assert_eq(*out, sum, "%s, %u threads", ptxrun_what, r->threads);
    }
}
Test(grid, the_last_block_sums_up) {
    ptxrun_each("engine", check_last);
}

static void check_sync(struct ptxrun *r) {
    enum { N = 12 * 64, ROUNDS = 5 };
    int32_t *a = ptxrun_alloc(r, N * 4), *b = ptxrun_alloc(r, N * 4), x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = a[i] = i * 3;
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < N; i++)
            y[i] = x[(i + 1) % N] + k;
        for (int i = 0; i < N; i++)
            x[i] = y[(i + 3) % N];
    }
    r->cooperative = 1;
    r->threads = 2;
    int err = ptxrun_launch(r, "grid_sync", 12, 64, 3, (uint64_t)a, (uint64_t)b, (uint64_t)ROUNDS);
    cr_assert_eq(err, 0, "%s: %d %s", ptxrun_what, err, r->result.text);
    cr_assert_eq(memcmp(a, x, sizeof(x)), 0, "%s", ptxrun_what);
    r->cooperative = 0; /* without a workspace, cooperative groups trap */
    err = ptxrun_launch(r, "grid_sync", 1, 64, 3, (uint64_t)a, (uint64_t)b, (uint64_t)1);
    cr_assert_eq(err, ERR_LAUNCH_FAILED, "%s: %d", ptxrun_what, err);
}
Test(grid, cooperative_launch) {
    ptxrun_each("engine", check_sync);
}

static void check_shape(struct ptxrun *r) {
    const uint32_t grid[3] = {3, 4, 2}, block[3] = {5, 3, 4};
    uint32_t *out = ptxrun_alloc(r, 24 * 60 * 4);
    uint64_t param = (uint64_t)out;
    cr_assert_eq(ptxrun_launch3(r, "shape", grid, block, &param, 1), 0, "%s", r->result.text);
    for (uint32_t b = 0; b < 24; b++)
        for (uint32_t t = 0; t < 60; t++) {
            uint32_t want = t % 5 | t / 5 % 3 << 4 | t / 15 << 8 | b % 3 << 12 | b / 3 % 4 << 16 |
                            b / 12 << 20 | 2u << 24;
            cr_assert_eq(out[b * 60 + t], want, "%s block %u thread %u", ptxrun_what, b, t);
        }
    const uint32_t bad[][6] = {{0, 1, 1, 1, 1, 1},           {1, 1, 1, 0, 1, 1},
                               {1, 1, 1, 1025, 1, 1},        {1, 1, 1, 32, 33, 1},
                               {1, 70000, 1, 1, 1, 1},       {1, 1, 70000, 1, 1, 1},
                               {0x80000000u, 1, 1, 1, 1, 1}, {1, 1, 1, 1024, 1024, 1024}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(ptxrun_launch3(r, "shape", bad[i], bad[i] + 3, &param, 1), -EINVAL);
}
Test(grid, shapes) {
    ptxrun_each("engine", check_shape);
}

/* ---- memory that a kernel must not access
 * ------------------------------------------------------ */

static void check_bounds(struct ptxrun *r) {
    char *p = ptxrun_alloc(r, 100);
    cr_assert_eq(ptxrun_launch(r, "poke", 1, 1, 2, (uint64_t)p, (uint64_t)99), 0);
    cr_assert_eq(p[99], 1);
    cr_assert_eq(ptxrun_launch(r, "poke", 1, 1, 2, (uint64_t)p, (uint64_t)0), 0);
    uint64_t outside[] = {100, (uint64_t)-1, 1ull << 40, 1ull << 63, 0 - (uint64_t)p};
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        int err = ptxrun_launch(r, "poke", 2, 32, 2, (uint64_t)p, outside[i]);
        cr_assert_eq(err, ERR_ILLEGAL_ADDRESS, "%s at %zu: %d", ptxrun_what, i, err);
        cr_assert_eq(r->result.fault_addr, (uint64_t)p + outside[i]);
    }
    ptxrun_launch(r, "poke", 1, 1, 2, (uint64_t)p, (uint64_t)100);
    cr_assert(strstr(r->result.text, "block (0,0,0) thread (0,0,0): st.") &&
                  strstr(r->result.text, " of poke: address 0x") &&
                  strstr(r->result.text, "outside the client's memory"),
              "%s", r->result.text);
    /* 25 lanes read all 100 bytes; a 26th reads the four bytes behind them. */
    int32_t *out = ptxrun_alloc(r, 128);
    cr_assert_eq(ptxrun_launch(r, "peek32", 1, 25, 3, (uint64_t)p, (uint64_t)4, (uint64_t)out), 0);
    int err = ptxrun_launch(r, "peek32", 1, 26, 3, (uint64_t)p, (uint64_t)4, (uint64_t)out);
    cr_assert_eq(err, ERR_ILLEGAL_ADDRESS);
    cr_assert(strstr(r->result.text, "thread (25,0,0)"), "%s", r->result.text);
    err = ptxrun_launch(r, "peek32", 1, 25, 3, (uint64_t)p, (uint64_t)2, (uint64_t)out);
    cr_assert_eq(err, ERR_MISALIGNED, "%d", err);
    cr_assert(strstr(r->result.text, "thread (1,0,0)") && strstr(r->result.text, "misaligned"));
}
Test(grid, out_of_bounds_by_a_byte) {
    ptxrun_each("engine", check_bounds);
}

/* Memory of this process that does not belong to the client. */
static void check_isolation(struct ptxrun *r) {
    static int32_t secret = 42;
    int32_t *heap = malloc(64), *out = ptxrun_alloc(r, 128);
    uint64_t victims[] = {(uint64_t)&secret,
                          (uint64_t)heap,
                          (uint64_t)&victims,
                          (uint64_t)r,
                          (uint64_t)r->module,
                          4096,
                          0};
    for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++) {
        int err =
            ptxrun_launch(r, "peek32", 1, 32, 3, victims[i] & ~3ull, (uint64_t)0, (uint64_t)out);
        cr_assert_eq(err, ERR_ILLEGAL_ADDRESS, "%s victim %zu: %d", ptxrun_what, i, err);
        err = ptxrun_launch(r, "poke", 1, 32, 2, victims[i], (uint64_t)0);
        cr_assert_eq(err, ERR_ILLEGAL_ADDRESS);
    }
    cr_assert_eq(secret, 42);
    free(heap);
}
Test(grid, host_memory_is_out_of_reach) {
    ptxrun_each("engine", check_isolation);
}

/* Parameters, local and shared memory are bounded; parameters cannot be written. */
static const char spaces[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry spaces(.param .u64 what, .param .u64 at) {\n"
    ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .local .align 8 .b8 mine[32];\n"
    ".shared .align 8 .b8 ours[64];\n"
    "ld.param.u64 %rd1, [what]; ld.param.u64 %rd2, [at];\n"
    "setp.eq.u64 %p1, %rd1, 0; @%p1 ld.local.u32 %r1, [%rd2];\n"
    "setp.eq.u64 %p2, %rd1, 1; @%p2 st.local.u8 [%rd2], %r1;\n"
    "setp.eq.u64 %p3, %rd1, 2; @%p3 ld.shared.u64 %rd3, [%rd2];\n"
    "setp.eq.u64 %p4, %rd1, 3; mov.b64 %rd4, what; add.u64 %rd4, %rd4, %rd2;\n"
    "@%p4 ld.param.u32 %r1, [%rd4];\n"
    "setp.eq.u64 %p5, %rd1, 4; @%p5 st.u32 [%rd4], %r1;\n"
    "setp.eq.u64 %p6, %rd1, 5; cvta.local.u64 %rd5, %rd2; @%p6 st.u32 [%rd5], %r1;\n"
    "setp.eq.u64 %p7, %rd1, 6; @%p7 atom.shared.add.u32 %r1, [%rd2], 1;\n"
    "mov.u64 %rd6, mine; st.local.u8 [%rd6], %r1; mov.u64 %rd6, ours; st.shared.u8 [%rd6], %r1;\n"
    "ret; }\n";
Test(grid, every_space_has_ends) {
    static const struct {
        uint64_t what, at;
        int err;
    } cases[] = {
        {0, 28, 0},
        {0, 32, ERR_ILLEGAL_ADDRESS},
        {0, -4ull, ERR_ILLEGAL_ADDRESS},
        {0, 2, ERR_MISALIGNED},
        {1, 31, 0},
        {1, 32, ERR_ILLEGAL_ADDRESS},
        {1, 1ull << 40, ERR_ILLEGAL_ADDRESS},
        {2, 56, 0},
        {2, 64, ERR_ILLEGAL_ADDRESS},
        {2, 4, ERR_MISALIGNED},
        {3, 12, 0},
        {3, 16, ERR_ILLEGAL_ADDRESS},
        {4, 0, ERR_ILLEGAL_ADDRESS},
        {5, 28, 0},
        {5, 32, ERR_ILLEGAL_ADDRESS},
        {5, 1ull << 30, ERR_ILLEGAL_ADDRESS},
        {6, 60, 0},
        {6, 64, ERR_ILLEGAL_ADDRESS},
        {6, 58, ERR_MISALIGNED},
    };
    struct ptxrun *r = ptxrun_create(spaces, strlen(spaces), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int err = ptxrun_launch(r, "spaces", 1, 33, 2, cases[i].what, cases[i].at);
        cr_assert_eq(err, cases[i].err, "case %zu: %d %s%s", i, err, r->why, r->result.text);
    }
    ptxrun_destroy(r);
}

static void check_trap(struct ptxrun *r) {
    cr_assert_eq(ptxrun_launch(r, "traps", 1, 3, 0), 0);
    cr_assert_eq(ptxrun_launch(r, "traps", 5, 64, 0), ERR_LAUNCH_FAILED);
    cr_assert(strstr(r->result.text, "thread (3,0,0): trap at line "), "%s", r->result.text);
}
Test(grid, trap) {
    ptxrun_each("engine", check_trap);
}

/* ---- several threads ---------------------------------------------------------------------------
 */
Test(grid, threads_share_a_launch) {
    struct ptxrun *r = ptxrun_file("build/data/ptx/bench.75.ptx");
    enum { N = 1 << 18 };
    unsigned char *in = ptxrun_alloc(r, N);
    uint32_t *bins = ptxrun_alloc(r, 1024), want[256] = {0};
    for (uint32_t i = 0; i < N; i++)
        want[in[i] = (unsigned char)(i * 2654435761u >> 23)]++;
    r->threads = 4;
    r->slice = 3000;
    int err = ptxrun_launch(r, "histogram", 96, 256, 3, (uint64_t)in, (uint64_t)bins, (uint64_t)N);
    cr_assert_eq(err, 0, "%s", r->result.text);
    cr_assert_eq(memcmp(bins, want, sizeof(want)), 0);
    ptxrun_destroy(r);
}

Test(grid, a_fault_ends_all_threads) {
    struct ptxrun *r = ptxrun_file("build/data/ptx/bench.75.ptx");
    float *a = ptxrun_alloc(r, 4 * 100000), *c = ptxrun_alloc(r, 4 * 90000);
    r->threads = 4;
    r->slice = 500;
    int err = ptxrun_launch(r, "vecadd", 1000, 100, 4, (uint64_t)a, (uint64_t)a, (uint64_t)c,
                            (uint64_t)100000);
    cr_assert_eq(err, ERR_ILLEGAL_ADDRESS);
    cr_assert_geq(r->result.fault_addr, (uint64_t)(c + 90000));
    ptxrun_destroy(r);
}
