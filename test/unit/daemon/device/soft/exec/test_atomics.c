/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red: every operation and type compared with a model, several threads at once, and loads
 * and stores of every width.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

static void check_cuda(struct ptxrun *r) {
    enum { N = 300 };
    int32_t *w = ptxrun_alloc(r, 4 * (32 + N)), want[32] = {0};
    uint64_t *d = ptxrun_alloc(r, 32);
    float *f = ptxrun_alloc(r, 4);
    double *g = ptxrun_alloc(r, 8);
    r->threads = 3;
    r->slice = 200;
    int err = ptxrun_launch(r, "atomics", 10, 32, 5, (uint64_t)w, (uint64_t)d, (uint64_t)f,
                            (uint64_t)g, (uint64_t)N);
    cr_assert_eq(err, 0, "%s: %s", ptxrun_what, r->result.text);
    for (int t = 0; t < N; t++) {
        want[0] += t;
        want[1] -= 1;
        if (1000 - t < want[2]) want[2] = 1000 - t;
        if (3 * t > want[3]) want[3] = 3 * t;
        want[4] &= ~(1 << t % 31);
        want[5] |= 1 << t % 31;
        want[6] ^= t;
        want[16 + t % 7]++;
    }
    want[7] = N % 10;
    want[8] = 0; /* a cycle 0 -> 9 -> ... -> 0 takes ten steps */
    want[9] = N;
    w[10] = 0; /* the last writer's value */
    cr_assert_eq(memcmp(w, want, sizeof(want)), 0, "%s", ptxrun_what);
    char seen[N] = {0}; /* each ticket occurs once */
    for (int t = 0; t < N; t++) {
        cr_assert(w[32 + t] >= 0 && w[32 + t] < N && !seen[w[32 + t]]);
        seen[w[32 + t]] = 1;
    }
    cr_assert_eq(d[0], (uint64_t)N * (N - 1) / 2 << 20);
    cr_assert_eq(d[1], (uint64_t)(N - 1) << 33);
    cr_assert(d[2] >= 1 && d[2] <= N);
    cr_assert_eq(*f, 0.5f * N);
    cr_assert_eq(*g, 0.25 * N);
}
Test(atomics, cuda_functions_on_several_threads) {
    ptxrun_each("engine", check_cuda);
}

static void check_widths(struct ptxrun *r) {
    enum { N = 70 };
    signed char *a = ptxrun_alloc(r, N);
    int16_t *b = ptxrun_alloc(r, 2 * N), *outs = ptxrun_alloc(r, 2 * N);
    int64_t *c = ptxrun_alloc(r, 8 * N), *out = ptxrun_alloc(r, 8 * N);
    float *d = ptxrun_alloc(r, 16 * N), *outd = ptxrun_alloc(r, 16 * N);
    double *e = ptxrun_alloc(r, 16 * N);
    unsigned char *outb = ptxrun_alloc(r, N);
    for (int i = 0; i < N; i++) {
        a[i] = (signed char)(i * 37);
        b[i] = (int16_t)(i * 4321);
        c[i] = (int64_t)i * -123456789012;
        for (int k = 0; k < 4; k++)
            d[4 * i + k] = (float)(i * 4 + k - 100);
        for (int k = 0; k < 2; k++)
            e[2 * i + k] = i - 30 + k;
    }
    int err =
        ptxrun_launch(r, "widths", 1, N, 9, (uint64_t)a, (uint64_t)b, (uint64_t)c, (uint64_t)d,
                      (uint64_t)e, (uint64_t)out, (uint64_t)outd, (uint64_t)outs, (uint64_t)outb);
    cr_assert_eq(err, 0, "%s: %s", ptxrun_what, r->result.text);
    for (int i = 0; i < N; i++) {
        int64_t want = a[i] + b[i] + c[i] + (int64_t)(d[4 * i] + d[4 * i + 3]) +
                       (int64_t)(e[2 * i] * e[2 * i + 1]);
        cr_assert_eq(out[i], want, "%s %d", ptxrun_what, i);
        for (int k = 0; k < 4; k++)
            cr_assert_eq(outd[4 * i + k], d[4 * i + 3 - k]);
        cr_assert_eq(outs[i], (int16_t)(a[i] * b[i]));
        cr_assert_eq(outb[i], (unsigned char)(b[i] >> 4));
    }
}
Test(atomics, loads_and_stores_of_every_width) {
    ptxrun_each("engine", check_widths);
}

/* ---- one instruction at a time, in global and in shared memory ---------------------------------
 */

struct one {
    const char *op, *type;
    uint32_t bits;
    uint64_t old, b, c, want;
};

static const struct one ones[] = {
    {"add", "u32", 32, 0xffffffff, 3, 0, 2},
    {"add", "s32", 32, 5, -7u, 0, -2u},
    {"add", "u64", 64, 0xffffffffffffffff, 3, 0, 2},
    {"add", "f32", 32, 0x3fc00000, 0x40200000, 0, 0x40800000}, /* 1.5 + 2.5 */
    {"add", "f64", 64, 0x3ff8000000000000, 0x4004000000000000, 0, 0x4010000000000000},
    {"add.noftz", "f16", 16, 0x3e00, 0x4100, 0, 0x4400},
    {"add.noftz", "bf16", 16, 0x3fc0, 0x4020, 0, 0x4080},
    {"add.noftz", "f16x2", 32, 0x3e003c00, 0x41003c00, 0, 0x44004000},
    {"add.noftz", "bf16x2", 32, 0x3fc03f80, 0x40203f80, 0, 0x40804000},
    {"min", "s32", 32, -1u, 1, 0, -1u},
    {"min", "u32", 32, -1u, 1, 0, 1},
    {"max", "s32", 32, -1u, 1, 0, 1},
    {"max", "u32", 32, -1u, 1, 0, -1u},
    {"min", "s64", 64, -1ull, 1, 0, -1ull},
    {"max", "u64", 64, -1ull, 1, 0, -1ull},
    {"and", "b32", 32, 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
    {"or", "b32", 32, 0xff00ff00, 0x0ff00ff0, 0, 0xfff0fff0},
    {"xor", "b64", 64, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0, 0xf0f0f0f0f0f0f0f0},
    {"exch", "b32", 32, 1, 2, 0, 2},
    {"exch", "b64", 64, 1, 2, 0, 2},
    {"cas", "b32", 32, 7, 7, 9, 9},
    {"cas", "b32", 32, 7, 8, 9, 7},
    {"cas", "b64", 64, 1ull << 40, 1ull << 40, 9, 9},
    {"cas", "b16", 16, 7, 7, 9, 9},
    {"cas", "b16", 16, 7, 8, 9, 7},
    {"inc", "u32", 32, 4, 5, 0, 5},
    {"inc", "u32", 32, 5, 5, 0, 0},
    {"dec", "u32", 32, 0, 5, 0, 5},
    {"dec", "u32", 32, 6, 5, 0, 5},
    {"dec", "u32", 32, 3, 5, 0, 2},
};

static void one_text(const struct one *o, char *text, size_t bytes) {
    int cas = !strcmp(o->op, "cas");
    const char *s = o->bits == 64 ? "%rd" : o->bits == 32 ? "%r" : "%rs";
    char red[128] = "";
    if (!cas && strcmp(o->op, "exch") != 0)
        snprintf(red, sizeof(red), "red.global.%s.%s [%%rd9+32], %s5;", o->op, o->type, s);
    char third[16] = "";
    if (cas) snprintf(third, sizeof(third), ", %s6", s);
    snprintf(text, bytes,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 p) {\n"
             ".reg .b16 %%rs<10>; .reg .b32 %%r<10>; .reg .b64 %%rd<12>; .shared .align 8 .b8 "
             "s[8];\n"
             "ld.param.u64 %%rd9, [p];\n"
             "ld.global.b%u %s5, [%%rd9+8]; ld.global.b%u %s6, [%%rd9+16];\n"
             "ld.global.b%u %s7, [%%rd9]; st.shared.b%u [s], %s7;\n"
             "atom.global.%s.%s %s4, [%%rd9], %s5%s; st.global.b%u [%%rd9+24], %s4; %s\n"
             "atom.shared.%s.%s %s4, [s], %s5%s; st.global.b%u [%%rd9+40], %s4;\n"
             "ld.shared.b%u %s4, [s]; st.global.b%u [%%rd9+48], %s4; ret; }\n",
             o->bits, s, o->bits, s, o->bits, s, o->bits, s, o->op, o->type, s, s, third, o->bits,
             s, red, o->op, o->type, s, s, third, o->bits, s, o->bits, s, o->bits, s);
}

Test(atomics, every_operation) {
    for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++) {
        const struct one *o = &ones[i];
        char text[2048];
        one_text(o, text, sizeof(text));
        struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
        cr_assert(r->module, "%s.%s: %s", o->op, o->type, r->why);
        uint64_t *p = ptxrun_alloc(r, 64);
        p[0] = p[4] = o->old;
        p[1] = o->b;
        p[2] = o->c;
        int err = ptxrun_launch(r, "k", 1, 1, 1, (uint64_t)p);
        cr_assert_eq(err, 0, "%s.%s: %s%s", o->op, o->type, r->why, r->result.text);
        uint64_t mask = o->bits == 64 ? ~0ull : (1ull << o->bits) - 1;
        cr_assert_eq(p[0] & mask, o->want & mask, "%s.%s: %llx", o->op, o->type,
                     (unsigned long long)p[0]);
        cr_assert_eq(p[3] & mask, o->old & mask, "%s.%s returns", o->op, o->type);
        cr_assert_eq(p[5] & mask, o->old & mask, "%s.%s shared returns", o->op, o->type);
        cr_assert_eq(p[6] & mask, o->want & mask, "%s.%s shared", o->op, o->type);
        if (strcmp(o->op, "cas") != 0 && strcmp(o->op, "exch") != 0)
            cr_assert_eq(p[4] & mask, o->want & mask, "red.%s.%s", o->op, o->type);
        ptxrun_destroy(r);
    }
}

/* The host's processes access the same words, so atomics must be the processor's. */
static const char count_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry count(.param .u64 p) {\n"
    ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .reg .f64 %fd<4>;\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, 0;\n"
    "L: red.global.add.u32 [%rd1], 1; red.global.add.f64 [%rd1+8], 0d3FF0000000000000;\n"
    "atom.global.inc.u32 %r2, [%rd1+16], 0x7fffffff; red.global.add.u64 [%rd1+24], 1;\n"
    "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 50; @%p1 bra L; ret; }\n";
Test(atomics, nothing_is_lost_among_threads) {
    struct ptxrun *r = ptxrun_create(count_text, strlen(count_text), 0);
    struct {
        uint32_t a, pad;
        double b;
        uint32_t c, pad2;
        uint64_t d;
    } *p = ptxrun_alloc(r, sizeof(*p));
    r->threads = 4;
    r->slice = 100;
    cr_assert_eq(ptxrun_launch(r, "count", 40, 64, 1, (uint64_t)p), 0, "%s", r->result.text);
    uint32_t want = 40 * 64 * 50;
    cr_assert_eq(p->a, want);
    cr_assert_eq(p->b, want);
    cr_assert_eq(p->c, want);
    cr_assert_eq(p->d, want);
    ptxrun_destroy(r);
}

/* Lanes that access one address at once are serialized. */
static const char row_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p) {\n"
    ".reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<9>; .reg .f32 %f<4>;\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; cvt.rn.f32.u32 %f1, %r2;\n"
    "mad.wide.u32 %rd2, %r1, 4, %rd1; mul.lo.u32 %r3, %r1, 7; and.b32 %r3, %r3, 31;\n"
    "and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 1;\n"
    "atom.global.add.f32 %f2, [%rd1], %f1; st.global.f32 [%rd2+64], %f2;\n"
    "atom.global.cas.b32 %r5, [%rd1+8], %r1, %r2; st.global.u32 [%rd2+192], %r5;\n"
    "atom.global.max.s32 %r6, [%rd1+16], %r3; st.global.u32 [%rd2+320], %r6;\n"
    "@%p1 atom.global.inc.u32 %r7, [%rd1+24], 100; @%p1 st.global.u32 [%rd2+448], %r7;\n"
    "cvt.u64.u32 %rd3, %r2; atom.global.exch.b64 %rd4, [%rd1+32], %rd3;\n"
    "cvt.u32.u64 %r8, %rd4; st.global.u32 [%rd2+576], %r8; ret; }\n";
Test(atomics, lanes_at_one_address) {
    struct ptxrun *r = ptxrun_create(row_text, strlen(row_text), 0);
    uint32_t *p = ptxrun_alloc(r, 704), most = 0;
    cr_assert_eq(ptxrun_launch(r, "k", 1, 32, 1, (uint64_t)p), 0, "%s", r->result.text);
    for (uint32_t t = 0; t < 32; t++) {
        float sum;
        memcpy(&sum, &p[16 + t], sizeof(sum));
        cr_assert_eq((uint32_t)sum, t * (t + 1) / 2, "%u", t);
        cr_assert_eq(p[48 + t], t);
        cr_assert_eq(p[80 + t], most);
        cr_assert_eq(p[112 + t], t & 1 ? t / 2 : 0, "%u: %u", t, p[112 + t]);
        cr_assert_eq(p[144 + t], t);
        if ((t * 7 & 31) > most) most = t * 7 & 31;
    }
    cr_assert_eq(p[0], 0x44040000); /* 528 */
    cr_assert_eq(p[2], 32);
    cr_assert_eq(p[4], 31);
    cr_assert_eq(p[6], 16);
    cr_assert_eq(p[8], 32);
    ptxrun_destroy(r);
}

/* ---- subnormals and NaNs ----------------------------------------------------------------------
 */

/* Subnormal f32 sums and terms are flushed to zero in global memory and not in shared memory,
 * however either is addressed. All NaNs become the same NaN. */
static const char sums_of_subnormals[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 p) { .shared .align 16 .b8 s[16];\n"
    ".reg .b64 %p, %g, %x; .reg .b32 %s; .reg .f32 %v<4>, %z, %n, %t;\n"
    "ld.param.u64 %p, [p]; cvta.to.global.u64 %g, %p; mov.u32 %s, s; cvt.u64.u32 %x, %s;\n"
    "cvta.shared.u64 %x, %x; mov.b32 %v0, 0x007fffff; mov.b32 %z, 0x80000000;\n"
    "mov.b32 %n, 0xff800001; mov.b32 %t, 0x80800000;\n"
    "st.global.f32 [%g], %v0; atom.global.add.f32 %v1, [%g], %z; st.global.f32 [%g+4], %v1;\n"
    "st.global.f32 [%g+8], %t; red.global.add.f32 [%g+8], %v0;\n"
    "st.global.f32 [%g+12], %v0; red.add.f32 [%p+12], %v0;\n"
    "st.global.f32 [%g+16], %n; red.global.add.f32 [%g+16], %v0;\n"
    "st.shared.f32 [%s], %v0; atom.shared.add.f32 %v1, [%s], %z; ld.shared.f32 %v1, [%s];\n"
    "st.global.f32 [%g+20], %v1; st.shared.f32 [%s], %v0; atom.add.f32 %v1, [%x], %t;\n"
    "ld.shared.f32 %v1, [%s]; st.global.f32 [%g+24], %v1;\n"
    "st.shared.f32 [%s], %n; red.shared.add.f32 [%s], %v0; ld.shared.f32 %v1, [%s];\n"
    "st.global.f32 [%g+28], %v1; st.global.v2.f32 [%g+32], {%v0, %t};\n"
    "red.global.v2.f32.add [%g+32], {%v0, %v0}; mov.b32 %v1, 0x00800001;\n"
    "st.global.f32 [%g+40], %t; red.global.add.f32 [%g+40], %v1; neg.f32 %v1, %v1;\n"
    "st.global.f32 [%g+44], %v1; neg.f32 %t, %t; red.add.f32 [%p+44], %t; ret; }\n";

Test(atomics, sums_are_flushed_in_global_memory_alone) {
    static const uint32_t want[] = {0,          0x007fffff, 0x80800000, 0,
                                    0x7fffffff, 0x007fffff, 0x80000001, 0x7fffffff,
                                    0,          0x80800000, 0,          0x80000000};
    struct ptxrun *r = ptxrun_create(sums_of_subnormals, sizeof(sums_of_subnormals) - 1, 1);
    cr_assert(r->module, "%s", r->why);
    uint32_t *out = ptxrun_alloc(r, sizeof(want));
    cr_assert_eq(ptxrun_launch(r, "k", 1, 1, 1, (uint64_t)(uintptr_t)out), 0, "%s", r->result.text);
    for (unsigned k = 0; k < sizeof(want) / sizeof(*want); k++)
        cr_expect_eq(out[k], want[k], "%u: %08x", k, out[k]);
    ptxrun_destroy(r);
}
