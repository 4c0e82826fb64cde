/* SPDX-License-Identifier: Apache-2.0
 *
 * Warps: divergence, calls, and lanes that exchange values, compared with plain C. The kernels are
 * those of test/data/cu/engine.cu, in every variant and build.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/launch/warp.h"
#include "test/lib/ptx/ptxrun.h"

static void fill(int32_t *v, uint32_t n, uint32_t limit, uint32_t seed) {
    for (uint32_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (int32_t)((seed >> 8) % limit);
    }
}

static int32_t *ints(struct ptxrun *r, uint32_t n) {
    return ptxrun_alloc(r, n * 4ull);
}

static void run(struct ptxrun *r, const char *kernel, uint32_t threads, const void *in, void *out) {
    int err = ptxrun_launch(r, kernel, 1, threads, 2, (uint64_t)in, (uint64_t)out);
    cr_assert_eq(err, 0, "%s of %s: %d %s%s", kernel, ptxrun_what, err, r->why, r->result.text);
}

static void check_collatz(struct ptxrun *r) {
    uint32_t n = 500;
    int32_t *in = ints(r, n), *out = ints(r, n);
    fill(in, n, 10000, 1);
    int err = ptxrun_launch(r, "collatz", 4, 128, 3, (uint64_t)in, (uint64_t)out, (uint64_t)n);
    cr_assert_eq(err, 0, "%s", r->result.text);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = (uint32_t)in[i], steps = 0;
        for (; v > 1; steps++)
            v = v & 1 ? 3 * v + 1 : v / 2;
        cr_assert_eq((uint32_t)out[i], steps, "%s lane %u", ptxrun_what, i);
    }
}
Test(warp, loops_of_different_length) {
    ptxrun_each("engine", check_collatz);
}

static uint32_t ackermann(uint32_t m, uint32_t n) {
    if (!m) return n + 1;
    return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}
static void check_recursion(struct ptxrun *r) {
    int32_t *in = ints(r, 64), *out = ints(r, 64);
    fill(in, 64, 16, 2);
    run(r, "recursion", 64, in, out);
    for (int i = 0; i < 64; i++)
        cr_assert_eq((uint32_t)out[i], ackermann(in[i] & 3, (uint32_t)in[i] >> 2), "%s %d",
                     ptxrun_what, i);
}
Test(warp, recursion) {
    ptxrun_each("engine", check_recursion);
}

static void check_overflow(struct ptxrun *r) {
    int err = ptxrun_launch(r, "overflow", 1, 32, 1, (uint64_t)ints(r, 1));
    cr_assert_eq(err, ERR_LAUNCH_FAILED);
    cr_assert(strstr(r->result.text, "stack overflow"), "%s", r->result.text);
}
Test(warp, endless_recursion_is_a_fault) {
    ptxrun_each("engine", check_overflow);
}

static int32_t op_deep(int32_t a, int32_t b) {
    return a < 3 ? a + b : op_deep(a - 1, b) + 1;
}
static void check_pointers(struct ptxrun *r) {
    int32_t *in = ints(r, 64), *out = ints(r, 64);
    fill(in, 64, 30, 3);
    run(r, "pointers", 64, in, out);
    for (int32_t t = 0; t < 64; t++) {
        int32_t v = in[t], want = v % 3 == 0 ? v + t : v % 3 == 1 ? v * t : op_deep(v, t);
        cr_assert_eq(out[t], want, "%s %d", ptxrun_what, t);
    }
}
Test(warp, function_pointers) {
    ptxrun_each("engine", check_pointers);
}

static void check_wild(struct ptxrun *r) {
    int32_t *out = ints(r, 1);
    uint64_t bad[] = {0,
                      1,
                      (uint64_t)(uintptr_t)out,
                      CODE_HANDLE_TAG,
                      CODE_HANDLE(100000),
                      CODE_HANDLE(0) + 8,
                      (uint64_t)(uintptr_t)&check_pointers,
                      UINT64_MAX};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int err = ptxrun_launch(r, "wild_pointer", 1, 32, 2, bad[i], (uint64_t)out);
        cr_assert_eq(err, ERR_ILLEGAL_ADDRESS, "%s %zu: %d", ptxrun_what, i, err);
    }
    int entries = 0; /* handles of kernels are rejected, those of functions work or fault cleanly */
    for (uint64_t f = 0; f < 60; f++)
        entries += ptxrun_launch(r, "wild_pointer", 1, 1, 2, CODE_HANDLE(f), (uint64_t)out) ==
                   ERR_ILLEGAL_ADDRESS;
    cr_assert_gt(entries, 20);
}
Test(warp, pointers_that_are_no_functions) {
    ptxrun_each("engine", check_wild);
}

static void check_virtuals(struct ptxrun *r) {
    int32_t *in = ints(r, 32), *out = ints(r, 32);
    fill(in, 32, 1000, 4);
    run(r, "virtuals", 32, in, out);
    for (int t = 0; t < 32; t++)
        cr_assert_eq(out[t], in[t] & 1 ? 2 * in[t] : in[t] + t, "%s %d", ptxrun_what, t);
}
Test(warp, virtual_functions) {
    ptxrun_each("engine", check_virtuals);
}

static void check_dispatch(struct ptxrun *r) {
    int32_t *in = ints(r, 64), *out = ints(r, 64);
    fill(in, 64, 10, 5);
    run(r, "dispatch", 64, in, out);
    for (int t = 0; t < 64; t++) {
        int v = in[t];
        int want[] = {v + 11, v * 7 - 3, v ^ 0x55, 1 << (v & 31), v * v * v, -v, ~v, v / 3};
        cr_assert_eq(out[t], v < 8 ? want[v] : 1000 + v, "%s %d", ptxrun_what, t);
    }
}
Test(warp, switches) {
    ptxrun_each("engine", check_dispatch);
}

static void check_arrays(struct ptxrun *r) {
    int32_t *in = ints(r, 64), *out = ints(r, 96);
    fill(in, 64, 1000, 6);
    run(r, "arrays", 96, in, out);
    for (int t = 0; t < 96; t++) {
        int a[40], at = t % 40, sum = 0;
        for (int i = 0; i < 40; i++)
            a[i] = in[(t * 7 + i) % 64] % 40;
        for (int i = 0; i < 100; i++) {
            sum += a[at] * i;
            a[(at + i) % 40] = (a[at] + i) % 40;
            at = a[at];
        }
        cr_assert_eq(out[t], sum, "%s %d", ptxrun_what, t);
    }
}
Test(warp, local_arrays) {
    ptxrun_each("engine", check_arrays);
}

/* ---- operations of several lanes
 * --------------------------------------------------------------- */

static int32_t shfl_model(const int32_t *v, int kind, int lane, int arg, int width) {
    int low = lane & ~(width - 1), j = lane;
    if (kind == 0) j = low + (arg & (width - 1));
    if (kind == 1) j = lane - arg >= low ? lane - arg : lane;
    if (kind == 2) j = lane + arg < low + width ? lane + arg : lane;
    if (kind == 3) j = (lane ^ arg) < low + width ? lane ^ arg : lane;
    return v[j];
}
static void check_shuffles(struct ptxrun *r) {
    int32_t *in = ints(r, 32), *out = ints(r, 8 * 32);
    fill(in, 32, 1000, 7);
    run(r, "shuffles", 32, in, out);
    static const int kinds[8][3] = {{0, -1, 32}, {1, 3, 32}, {2, 5, 32}, {3, 9, 32},
                                    {0, -1, 8},  {1, 3, 16}, {2, 2, 4},  {3, 5, 8}};
    for (int k = 0; k < 8; k++)
        for (int t = 0; t < 32; t++) {
            int arg = kinds[k][1] < 0 ? in[t] : kinds[k][1];
            cr_assert_eq(out[k * 32 + t], shfl_model(in, kinds[k][0], t, arg, kinds[k][2]),
                         "%s form %d lane %d", ptxrun_what, k, t);
        }
}
Test(warp, shuffles) {
    ptxrun_each("engine", check_shuffles);
}

static void check_votes(struct ptxrun *r) {
    int32_t *in = ints(r, 32);
    uint32_t *out = ptxrun_alloc(r, 7 * 32 * 4);
    fill(in, 32, 1000, 8);
    run(r, "votes", 32, in, out);
    uint32_t odd = 0, any = 0, thirds[2] = {0, 0};
    for (int t = 0; t < 32; t++) {
        odd |= (uint32_t)(in[t] & 1) << t;
        any |= in[t] == 77;
        if (t % 3 == 1)
            thirds[1] |= (uint32_t)(in[t] >> 1 & 1) << t;
        else
            thirds[0] |= (uint32_t)(in[t] >> 2 & 1) << t;
    }
    for (int t = 0; t < 32; t++) {
        uint32_t same = 0;
        for (int k = 0; k < 32; k++)
            same |= (uint32_t)((in[k] & 7) == (in[t] & 7)) << k;
        cr_assert_eq(out[t], odd, "%s", ptxrun_what);
        cr_assert_eq(out[32 + t], any);
        cr_assert_eq(out[64 + t], 1);
        cr_assert_eq(out[96 + t], same, "%s match", ptxrun_what);
        cr_assert_eq(out[128 + t], ~0u ^ 1u, "%s match all %x", ptxrun_what, out[128 + t]);
        cr_assert_eq(out[160 + t], ~0u);
        cr_assert_eq(out[192 + t], thirds[t % 3 == 1], "%s diverged ballot", ptxrun_what);
    }
}
Test(warp, votes_and_matches) {
    ptxrun_each("engine", check_votes);
}

static void check_duplicated(struct ptxrun *r) {
    int32_t *in = ints(r, 32), *out = ints(r, 32);
    fill(in, 32, 1000, 9);
    run(r, "duplicated", 32, in, out);
    for (int t = 0; t < 32; t++) {
        int other = in[t ^ 1] * (in[t ^ 1] & 1 ? 2 : 3);
        cr_assert_eq(out[t], other + (in[t] & 1 ? 1 : -1), "%s %d", ptxrun_what, t);
    }
}
Test(warp, one_meeting_from_two_instructions) {
    ptxrun_each("engine", check_duplicated);
}

static void check_groups(struct ptxrun *r) {
    int32_t *in = ints(r, 64), *out = ints(r, 64);
    fill(in, 64, 100, 10);
    run(r, "groups", 64, in, out);
    for (int w = 0; w < 2; w++) {
        int v[32], odd = 0, first = -1;
        for (int t = 0; t < 32; t++) {
            v[t] = 0;
            for (int k = 0; k < 8; k++)
                v[t] += in[w * 32 + (t & ~7) + k];
            if (in[w * 32 + t] & 1) {
                odd++;
                if (first < 0) first = v[t];
            }
        }
        for (int t = 0; t < 32; t++) {
            int want = in[w * 32 + t] & 1 ? v[t] * 100 + odd + first : v[t];
            cr_assert_eq(out[w * 32 + t], want, "%s %d %d", ptxrun_what, w, t);
        }
    }
}
Test(warp, cooperative_groups) {
    ptxrun_each("engine", check_groups);
}

/* Converged lanes carry different member masks; the mask is a register; exited lanes are ignored.
 */
static const char redux_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry redux(.param .u64 out) {\n"
    ".reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
    "setp.eq.u32 %p1, %r1, 31; @%p1 exit;\n"
    "and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 1;\n"
    "selp.b32 %r3, 0xaaaaaaaa, 0x55555555, %p2;\n"
    "redux.sync.add.s32 %r4, %r1, %r3;\n"
    "redux.sync.max.u32 %r5, %r1, 0xffffffff;\n"
    "elect.sync %r6|%p1, 0xffffffff;\n"
    "mad.lo.u32 %r4, %r5, 1000, %r4; @%p1 add.u32 %r4, %r4, 100000;\n"
    "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4; ret; }\n";

Test(warp, member_masks_that_differ) {
    struct ptxrun *r = ptxrun_create(redux_text, strlen(redux_text), 0);
    int32_t *out = ints(r, 32);
    cr_assert_eq(ptxrun_launch(r, "redux", 1, 32, 1, (uint64_t)out), 0, "%s%s", r->why,
                 r->result.text);
    /* lane 31 has exited: odd lanes 1..29 give 225, even lanes 240 */
    for (int t = 0; t < 31; t++) {
        int sum = t & 1 ? 225 : 240;
        cr_assert_eq(out[t], sum + 30 * 1000 + (t ? 0 : 100000), "lane %d: %d", t, out[t]);
    }
    cr_assert_eq(out[31], 0);
    ptxrun_destroy(r);
}

/* Minimum and maximum of floats: lanes 0 to 7 have numbers, 8 to 15 include a NaN, 16 to 23 are
 * all NaN, 24 to 31 have zeros of both signs. */
static const char floats_text[] =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry floats(.param .u64 in, .param .u64 out) {\n"
    ".reg .b32 %r<10>; .reg .f32 %f<10>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; ld.global.f32 %f1, [%rd1];\n"
    "and.b32 %r2, %r1, 24; mov.u32 %r3, 255; shl.b32 %r3, %r3, %r2;\n"
    "redux.sync.min.f32 %f2, %f1, %r3; redux.sync.max.f32 %f3, %f1, %r3;\n"
    "redux.sync.min.abs.f32 %f4, %f1, %r3; redux.sync.max.abs.NaN.f32 %f5, %f1, %r3;\n"
    "mul.wide.u32 %rd3, %r1, 16; add.u64 %rd2, %rd2, %rd3;\n"
    "st.global.v4.f32 [%rd2], {%f2, %f3, %f4, %f5}; ret; }\n";

Test(warp, reductions_of_floats) {
    struct ptxrun *r = ptxrun_create(floats_text, strlen(floats_text), 0);
    uint32_t *in = ptxrun_alloc(r, 128), *out = ptxrun_alloc(r, 512);
    for (uint32_t k = 0; k < 32; k++) {
        const float v = (float)((k % 8 * 5 + 3) % 8) - 4.5f; /* -4.5 to 2.5 */
        memcpy(&in[k], &v, sizeof(v));
        if (k == 11 || k / 8 == 2) in[k] = k & 1 ? 0xffc00001 : 0x7f812345;
        if (k / 8 == 3) in[k] = k == 26 ? 0x80000000 : 0;
    }
    cr_assert_eq(ptxrun_launch(r, "floats", 1, 32, 2, (uint64_t)in, (uint64_t)out), 0, "%s%s",
                 r->why, r->result.text);
    const uint32_t nan = 0x7fffffff, want[4][4] = {
                                         {0xc0900000, 0x40200000, 0x3f000000, 0x40900000},
                                         {0xc0900000, 0x40200000, 0x3f000000, nan},
                                         {nan, nan, nan, nan},
                                         {0x80000000, 0, 0, 0},
                                     };
    for (uint32_t k = 0; k < 128; k++)
        cr_assert_eq(out[k], want[k / 32][k % 4], "lane %u, %u: %x", k / 4, k % 4, out[k]);
    ptxrun_destroy(r);
}

/* A mask with lanes that never arrive: they are ignored once no other lane can run. */
static const char absent_text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                  ".visible .entry absent(.param .u64 out) {\n"
                                  ".reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<4>;\n"
                                  "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
                                  "setp.lt.u32 %p1, %r1, 16; @%p1 bra FIRST;\n"
                                  "bar.sync 0; bra.uni DONE;\n"
                                  "FIRST: vote.sync.ballot.b32 %r2, %p1, 0xffffffff; bar.sync 0;\n"
                                  "DONE: mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; "
                                  "st.global.u32 [%rd1], %r2; ret; }\n";

Test(warp, members_that_never_come) {
    struct ptxrun *r = ptxrun_create(absent_text, strlen(absent_text), 0);
    int32_t *out = ints(r, 32);
    cr_assert_eq(ptxrun_launch(r, "absent", 1, 32, 1, (uint64_t)out), 0, "%s%s", r->why,
                 r->result.text);
    for (int t = 0; t < 32; t++)
        cr_assert_eq(out[t], t < 16 ? 0xffff : 0);
    ptxrun_destroy(r);
}

/* A shuffle from a lane that does not participate gives 0, not the contents of its register; the
 * predicate says that the lane is in range. Every lane contributes its number + 100. */
#define SHFL(before, shuffle)                                                                  \
    ".version 8.0\n.target sm_70\n.address_size 64\n"                                          \
    ".visible .entry shfl(.param .u64 out) {\n"                                                \
    ".reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<4>;\n"                                  \
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 100; mov.u32 %r3, 77;\n" \
    "setp.lt.u32 %p3, %r1, 8; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n" before   \
    " " shuffle ";\n@%p1 add.u32 %r3, %r3, 1000; st.global.u32 [%rd1], %r3; ret; }\n"
static const struct {
    const char *text;
    uint32_t source, from, to, absent; /* lane l reads l + source; lanes [from, to) participate */
} absentees[] = {
    {SHFL("@!%p3 exit;", "shfl.sync.down.b32 %r3|%p1, %r2, 4, 31, 0xff"), 4, 0, 8, 8},
    {SHFL("@!%p3 exit;", "shfl.sync.down.b32 %r3|%p1, %r2, 4, 31, 0xffffffff"), 4, 0, 8, 8},
    {SHFL("@!%p3 exit;", "shfl.down.b32 %r3|%p1, %r2, 4, 31"), 4, 0, 8, 8},
    {SHFL("@!%p3 exit;", "shfl.sync.bfly.b32 %r3|%p1, %r2, 8, 31, 0xff"), 8, 0, 8, 8},
    {SHFL("@!%p3 exit; add.u32 %r4, %r1, 9;", "shfl.sync.idx.b32 %r3|%p1, %r2, %r4, 31, 0xff"), 9,
     0, 8, 8},
    {SHFL("@!%p3 exit;", "shfl.sync.up.b32 %r3|%p1, %r2, 1, 0, 0xff"), UINT32_MAX, 1, 8, 8},
    /* The absent lanes have not exited; they are elsewhere. */
    {SHFL("mov.pred %p1, 0; selp.u32 %r3, 3, 0, %p3;",
          "@%p3 shfl.sync.down.b32 %r3|%p1, %r2, 7, 31, 0xff"),
     7, 0, 8, 8},
    /* Lanes of the mask that never arrive: the others meet without them once no other lane can
     * run. */
    {SHFL("@%p3 bra HERE; bar.sync 0; exit; HERE:",
          "shfl.sync.down.b32 %r3|%p1, %r2, 5, 31, 0xffffffff; bar.sync 0"),
     5, 0, 8, 8},
    /* Two groups of lanes meet at one instruction. */
    {SHFL("selp.u32 %r4, 0xff, 0xffffff00, %p3;", "shfl.sync.down.b32 %r3|%p1, %r2, 6, 31, %r4"), 6,
     0, 8, 8},
};

Test(warp, shuffles_from_lanes_that_take_no_part) {
    for (size_t k = 0; k < sizeof(absentees) / sizeof(absentees[0]); k++) {
        struct ptxrun *r = ptxrun_create(absentees[k].text, strlen(absentees[k].text), 0);
        uint32_t *out = (uint32_t *)ints(r, 32);
        cr_assert_eq(ptxrun_launch(r, "shfl", 1, 32, 1, (uint64_t)out), 0, "%zu: %s%s", k, r->why,
                     r->result.text);
        for (uint32_t l = absentees[k].from; l < absentees[k].to; l++) {
            uint32_t from = l + absentees[k].source;
            uint32_t want = 1000 + (from < absentees[k].absent ? from + 100 : 0);
            cr_assert_eq(out[l], want, "shuffle %zu, lane %u: %u, expected %u", k, l, out[l], want);
        }
        ptxrun_destroy(r);
    }
}

static void check_lock(struct ptxrun *r) {
    int32_t *counter = ints(r, 4);
    int err = ptxrun_launch(r, "spin_lock", 2, 64, 2, (uint64_t)counter, (uint64_t)8);
    cr_assert_eq(err, 0, "%s", r->result.text);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(counter[i], 2 * 128, "%s %d", ptxrun_what, counter[i]);
}
Test(warp, spin_lock_among_lanes) {
    ptxrun_each("engine", check_lock);
}

/* Three paths through a kernel converge before its long end, which the warp then runs once. */
Test(warp, lanes_ahead_wait_where_the_others_come_by) {
    char text[4096] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry k() { .reg .b32 %l, %r; .reg .pred %p, %q;\n"
                      "mov.u32 %l, %laneid; and.b32 %r, %l, 3; setp.eq.u32 %p, %r, 0;\n"
                      "setp.eq.u32 %q, %r, 1; @%p bra A; @%q bra B; add.u32 %r, %r, 1; bra J;\n"
                      "B: add.u32 %r, %r, 2; bra J;\nA: add.u32 %r, %r, 3;\nJ:\n";
    for (int k = 0; k < 100; k++)
        strcat(text, "add.u32 %r, %r, %l;\n");
    strcat(text, "ret; }\n");
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s", r->why);
    cr_assert_eq(ptxrun_launch(r, "k", 1, 32, 0), 0, "%s", r->result.text);
    cr_assert_lt(r->result.warp_insts, 150);
    ptxrun_destroy(r);
}
/* ---- random control flow: 32 lanes together must do the same as each lane alone
 * ---------------- */

struct program {
    char text[1 << 16];
    size_t len;
    uint32_t seed, labels, depth;
};

static uint32_t draw(struct program *p, uint32_t n) {
    p->seed = p->seed * 1664525u + 1013904223u;
    return (p->seed >> 10) % n;
}

static void put(struct program *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct program *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    p->len += (size_t)vsnprintf(p->text + p->len, sizeof(p->text) - p->len, fmt, ap);
    va_end(ap);
    cr_assert_lt(p->len, sizeof(p->text));
}

/* Registers %r1..%r6 are data; those from %r7 on are loop counters, one for each depth. */
static void gen_compute(struct program *p) {
    static const char *const ops[] = {"add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "and.b32"};
    uint32_t guard = draw(p, 4);
    if (!guard) put(p, "setp.lt.u32 %%p2, %%r%u, %%r%u; @%%p2 ", 1 + draw(p, 6), 1 + draw(p, 6));
    if (draw(p, 6))
        put(p, "%s %%r%u, %%r%u, %%r%u;\n", ops[draw(p, 5)], 1 + draw(p, 6), 1 + draw(p, 6),
            1 + draw(p, 6));
    else
        put(p, "add.u32 %%r%u, %%r%u, %u;\n", 1 + draw(p, 6), 1 + draw(p, 6), draw(p, 1000));
}

static void gen_statements(struct program *p);

static void gen_if(struct program *p) {
    uint32_t label = p->labels++;
    put(p, "and.b32 %%r20, %%r%u, %u; setp.eq.u32 %%p1, %%r20, 0; @%s%%p1 bra E%u;\n",
        1 + draw(p, 6), 1 + draw(p, 7), draw(p, 2) ? "!" : "", label);
    gen_statements(p);
    if (draw(p, 2)) {
        put(p, "bra F%u;\nE%u:\n", label, label);
        gen_statements(p);
        put(p, "F%u:\n", label);
    } else {
        put(p, "E%u:\n", label);
    }
}

static void gen_loop(struct program *p) {
    uint32_t label = p->labels++, counter = 7 + p->depth;
    put(p, "and.b32 %%r%u, %%r%u, %u;\nL%u:\n", counter, 1 + draw(p, 6), draw(p, 2) ? 3 : 7, label);
    gen_statements(p);
    if (!draw(p, 3)) /* leaves early */
        put(p, "and.b32 %%r20, %%r%u, 15; setp.eq.u32 %%p1, %%r20, 3; @%%p1 bra X%u;\n",
            1 + draw(p, 6), label);
    put(p, "setp.eq.u32 %%p1, %%r%u, 0; sub.u32 %%r%u, %%r%u, 1; @!%%p1 bra L%u;\nX%u:\n", counter,
        counter, counter, label, label);
}

static void gen_switch(struct program *p) {
    uint32_t label = p->labels++;
    put(p, "and.b32 %%r20, %%r%u, 3;\nT%u: .branchtargets A%u, B%u, C%u, A%u;\n", 1 + draw(p, 6),
        label, label, label, label, label);
    put(p, "brx.idx %%r20, T%u;\nA%u:\n", label, label);
    gen_compute(p);
    put(p, "bra D%u;\nB%u:\n", label, label);
    gen_statements(p);
    put(p, "C%u:\n", label);
    gen_compute(p);
    put(p, "D%u:\n", label);
}

static void gen_statements(struct program *p) {
    uint32_t count = 1 + draw(p, 3);
    p->depth++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = p->depth > 4 ? 0 : draw(p, 8);
        if (kind < 3)
            gen_compute(p);
        else if (kind < 5)
            gen_if(p);
        else if (kind == 5)
            gen_loop(p);
        else if (kind == 6)
            gen_switch(p);
        else
            put(p,
                "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %%r%u; call (b), helper, (a);"
                " ld.param.b32 %%r%u, [b]; }\n",
                1 + draw(p, 6), 1 + draw(p, 6));
    }
    p->depth--;
}

static void gen_program(struct program *p, uint32_t seed) {
    p->len = 0;
    p->seed = seed * 2654435761u + 1;
    p->labels = p->depth = 0;
    put(p, ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".func (.param .b32 r) helper(.param .b32 x) {\n"
           ".reg .pred %%p<2>; .reg .b32 %%r<4>; ld.param.b32 %%r1, [x];\n"
           "and.b32 %%r2, %%r1, 3; setp.eq.u32 %%p1, %%r2, 0; @%%p1 bra OUT;\n"
           "mul.lo.u32 %%r1, %%r1, 5; add.u32 %%r1, %%r1, 1;\n"
           "OUT: st.param.b32 [r], %%r1; ret; }\n"
           ".visible .entry main(.param .u64 out, .param .u32 base) {\n"
           ".reg .pred %%p<4>; .reg .b32 %%r<40>; .reg .b64 %%rd<4>;\n"
           "ld.param.u64 %%rd1, [out]; ld.param.u32 %%r1, [base]; mov.u32 %%r30, %%tid.x;\n"
           "add.u32 %%r30, %%r30, %%r1; mul.wide.u32 %%rd2, %%r30, 4; add.u64 %%rd1, %%rd1, "
           "%%rd2;\n");
    for (int k = 1; k <= 6; k++)
        put(p, "mul.lo.u32 %%r%d, %%r30, %u; shr.u32 %%r%d, %%r%d, %u;\n", k,
            draw(p, 100000) * 2 + 1, k, k, draw(p, 8));
    for (int k = 0; k < 4; k++)
        gen_statements(p);
    put(p, "xor.b32 %%r1, %%r1, %%r2; add.u32 %%r1, %%r1, %%r3; xor.b32 %%r4, %%r4, %%r5;\n"
           "add.u32 %%r1, %%r1, %%r4; add.u32 %%r1, %%r1, %%r6; st.global.u32 [%%rd1], %%r1; ret; "
           "}\n");
}

/* The number of random programs whose results differ between widths 32 and 1. */
static uint32_t random_differences(uint32_t first, uint32_t count) {
    static struct program p;
    uint32_t bad = 0;
    for (uint32_t seed = first; seed < first + count; seed++) {
        gen_program(&p, seed);
        struct ptxrun *r = ptxrun_create(p.text, p.len, 0);
        r->max_steps = 30; /* with a mutant, a program may never end */
        int32_t *wide = ints(r, 32), *narrow = ints(r, 32);
        int err = ptxrun_launch(r, "main", 1, 32, 2, (uint64_t)wide, (uint64_t)0);
        for (uint64_t lane = 0; !err && lane < 32; lane++)
            err = ptxrun_launch(r, "main", 1, 1, 2, (uint64_t)narrow, lane);
        cr_assert_eq(err, 0, "seed %u: %s%s", seed, r->why, r->result.text);
        bad += memcmp(wide, narrow, 128) != 0;
        ptxrun_destroy(r);
    }
    return bad;
}

Test(warp, random_control_flow) {
    cr_assert_eq(random_differences(1, 300), 0);
}
