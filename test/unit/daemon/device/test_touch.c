/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that launches access: kernels as compilers write them, with the ranges that they read
 * and write, and kernels that are refused, with the reason. Every launch through test/lib/ptxrun
 * checks that a kernel accesses nothing else.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/touch/touch_value.h"
#include "test/lib/ptx/watched.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define A 0x100000000ull
#define B 0x200000000ull
#define C 0x300000000ull

struct look {
    struct ptx_module *module;
    struct watched w;
};

static struct look look(const char *text, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by,
                        const void *params, uint32_t param_bytes) {
    struct look l;
    char why[256] = "";
    struct dev_launch launch = {
        .grid = {gx, gy, 1}, .block = {bx, by, 1}, .params = params, .param_bytes = param_bytes};
    cr_assert_eq(ptx_parse(text, strlen(text), &l.module, why, sizeof(why)), 0, "%s", why);
    watched_look(&l.w, ptx_find_func(l.module, "k"), &launch);
    return l;
}

static void done(struct look *l) {
    watched_finish(&l->w);
    ptx_module_free(l->module);
}

static void is(const struct ranges *r, uint32_t i, uint64_t addr, uint64_t bytes) {
    cr_assert_lt(i, r->count);
    cr_expect(r->items[i].lo == addr && r->items[i].hi == addr + bytes, "0x%lx to 0x%lx",
              r->items[i].lo, r->items[i].hi);
}

/* Parameters a, b, c and n; in the body, %r1 is the thread's index i. */
#define BUFFERS                                                                        \
    ".visible .entry k(.param .u64 pa,.param .u64 pb,.param .u64 pc,.param .u32 pn)\n" \
    "{ .reg .pred %p<9>; .reg .b32 %r<29>; .reg .b64 %d<29>; .reg .f32 %f<9>;\n"       \
    ".shared .align 4 .b8 sh[1024];\n"                                                 \
    "ld.param.u64 %d1,[pa]; ld.param.u64 %d2,[pb]; ld.param.u64 %d3,[pc];\n"           \
    "ld.param.u32 %r2,[pn]; cvta.to.global.u64 %d1,%d1; cvta.to.global.u64 %d2,%d2;\n" \
    "cvta.to.global.u64 %d3,%d3; mov.u32 %r3,%ctaid.x; mov.u32 %r4,%ntid.x;\n"         \
    "mov.u32 %r5,%tid.x; mad.lo.s32 %r1,%r3,%r4,%r5;\n"
#define GUARD "setp.ge.s32 %p1,%r1,%r2; @%p1 bra OUT;\n"
#define OUT "OUT: ret; }"

struct buffers {
    uint64_t a, b, c;
    uint32_t n;
};

static struct look with(const char *body, struct buffers p, uint32_t grid, uint32_t block) {
    static char text[8192];
    snprintf(text, sizeof(text), "%s%s%s", HEAD BUFFERS, body, OUT);
    return look(text, grid, 1, block, 1, &p, 28);
}

static void refused(const char *body, const char *why) {
    struct look l = with(body, (struct buffers){A, B, C, 1000}, 4, 256);
    cr_expect(!l.w.known && strstr(l.w.why, why), "%s: %s", body, l.w.why);
    done(&l);
}

Test(touch, a_sum_of_vectors_with_a_rest) {
    struct look l =
        with(GUARD "mul.wide.s32 %d4,%r1,4; add.s64 %d5,%d1,%d4; ld.global.f32 %f1,[%d5];"
                   "add.s64 %d6,%d2,%d4; ld.global.f32 %f2,[%d6]; add.f32 %f3,%f1,%f2;"
                   "add.s64 %d7,%d3,%d4; st.global.f32 [%d7],%f3;",
             (struct buffers){A, B, C, 1000}, 4, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.reads, 0, A, 4000);
    is(l.w.reads, 1, B, 4000);
    is(l.w.writes, 0, C, 4000);
    cr_expect(watched_harmless(&l.w));
    done(&l);
}

Test(touch, one_in_place_reads_what_it_writes) {
    struct look l =
        with(GUARD "mul.wide.s32 %d4,%r1,4; add.s64 %d5,%d1,%d4; ld.global.f32 %f1,[%d5];"
                   "add.f32 %f1,%f1,%f1; st.global.f32 [%d5],%f1;",
             (struct buffers){A, B, C, 1000}, 4, 256);
    cr_assert(l.w.known && !watched_harmless(&l.w));
    done(&l);
}

Test(touch, a_loop_over_the_grid) {
    struct look l = with("mov.u32 %r6,%nctaid.x; mul.lo.s32 %r7,%r4,%r6;" GUARD
                         "L: mul.wide.s32 %d4,%r1,4; add.s64 %d5,%d1,%d4; ld.global.f32 %f1,[%d5];"
                         "add.s64 %d6,%d2,%d4; st.global.f32 [%d6],%f1; add.s32 %r1,%r1,%r7;"
                         "setp.lt.s32 %p2,%r1,%r2; @%p2 bra L;",
                         (struct buffers){A, B, C, 10001}, 4, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.reads, 0, A, 40004);
    is(l.w.writes, 0, B, 40004);
    done(&l);
}

/* The counter that ends the loop is another register than the pointers, which advance by
 * themselves. */
Test(touch, a_loop_with_pointers_that_go_on) {
    struct look l = with("mov.u32 %r8,100;"
                         "L: ld.global.v2.f32 {%f1,%f2},[%d1+-8]; st.global.f32 [%d2],%f1;"
                         "add.s64 %d1,%d1,-8; add.s64 %d2,%d2,4; add.s32 %r8,%r8,-1;"
                         "setp.ne.s32 %p2,%r8,0; @%p2 bra L;",
                         (struct buffers){A, B, C, 0}, 4, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.reads, 0, A - 800, 800);
    is(l.w.writes, 0, B, 400);
    done(&l);
}

/* The loop's 1 << 28 iterations are not simulated; the condition at their end bounds the index. */
Test(touch, a_long_loop_takes_no_time) {
    uint64_t begin = fdutil_now_ns();
    struct look l =
        with(GUARD "L: mul.wide.s32 %d4,%r1,4; add.s64 %d5,%d1,%d4; st.global.f32 [%d5],%f1;"
                   "add.s32 %r1,%r1,1; setp.lt.s32 %p2,%r1,%r2; @%p2 bra L;",
             (struct buffers){A, B, C, 1u << 28}, 1, 1);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.writes, 0, A, 4ull << 28);
    done(&l);
    l = with("mov.u32 %r8,268435456; L: st.global.f32 [%d1],%f1; add.s64 %d1,%d1,4;"
             "add.s32 %r8,%r8,-1; setp.ne.s32 %p2,%r8,0; @%p2 bra L;",
             (struct buffers){A, B, C, 0}, 1, 1);
    cr_expect(!l.w.known);
    done(&l);
    l = with("L: st.global.f32 [%d1],%f1; and.b64 %d1,%d1,-256; bra L;",
             (struct buffers){A, B, C, 0}, 1, 1);
    cr_expect(l.w.known, "the last round but one is the first again: %s", l.w.why);
    done(&l);
    cr_expect_lt(fdutil_now_ns() - begin, 5000000000ull);
}

/* A value that is uniform in one iteration may differ in the next. */
Test(touch, what_a_round_knew_is_not_what_the_next_one_knows) {
    struct look l = with("mov.u32 %r9,0; mov.u32 %r10,%r9; mov.u32 %r8,268435456;"
                         "L: setp.lt.u32 %p3,%r9,10; @!%p3 bra N; mul.wide.u32 %d4,%r10,4;"
                         "add.s64 %d5,%d1,%d4; st.global.f32 [%d5],%f1;"
                         "N: add.s32 %r8,%r8,-1; and.b32 %r9,%r8,15; and.b32 %r10,%r8,255;"
                         "setp.ne.s32 %p2,%r8,0; @%p2 bra L;",
                         (struct buffers){A, B, C, 0}, 1, 1);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.writes, 0, A, 1024);
    done(&l);
}

Test(touch, tiles_of_matrices) {
    static const char text[] =
        HEAD ".visible .entry k(.param .u64 pa,.param .u64 pb,.param .u64 pc,.param .u32 pn)\n"
             "{ .reg .pred %p<9>; .reg .b32 %r<39>; .reg .b64 %d<29>; .reg .f32 %f<9>;\n"
             ".shared .align 4 .b8 ta[1024]; .shared .align 4 .b8 tb[1024];\n"
             "ld.param.u64 %d1,[pa]; ld.param.u64 %d2,[pb]; ld.param.u64 %d3,[pc]; ld.param.u32 "
             "%r2,[pn];\n"
             "mov.u32 %r3,%ctaid.y; shl.b32 %r4,%r3,4; mov.u32 %r5,%tid.y; add.s32 %r6,%r4,%r5;\n"
             "mov.u32 %r7,%ctaid.x; shl.b32 %r8,%r7,4; mov.u32 %r9,%tid.x; add.s32 %r10,%r8,%r9;\n"
             "mul.lo.s32 %r11,%r6,%r2; mov.u32 %r12,0;\n"
             "L: add.s32 %r13,%r12,%r9; add.s32 %r14,%r11,%r13; mul.wide.s32 %d4,%r14,4;\n"
             "add.s64 %d5,%d1,%d4; ld.global.f32 %f1,[%d5]; st.shared.f32 [ta],%f1;\n"
             "add.s32 %r15,%r12,%r5; mad.lo.s32 %r16,%r15,%r2,%r10; mul.wide.s32 %d6,%r16,4;\n"
             "add.s64 %d7,%d2,%d6; ld.global.f32 %f2,[%d7]; st.shared.f32 [tb],%f2; bar.sync 0;\n"
             "ld.shared.f32 %f3,[ta]; bar.sync 0; add.s32 %r12,%r12,16; setp.lt.s32 %p1,%r12,%r2;\n"
             "@%p1 bra L; setp.ge.s32 %p2,%r6,%r2; setp.ge.s32 %p3,%r10,%r2; or.pred %p4,%p2,%p3;\n"
             "@%p4 bra OUT; add.s32 %r17,%r11,%r10; mul.wide.s32 %d8,%r17,4; add.s64 %d9,%d3,%d8;\n"
             "st.global.f32 [%d9],%f3; OUT: ret; }";
    struct buffers p = {A, B, C, 64};
    struct look l = look(text, 4, 4, 16, 16, &p, 28);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.reads, 0, A, 4 * 64 * 64);
    is(l.w.reads, 1, B, 4 * 64 * 64);
    is(l.w.writes, 0, C, 4 * 64 * 64);
    done(&l);
}

Test(touch, a_place_that_two_ways_lead_to) {
    struct look l = with("setp.lt.u32 %p1,%r5,10; mov.u64 %d4,%d1; @%p1 bra N; mov.u64 %d4,%d2;"
                         "N: st.global.u32 [%d4],%r1;",
                         (struct buffers){A, B, C, 0}, 1, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.writes, 0, A, B - A + 4);
    done(&l);
}

/* Two joined conditions: each one's bound applies where both must hold. */
Test(touch, conditions_that_were_joined) {
    struct look l = with("setp.lt.u32 %p1,%r5,10; setp.gt.u32 %p2,%r5,3; and.pred %p3,%p1,%p2;"
                         "@!%p3 bra OUT; mul.wide.u32 %d4,%r5,4; add.s64 %d5,%d1,%d4;"
                         "st.global.f32 [%d5],%f1;",
                         (struct buffers){A, B, C, 0}, 1, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.writes, 0, A + 16, 24);
    done(&l);
    l = with("setp.lt.u32 %p1,%r5,10; setp.gt.u32 %p2,%r5,3; or.pred %p3,%p1,%p2;"
             "@!%p3 bra OUT; mul.wide.u32 %d4,%r5,4; add.s64 %d5,%d1,%d4;"
             "st.global.f32 [%d5],%f1;",
             (struct buffers){A, B, C, 0}, 1, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.writes, 0, A, 1024);
    done(&l);
}

/* 32-bit numbers wrap before they become an address. */
Test(touch, numbers_that_wrap) {
    struct look l = with("add.s32 %r9,%r1,2147483647; mul.wide.s32 %d4,%r9,4; add.s64 %d5,%d2,%d4;"
                         "st.global.f32 [%d5],%f1;",
                         (struct buffers){A, B, C, 0}, 1, 2);
    cr_assert(l.w.known, "%s", l.w.why);
    uint64_t hi = B + 4 * 2147483647ull + 4, lo = B - 4 * 2147483648ull;
    cr_expect(l.w.writes->items[0].lo <= lo && l.w.writes->items[0].hi >= hi, "both ends");
    done(&l);
    l = with("mul.lo.s32 %r9,%r1,1073741824; mul.wide.u32 %d4,%r9,1; add.s64 %d5,%d2,%d4;"
             "st.global.u8 [%d5],%r1;",
             (struct buffers){A, B, C, 0}, 1, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    cr_expect(l.w.writes->items[0].lo <= B && l.w.writes->items[0].hi >= B + 0xc0000001ull);
    done(&l);
    l = with(
        "neg.s32 %r9,%r1; mul.wide.s32 %d4,%r9,4; add.s64 %d5,%d2,%d4; st.global.f32 [%d5],%f1;",
        (struct buffers){A, B, C, 0}, 1, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.writes, 0, B - 4 * 255, 4 * 256);
    done(&l);
}

Test(touch, what_is_read_by_what_was_read) {
    struct look l =
        with("ld.global.u32 %r9,[%d2]; mul.wide.u32 %d4,%r9,4; add.s64 %d5,%d1,%d4;"
             "ld.global.f32 %f1,[%d5]; ld.global.u64 %d6,[%d2]; ld.global.f32 %f1,[%d6];",
             (struct buffers){A, B, C, 0}, 1, 256);
    cr_expect(l.w.known && l.w.reads_all && watched_harmless(&l.w), "it writes nothing");
    done(&l);
    l = with("ld.global.u8 %r9,[%d2]; mul.wide.u32 %d4,%r9,4; add.s64 %d5,%d1,%d4;"
             "st.global.f32 [%d5],%f1;",
             (struct buffers){A, B, C, 0}, 1, 256);
    cr_assert(l.w.known, "%s", l.w.why);
    is(l.w.writes, 0, A, 1024);
    done(&l);
    refused("ld.global.u64 %d4,[%d2]; st.global.f32 [%d4],%f1;", "may write anywhere");
}

Test(touch, variables_are_read_not_written) {
    static const char text[] =
        HEAD ".global .align 4 .b8 var[64];\n.visible .entry k(.param .u64 p)\n"
             "{ .reg .b64 %%d<9>; .reg .b32 %%r<9>; .reg .f32 %%f<3>;\n"
             "mov.u32 %%r1,%%tid.x; mul.wide.u32 %%d2,%%r1,4;\n"
             "mov.u64 %%d1,var; add.s64 %%d3,%%d1,%%d2; %s [%%d3]%s; ret; }";
    char all[1024];
    struct buffers p = {A, B, C, 0};
    snprintf(all, sizeof(all), text, "ld.global.f32 %f1,", "");
    struct look l = look(all, 1, 1, 16, 1, &p, 8);
    cr_expect(l.w.known && l.w.reads_variables && !l.w.reads_all);
    done(&l);
    l = look(all, 1, 1, 17, 1, &p, 8);
    cr_expect(l.w.known && l.w.reads_all, "behind its end");
    done(&l);
    snprintf(all, sizeof(all), text, "st.global.f32 ", ",%f1");
    l = look(all, 1, 1, 16, 1, &p, 8);
    cr_expect(!l.w.known && strstr(l.w.why, "writes a variable"), "%s", l.w.why);
    done(&l);
}

Test(touch, atomics_are_refused) {
    refused("atom.global.add.u32 %r9,[%d1],1;", "atom.global.add.u32 in line");
    refused("red.global.add.f32 [%d1],%f1;", "reads and writes the same memory");
    refused("atom.add.u32 %r9,[%d1],1;", "reads and writes the same memory");
}

Test(touch, what_others_may_wait_for_is_refused) {
    refused("ld.volatile.global.u32 %r9,[%d1];", "may observe the progress of other threads");
    refused("ld.acquire.gpu.global.u32 %r9,[%d1];", "may observe the progress of other threads");
    refused("st.volatile.global.u32 [%d1],%r1;", "may show its progress to other threads");
    refused("st.global.release.sys.u32 [%d1],%r1;", "");
    refused("membar.gl;", "may order");
    refused("fence.acq_rel.sys;", "may order");
    struct look l = with("membar.cta; bar.sync 0; st.global.u32 [%d1],%r1;",
                         (struct buffers){A, B, C, 0}, 1, 1);
    cr_expect(l.w.known, "%s", l.w.why);
    done(&l);
}

/* A repeated launch may see another thread first, or another time. */
Test(touch, what_may_be_otherwise_next_time_says_not_where_to_write) {
    refused("mov.u32 %r9,%clock; setp.gt.u32 %p2,%r9,5; @%p2 bra OUT; st.global.u32 [%d1],%r1;",
            "may branch differently");
    refused("mov.u32 %r9,%smid; and.b32 %r9,%r9,3; mul.wide.u32 %d4,%r9,4; add.s64 %d5,%d1,%d4;"
            "st.global.u32 [%d5],%r1;",
            "may write other values");
    refused("atom.shared.add.u32 %r9,[sh],1; and.b32 %r9,%r9,3; mul.wide.u32 %d4,%r9,4;"
            "add.s64 %d5,%d1,%d4; st.global.u32 [%d5],%r1;",
            "may write other values");
    refused("mov.u32 %r9,%clock; setp.gt.u32 %p2,%r9,5; @%p2 st.global.u32 [%d1],%r1;",
            "may write other values");
    refused("ld.shared.u32 %r8,[sh]; setp.gt.u32 %p2,%r8,5; @%p2 st.global.u32 [%d1],%r1;"
            "mov.u32 %r9,%clock; st.shared.u32 [sh],%r9;",
            "may write other values");
    refused("red.shared.add.f32 [sh],%f1; ld.shared.f32 %f2,[sh]; setp.gt.f32 %p2,%f2,%f1;"
            "@%p2 bra OUT; st.global.u32 [%d1],%r1;",
            "may branch differently");
    refused("mov.u32 %r9,%clock; st.global.u32 [%d1],%r9;", "may write other values");
    refused("mov.u64 %d4,sh; cvta.shared.u64 %d5,%d4; st.global.u64 [%d1],%d5;",
            "may write other values");
    refused("mov.u64 %d4,sh; cvta.shared.u64 %d5,%d4; and.b64 %d6,%d5,256; add.s64 %d6,%d6,%d1;"
            "st.global.u32 [%d6],%r1;",
            "may write other values");
    refused("activemask.b32 %r9; setp.gt.u32 %p2,%r9,5; @%p2 bra OUT;", "may branch differently");
    struct look l = with("red.shared.add.u32 [sh],1; bar.sync 0; ld.shared.u32 %r8,[sh];"
                         "setp.gt.u32 %p2,%r8,5; @%p2 bra OUT; st.global.u32 [%d1],%r8;",
                         (struct buffers){A, B, C, 0}, 1, 1);
    cr_expect(l.w.known, "%s", l.w.why);
    done(&l);
}

/* ---- ranges of numbers, compared with all numbers -------------------------------------------- */

#define BITS 4u
#define ALL (1u << BITS)

typedef struct touch_value operation(const struct touch_value *a, const struct touch_value *b);
typedef uint32_t number(uint32_t a, uint32_t b);

static bool has(const struct touch_value *v, uint64_t n) {
    return ((n - v->lo) & touch_mask(BITS)) <= v->len;
}

static void holds_all(operation *run, number *one, const char *what) {
    for (uint32_t i = 0; i < ALL * ALL; i++)
        for (uint32_t k = 0; k < ALL * ALL; k++) {
            struct touch_value a = {.lo = i / ALL, .len = i % ALL},
                               b = {.lo = k / ALL, .len = k % ALL};
            struct touch_value r = run(&a, &b);
            for (uint32_t x = 0; x <= a.len; x++)
                for (uint32_t y = 0; y <= b.len; y++) {
                    uint32_t p = (uint32_t)(a.lo + x) % ALL, q = (uint32_t)(b.lo + y) % ALL;
                    if (!has(&r, one(p, q) % ALL))
                        cr_assert(false, "%s of %u and %u is not in %lu+%lu", what, p, q, r.lo,
                                  r.len);
                }
        }
}

static int32_t sign(uint32_t x) {
    return x & ALL / 2 ? (int32_t)x - (int32_t)ALL : (int32_t)x;
}

#define OPERATION(name, number_is, ...)                                 \
    static struct touch_value run_##name(const struct touch_value *a,   \
                                         const struct touch_value *b) { \
        return touch_##__VA_ARGS__;                                     \
    }                                                                   \
    static uint32_t one_##name(uint32_t a, uint32_t b) {                \
        return (uint32_t)(number_is);                                   \
    }

OPERATION(add, a + b, add(a, b, BITS))
OPERATION(sub, a - b, sub(a, b, BITS))
OPERATION(mul, a *b, mul(a, b, BITS))
OPERATION(and, a &b, and(a, b, BITS))
OPERATION(or, a | b, or (a, b, BITS))
OPERATION(xor, a ^ b, xor(a, b, BITS))
OPERATION(shl, b < BITS ? a << b : 0, shl(a, b, BITS))
OPERATION(shr, b < BITS ? a >> b : 0, shr(a, b, BITS, false))
OPERATION(sar, sign(a) >> (b < BITS ? b : BITS - 1), shr(a, b, BITS, true))
OPERATION(umin, a < b ? a : b, min(a, b, BITS, false))
OPERATION(smax, sign(a) > sign(b) ? a : b, max(a, b, BITS, true))
OPERATION(udiv, b ? a / b : 0, div(a, b, BITS, false))
OPERATION(sdiv, b ? sign(a) / sign(b) : 0, div(a, b, BITS, true))
OPERATION(urem, b ? a % b : 0, rem(a, b, BITS, false))
OPERATION(srem, b ? sign(a) % sign(b) : 0, rem(a, b, BITS, true))
OPERATION(umulhi, a *b >> BITS, mul_high(a, b, BITS, false))
OPERATION(smulhi, sign(a) * sign(b) >> BITS, mul_high(a, b, BITS, true))
OPERATION(either_a, a, either(a, b, BITS))
OPERATION(either_b, b, either(a, b, BITS))

Test(touch, runs_hold_all_that_can_come_out) {
#define HOLDS(name) holds_all(run_##name, one_##name, #name)
    HOLDS(add), HOLDS(sub), HOLDS(mul), HOLDS(and), HOLDS(or), HOLDS(xor), HOLDS(shl), HOLDS(shr);
    HOLDS(sar), HOLDS(umin), HOLDS(smax), HOLDS(udiv), HOLDS(sdiv), HOLDS(urem), HOLDS(srem);
    HOLDS(umulhi), HOLDS(smulhi), HOLDS(either_a), HOLDS(either_b);
}

Test(touch, what_is_in_two_runs_is_kept) {
    for (uint32_t i = 0; i < ALL * ALL; i++)
        for (uint32_t k = 0; k < ALL * ALL; k++) {
            struct touch_value a = {.lo = i / ALL, .len = i % ALL},
                               b = {.lo = k / ALL, .len = k % ALL};
            struct touch_value m = a;
            bool some = touch_meet(&m, b.lo, b.len, BITS), any = false;
            for (uint32_t n = 0; n < ALL; n++) {
                if (!has(&a, n) || !has(&b, n)) continue;
                any = true;
                cr_assert(some && has(&m, n), "%u", n);
            }
            cr_assert_eq(any, some);
        }
}
