/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks: barriers in all their forms, shared memory, and blocks that are stuck.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BEGIN(name)                                                                           \
    ".visible .entry " name "(.param .u64 out) {\n"                                           \
    ".reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .shared .align 4 .b8 buf[4096];\n" \
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"             \
    "add.u64 %rd2, %rd1, %rd2; shl.b32 %r2, %r1, 2; mov.u32 %r3, buf; add.u32 %r4, %r3, %r2;\n"
#define END "st.global.u32 [%rd2], %r9; ret; }\n"

static int32_t *launch(struct ptxrun *r, const char *kernel, uint32_t threads, int want) {
    int32_t *out = ptxrun_alloc(r, threads * 4);
    int err = ptxrun_launch(r, kernel, 1, threads, 1, (uint64_t)out);
    cr_assert_eq(err, want, "%s: %d %s%s", kernel, err, r->why, r->result.text);
    return out;
}

static void check_leavers(struct ptxrun *r) {
    int32_t *in = ptxrun_alloc(r, 400), *out = ptxrun_alloc(r, 400), sum = 0;
    for (int i = 0; i < 100; i++)
        in[i] = i * i % 31;
    int n = 45;
    for (int i = 0; i < n; i++)
        sum += 3 * in[i] + 3;
    int err = ptxrun_launch(r, "leavers", 1, 100, 3, (uint64_t)in, (uint64_t)out, (uint64_t)n);
    cr_assert_eq(err, 0, "%s", r->result.text);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(out[i], i < n ? sum : 0, "%s %d", ptxrun_what, i);
}
Test(block, exited_lanes_leave_the_barrier) {
    ptxrun_each("engine", check_leavers);
}

static void check_reductions(struct ptxrun *r) {
    int32_t *in = ptxrun_alloc(r, 400), *out = ptxrun_alloc(r, 1200), odd = 0;
    for (int i = 0; i < 100; i++)
        odd += (in[i] = i * 7 % 50) & 1;
    for (int round = 0; round < 3; round++) {
        if (round == 1) in[77] = 12345;
        if (round == 2) in[3] = 2000;
        odd = 0;
        for (int i = 0; i < 100; i++)
            odd += in[i] & 1;
        int err = ptxrun_launch(r, "barrier_reductions", 1, 100, 2, (uint64_t)in, (uint64_t)out);
        cr_assert_eq(err, 0, "%s", r->result.text);
        for (int i = 0; i < 100; i++) {
            cr_assert_eq(out[3 * i], odd, "%s", ptxrun_what);
            cr_assert_eq(out[3 * i + 1] != 0, round == 0, "%s and", ptxrun_what);
            cr_assert_eq(out[3 * i + 2] != 0, round >= 1, "%s or", ptxrun_what);
        }
    }
}
Test(block, barrier_reductions) {
    ptxrun_each("engine", check_reductions);
}

static void check_divergent(struct ptxrun *r) {
    int32_t *out = ptxrun_alloc(r, 256);
    int err = ptxrun_launch(r, "divergent_barrier", 1, 64, 1, (uint64_t)out);
    cr_assert_eq(err, 0, "%s", r->result.text);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(out[i], 63 - i, "%s", ptxrun_what);
}
Test(block, diverged_lanes_meet_at_one_barrier) {
    ptxrun_each("engine", check_divergent);
}

static void check_dynamic(struct ptxrun *r) {
    double *in = ptxrun_alloc(r, 8 * 512), *out = ptxrun_alloc(r, 8), sum = 0;
    for (int i = 0; i < 512; i++)
        sum += in[i] = i * 0.5 - 7;
    r->shared = 512 * 8;
    int err = ptxrun_launch(r, "dynamic_shared", 1, 512, 2, (uint64_t)in, (uint64_t)out);
    cr_assert_eq(err, 0, "%s", r->result.text);
    cr_assert_eq(*out, sum);
}
Test(block, dynamic_shared_memory) {
    ptxrun_each("engine", check_dynamic);
}

static void check_beyond(struct ptxrun *r) {
    int32_t *out = ptxrun_alloc(r, 128);
    r->shared = 128;
    int good = ptxrun_launch(r, "beyond_shared", 1, 32, 2, (uint64_t)out, (uint64_t)31);
    cr_assert_eq(good, 0, "%s", r->result.text);
    int32_t at[] = {32, -1, 1 << 20, 0x3fffffff};
    for (int i = 0; i < 4; i++) {
        int err = ptxrun_launch(r, "beyond_shared", 1, 32, 2, (uint64_t)out, (uint64_t)at[i]);
        cr_assert_eq(err, ERR_ILLEGAL_ADDRESS, "%s at %d: %d", ptxrun_what, at[i], err);
    }
    r->shared = 116; /* compilers read the whole vector */
    int err = ptxrun_launch(r, "beyond_shared", 1, 32, 2, (uint64_t)out, (uint64_t)0);
    cr_assert_eq(err, 0, "%s", r->result.text);
    r->shared = 112;
    err = ptxrun_launch(r, "beyond_shared", 1, 32, 2, (uint64_t)out, (uint64_t)0);
    cr_assert_eq(err, ERR_ILLEGAL_ADDRESS);
    cr_assert(strstr(r->result.text, "thread (28,0,0)"), "%s", r->result.text);
}
Test(block, shared_memory_ends_where_it_ends) {
    ptxrun_each("engine", check_beyond);
}

/* A warp's row that crosses the end of the array, and one that begins beyond it; lanes that all
 * access the word after the end, or a misaligned one. */
#define ROW(op, at) HEAD BEGIN("row") "mov.u32 %r9, 5; add.u32 %r5, %r4, " #at ";\n" op END
#define WORD(at) HEAD BEGIN("row") "add.u32 %r5, %r3, " #at ";\nld.shared.u32 %r9, [%r5];\n" END
static void expect_row(const char *text, int want) {
    static const char *const builds[] = {"base", "v3", "v4"};
    for (int k = 0; k < 3; k++) {
        setenv("SALUS_SOFT_ISA", builds[k], 1);
        struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
        launch(r, "row", 32, want);
        ptxrun_destroy(r);
    }
    unsetenv("SALUS_SOFT_ISA");
}
Test(block, rows_end_where_shared_memory_ends) {
    expect_row(ROW("ld.shared.u32 %r9, [%r5];\n", 3968), 0);
    expect_row(ROW("ld.shared.u32 %r9, [%r5];\n", 3972), ERR_ILLEGAL_ADDRESS);
    expect_row(ROW("ld.shared.u32 %r9, [%r5+-4];\n", 3972), 0);
    expect_row(ROW("ld.shared.u32 %r9, [%r5];\n", -4), ERR_ILLEGAL_ADDRESS);
    expect_row(ROW("ld.shared.u32 %r9, [%r5];\n", 2), ERR_MISALIGNED);
    expect_row(ROW("st.shared.u32 [%r5], %r9;\n", 3968), 0);
    expect_row(ROW("st.shared.u32 [%r5], %r9;\n", 3972), ERR_ILLEGAL_ADDRESS);
    expect_row(WORD(4092), 0);
    expect_row(WORD(4096), ERR_ILLEGAL_ADDRESS);
    expect_row(WORD(4090), ERR_MISALIGNED);
}

/* Warp 0 produces, warps 1 and 2 consume: named barriers with counts and arrive. */
static const char producer[] =
    HEAD BEGIN("producer") "setp.ge.u32 %p1, %r1, 32; @%p1 bra CONSUMER;\n"
                           "mul.lo.u32 %r5, %r1, 3; st.shared.u32 [%r4], %r5; bar.arrive 1, 96;\n"
                           "mov.u32 %r9, 5; bra DONE;\n"
                           "CONSUMER: bar.sync 1, 96; sub.u32 %r6, 95, %r1; and.b32 %r6, %r6, 31; "
                           "shl.b32 %r6, %r6, 2;\n"
                           "add.u32 %r6, %r6, %r3; ld.shared.u32 %r9, [%r6];\n"
                           "DONE:\n" END;
Test(block, named_barriers_with_arrive) {
    struct ptxrun *r = ptxrun_create(producer, strlen(producer), 0);
    int32_t *out = launch(r, "producer", 96, 0);
    for (int t = 0; t < 96; t++)
        cr_assert_eq(out[t], t < 32 ? 5 : (95 - t) % 32 * 3);
    ptxrun_destroy(r);
}

/* A barrier count in whole warps when the last warp is not full; barrier ids from a register. */
static const char partial[] = HEAD BEGIN(
    "partial") "st.shared.u32 [%r4], %r1; mov.u32 %r7, 7; mov.u32 %r8, 64; barrier.sync %r7, %r8;\n"
               "sub.u32 %r6, 39, %r1; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r3; ld.shared.u32 "
               "%r9, [%r6];\n" END;
Test(block, counts_are_in_whole_warps) {
    struct ptxrun *r = ptxrun_create(partial, strlen(partial), 0);
    int32_t *out = launch(r, "partial", 40, 0);
    for (int t = 0; t < 40; t++)
        cr_assert_eq(out[t], 39 - t);
    ptxrun_destroy(r);
}

/* Halves of a warp wait at different barriers for the other warp's halves. */
static const char halves[] =
    HEAD BEGIN("halves") "and.b32 %r5, %r1, 16; shr.u32 %r5, %r5, 4; add.u32 %r5, %r5, 1;\n"
                         "st.shared.u32 [%r4], %r1; barrier.sync %r5, 32; xor.b32 %r6, %r1, 32; "
                         "shl.b32 %r6, %r6, 2;\n"
                         "add.u32 %r6, %r6, %r3; ld.shared.u32 %r9, [%r6];\n" END;
Test(block, lanes_at_different_barriers) {
    struct ptxrun *r = ptxrun_create(halves, strlen(halves), 0);
    int32_t *out = launch(r, "halves", 64, 0);
    for (int t = 0; t < 64; t++)
        cr_assert_eq(out[t], t ^ 32);
    ptxrun_destroy(r);
}

static const char cluster[] = HEAD BEGIN(
    "cluster") "st.shared.u32 [%r4], %r1; barrier.cluster.arrive; barrier.cluster.wait;\n"
               "xor.b32 %r6, %r1, 33; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r3; ld.shared.u32 "
               "%r9, [%r6];\n"
               "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" END;
Test(block, a_cluster_of_one_block) {
    struct ptxrun *r = ptxrun_create(cluster, strlen(cluster), 0);
    int32_t *out = launch(r, "cluster", 64, 0);
    for (int t = 0; t < 64; t++)
        cr_assert_eq(out[t], t ^ 33);
    ptxrun_destroy(r);
}

static const char stuck[] = HEAD BEGIN(
    "stuck") "setp.lt.u32 %p1, %r1, 8; @%p1 bra A; bar.sync 1; bra B; A: bar.sync 2; B:\n" END;
Test(block, deadlock_is_a_fault) {
    struct ptxrun *r = ptxrun_create(stuck, strlen(stuck), 0);
    launch(r, "stuck", 64, ERR_LAUNCH_FAILED);
    cr_assert(strstr(r->result.text, "deadlock in stuck: 64 threads wait at a barrier"), "%s",
              r->result.text);
    ptxrun_destroy(r);
}

static const char ids[] = HEAD BEGIN("ids") "add.u32 %r5, %r1, 3; bar.sync %r5;\n" END;
Test(block, only_sixteen_barriers) {
    struct ptxrun *r = ptxrun_create(ids, strlen(ids), 0);
    launch(r, "ids", 32, ERR_ILLEGAL_INSTRUCTION);
    ptxrun_destroy(r);
}

/* Clock ticks between two readings of the time, and around them. */
static const char clocks[] =
    HEAD ".visible .entry clocks(.param .u64 out) { .reg .b64 %o, %t<4>, %c<2>; .reg .pred %p;\n"
         "ld.param.u64 %o, [out];\n"
         "mov.u64 %t0, %globaltimer; mov.u64 %c0, %clock64; mov.u64 %t1, %globaltimer;\n"
         "add.u64 %t2, %t1, 100000;\n"
         "more: mov.u64 %t3, %globaltimer; setp.lt.u64 %p, %t3, %t2; @%p bra more;\n"
         "mov.u64 %c1, %clock64; mov.u64 %t2, %globaltimer;\n"
         "st.global.u64 [%o], %t0; st.global.u64 [%o+8], %t1; st.global.u64 [%o+16], %t2;\n"
         "st.global.u64 [%o+24], %t3; st.global.u64 [%o+32], %c0; st.global.u64 [%o+40], %c1;\n"
         "ret; }\n";
Test(block, clocks_tick_at_the_rate_that_is_told) {
    struct ptxrun *r = ptxrun_create(clocks, strlen(clocks), 0);
    uint64_t *out = ptxrun_alloc(r, 48);
    cr_assert_eq(ptxrun_launch(r, "clocks", 1, 1, 1, (uint64_t)out), 0, "%s", r->result.text);
    const double ticks = (double)(out[5] - out[4]), rounded = 2;
    const double within = (double)(out[3] - out[1]), around = (double)(out[2] - out[0]);
    cr_expect_geq(ticks + rounded, within * 1.98, "%.0f ticks in more than %.0f ns", ticks, within);
    cr_expect_leq(ticks - rounded, around * 1.98, "%.0f ticks in less than %.0f ns", ticks, around);
    ptxrun_destroy(r);
}

/* Shared memory of an earlier block is cleared when the next one begins. */
static const char residue[] =
    HEAD BEGIN("residue") "ld.shared.u32 %r9, [%r4]; mov.u32 %r10, 77; st.shared.u32 [%r4], %r10;\n"
                          "atom.global.or.b32 %r11, [%rd2], %r9; ret; }\n";
Test(block, shared_memory_begins_as_zeros) {
    struct ptxrun *r = ptxrun_create(residue, strlen(residue), 0);
    int32_t *out = ptxrun_alloc(r, 128);
    cr_assert_eq(ptxrun_launch(r, "residue", 9, 32, 1, (uint64_t)out), 0);
    for (int t = 0; t < 32; t++)
        cr_assert_eq(out[t], 0);
    ptxrun_destroy(r);
}

static const char async_copy[] =
    HEAD BEGIN("async_copy") "shl.b32 %r5, %r1, 4; add.u32 %r5, %r5, %r3; mul.wide.u32 %rd3, %r1, "
                             "16; add.u64 %rd3, %rd1, "
                             "%rd3;\n"
                             "cp.async.cg.shared.global [%r5], [%rd3], 16;\n"
                             "cp.async.ca.shared.global [%r5+4], [%rd3+0], 4, 0;\n"
                             "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; "
                             "ld.shared.v2.u32 {%r6, %r7}, [%r5];\n"
                             "add.u32 %r9, %r6, %r7; bar.sync 0;\n" END;
Test(block, asynchronous_copies) {
    struct ptxrun *r = ptxrun_create(async_copy, strlen(async_copy), 0);
    int32_t *out = ptxrun_alloc(r, 32 * 16);
    for (int i = 0; i < 128; i++)
        out[i] = i * 5 + 1;
    int err = ptxrun_launch(r, "async_copy", 1, 32, 1, (uint64_t)out);
    cr_assert_eq(err, 0, "%d %s%s", err, r->why, r->result.text);
    for (int t = 0; t < 32; t++)
        cr_assert_eq(out[t], t * 20 + 1);
    ptxrun_destroy(r);
}

/* Every width, whole warps and parts of them, with fewer source bytes, and lanes that read
 * nothing: in each build. */
#define COPY(kind, bytes, more)                                                                \
    BEGIN(kind)                                                                                \
    "mul.lo.u32 %r5, %r1, " bytes "; cvt.u64.u32 %rd3, %r5; add.u64 %rd3, %rd1, %rd3;\n"       \
    "add.u32 %r5, %r5, %r3; mov.u32 %r6, 0x55555555; st.shared.u32 [%r5], %r6;\n"              \
    "mul.lo.u32 %r6, %r1, 3; and.b32 %r6, %r6, 7; and.b32 %r7, %r1, 1; setp.ne.u32 %p1, %r7, " \
    "0;\n" more "cp.async.wait_all; ld.shared.u32 %r9, [%r5];\n" END
static const char copies[] = HEAD COPY("whole16", "16",
                                       "cp.async.cg.shared.global [%r5], [%rd3], 16;\n")
    COPY("whole8", "8", "cp.async.ca.shared.global [%r5], [%rd3], 8;\n")
        COPY("whole4", "4", "cp.async.ca.shared.global [%r5], [%rd3], 4;\n") COPY(
            "odd4", "4", "@%p1 cp.async.ca.shared.global [%r5], [%rd3], 4;\n")
            COPY("part4", "4", "cp.async.ca.shared.global [%r5], [%rd3], 4, %r6;\n") COPY(
                "ignore4", "4", "cp.async.ca.shared.global [%r5], [%rd3], 4, %p1;\n")
                COPY("keep4", "4", "cp.async.ca.shared.global [%r5], [%rd3], 4, !%p1;\n") COPY(
                    "null4", "4",
                    "mov.u64 %rd3, 0; cp.async.ca.shared.global [%r5], [%rd3], 4, 0;\n")
                    COPY("bad4", "4",
                         "add.u64 %rd3, %rd3, 2; cp.async.ca.shared.global [%r5], [%rd3], 4;\n")
                        COPY("far4", "4",
                             "add.u64 %rd3, %rd3, 8; cp.async.ca.shared.global [%r5], [%rd3], 4;\n")
                            COPY("out4", "4",
                                 "add.u32 %r8, %r5, 65536; cp.async.ca.shared.global [%r8], "
                                 "[%rd3], 4;\n");

static uint32_t copied(const char *kernel, uint32_t word, uint32_t lane) {
    static const uint32_t keep[] = {0, 0xff, 0xffff, 0xffffff, ~0u, ~0u, ~0u, ~0u};
    if (!strcmp(kernel, "odd4")) return lane & 1 ? word : 0x55555555;
    if (!strcmp(kernel, "part4")) return word & keep[lane * 3 & 7];
    if (!strcmp(kernel, "ignore4")) return lane & 1 ? 0 : word;
    if (!strcmp(kernel, "null4")) return 0;
    if (!strcmp(kernel, "keep4")) return lane & 1 ? word : 0;
    return word;
}

static void check_copies(const char *kernel, uint32_t words) {
    struct ptxrun *r = ptxrun_create(copies, strlen(copies), 0);
    uint32_t *out = ptxrun_alloc(r, 32 * 4 * words), want[32];
    for (uint32_t i = 0; i < 32 * words; i++)
        out[i] = i * 0x01030507u + 1;
    for (uint32_t l = 0; l < 32; l++)
        want[l] = copied(kernel, out[l * words], l);
    int err = ptxrun_launch(r, kernel, 1, 32, 1, (uint64_t)out);
    cr_assert_eq(err, 0, "%s: %d %s%s", kernel, err, r->why, r->result.text);
    for (uint32_t l = 0; l < 32; l++)
        cr_assert_eq(out[l], want[l], "%s lane %u: %x, not %x", kernel, l, out[l], want[l]);
    ptxrun_destroy(r);
}

static void check_bad_copy(const char *kernel, int want) {
    struct ptxrun *r = ptxrun_create(copies, strlen(copies), 0);
    uint32_t *out = ptxrun_alloc(r, 32 * 4);
    cr_assert_eq(ptxrun_launch(r, kernel, 1, 32, 1, (uint64_t)out), want, "%s", kernel);
    ptxrun_destroy(r);
}

Test(block, asynchronous_copies_of_every_kind) {
    static const char *const builds[] = {"base", "v3", "v4"};
    static const char *const words[] = {"whole4", "odd4", "part4", "ignore4", "keep4", "null4"};
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        check_copies("whole16", 4);
        check_copies("whole8", 2);
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            check_copies(words[k], 1);
        check_bad_copy("bad4", ERR_MISALIGNED);
        check_bad_copy("far4", ERR_ILLEGAL_ADDRESS);
        check_bad_copy("out4", ERR_ILLEGAL_ADDRESS);
    }
}
