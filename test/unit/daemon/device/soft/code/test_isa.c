/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of ALU instructions compared with the reference (test/lib/aluref), for every instruction
 * of build/data/alu, in each build that this processor runs, with full and partial masks: called
 * directly, and as kernels that go through the whole engine.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/alu/alucases.h"
#include "test/lib/alu/alukernel.h"
#include "test/lib/alu/aluref.h"
#include "test/lib/ptx/ptxrun.h"

#define SLOT_BYTES 256
#define MAX_REGS 64
#define CONST_BYTES (64 << 10)

static _Alignas(64) unsigned char regs[MAX_REGS * SLOT_BYTES];
static _Alignas(64) unsigned char consts[CONST_BYTES];
static uint32_t const_used;

static struct alucase cases[ALUCASES];
static struct alukernel kernel;
static struct code_inst codes[ALUKERNEL_INSTS];
static struct aluexpect expected[WARP_LANES][ALUKERNEL_INSTS];
/* Results of the first build, which every other build must reproduce bit for bit. */
static uint64_t first[WARP_LANES][ALUKERNEL_INSTS];
static uint32_t failures;

static void fail(const struct alusubject *s, const struct alucase *c, uint64_t got, uint64_t want,
                 const char *what) {
    if (failures++ < 40) alukernel_print(s, c, got, want, what);
}

/* ---- single instructions: slots in a register file of the test ---- */

static int32_t slot_of(int32_t reg) {
    return reg * SLOT_BYTES;
}

/* Broadcasts an immediate into the pool, as the decoder does. */
static int32_t constant(uint64_t v, uint32_t bytes) {
    const uint32_t at = const_used += SLOT_BYTES;
    cr_assert_lt(at + SLOT_BYTES, CONST_BYTES);
    if (!bytes) {
        const uint32_t mask = v & 1 ? ~0u : 0;
        memcpy(consts + at, &mask, sizeof(mask));
    }
    for (uint32_t l = 0; l < WARP_LANES && bytes; l++)
        memcpy(consts + at + l * bytes, &v, bytes);
    return -(int32_t)at;
}

/* Registers of 8 bits use 16. */
static uint32_t lane_bytes(uint32_t bits) {
    return bits == 8 ? 2 : bits / 8;
}

static void build_code(const struct alusubject *s, struct code_inst *c) {
    const struct ptx_inst *i = s->inst;
    *c = (struct code_inst){.d = slot_of(s->d),
                            .a = CODE_NO_SLOT,
                            .b = CODE_NO_SLOT,
                            .c = CODE_NO_SLOT,
                            .e = CODE_NO_SLOT,
                            .d2 = s->d2_bits ? slot_of(s->d2) : CODE_NO_SLOT,
                            .pred = CODE_NO_SLOT,
                            .op = i->op,
                            .type = i->types[0],
                            .type2 = i->type_count > 1 ? i->types[1] : PTX_NONE,
                            .round = i->round,
                            .cmp = i->cmp,
                            .sub = i->sub,
                            .sub2 = i->sub2,
                            .mods = i->mods,
                            .d_bytes = (uint8_t)lane_bytes(s->d_bits),
                            .a_bytes = (uint8_t)lane_bytes(s->src[0].bits),
                            .src = i};
    int32_t *slots[] = {&c->a, &c->b, &c->c, &c->e};
    for (uint32_t n = 0; n + 1 < i->operand_count && n < 4; n++) {
        const struct ptx_operand *o = &i->operands[n + 1];
        *slots[n] = s->src[n].name ? slot_of(o->reg)
                                   : constant(s->src[n].constant, isa_operand_bytes(i, n + 1));
        if (o->negated) c->c_neg = true;
    }
}

static void put_lane(int32_t slot, uint32_t bits, uint32_t lane, uint64_t v) {
    if (bits > 1) {
        v &= aluref_ones(bits);
        memcpy(regs + slot + lane * lane_bytes(bits), &v, lane_bytes(bits));
        return;
    }
    uint32_t mask;
    memcpy(&mask, regs + slot, sizeof(mask));
    mask = (mask & ~(1u << lane)) | (uint32_t)(v & 1) << lane;
    memcpy(regs + slot, &mask, sizeof(mask));
}

static uint64_t get_lane(int32_t slot, uint32_t bits, uint32_t lane) {
    uint64_t v = 0;
    memcpy(&v, regs + slot + (bits > 1 ? lane * lane_bytes(bits) : 0),
           bits > 1 ? lane_bytes(bits) : 4);
    return bits > 1 ? v : v >> lane & 1;
}

/* Loads all source registers of a group of 32 cases. */
static void load_regs(const struct alucase *group) {
    for (int32_t r = 0; r < (int32_t)kernel.func->reg_count; r++) {
        const char *name = kernel.func->regs[r].name;
        const uint32_t bits = alukernel_reg_bits(&kernel, r);
        for (uint32_t l = 0; l < WARP_LANES && bits && strchr("abce", name[1]); l++)
            put_lane(slot_of(r), bits, l, alukernel_field(&group[l], name[1]));
    }
}

static void check_lane(uint32_t n, uint32_t l, const struct alucase *c, bool is_first) {
    const struct alusubject *s = &kernel.subjects[n];
    const struct aluexpect *e = &expected[l][n];
    const uint64_t d = get_lane(slot_of(s->d), s->d_bits, l);
    if (!alukernel_near(s, d, e)) fail(s, c, d, e->d, "d");
    if (is_first)
        first[l][n] = d;
    else if (first[l][n] != d)
        fail(s, c, d, first[l][n], "differs from the first build");
    if (!s->d2_bits) return;
    const uint64_t d2 = get_lane(slot_of(s->d2), s->d2_bits, l);
    if (d2 != e->d2) fail(s, c, d2, e->d2, "second");
}

static void run_group(const struct alucase *group, uint32_t carries, bool is_first) {
    struct warp w = {.regs = regs, .consts = consts, .carry = carries};
    uint32_t mask = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++)
        mask |= (uint32_t)group[l].guard << l;
    load_regs(group);
    for (uint32_t n = 0; n < kernel.count && mask; n++) {
        const struct alusubject *s = &kernel.subjects[n];
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            put_lane(slot_of(s->d), s->d_bits, l, group[l].old);
            if (s->d2_bits) put_lane(slot_of(s->d2), s->d2_bits, l, group[l].old);
        }
        codes[n].run(&w, &codes[n], mask);
        if ((w.carry ^ carries) & ~mask) fail(s, group, w.carry, carries, "carry outside the mask");
        for (uint32_t l = 0; l < WARP_LANES; l++)
            check_lane(n, l, &group[l], is_first);
    }
}

static const char *const builds[] = {"base", "v3", "v4"};

/* Returns false if this processor cannot run the build. */
static bool use_build(uint32_t b) {
    setenv("SALUS_SOFT_ISA", builds[b], 1);
    return !strcmp(isa_name(), builds[b]);
}

static void select_all(void) {
    for (uint32_t n = 0; n < kernel.count; n++) {
        codes[n].run = isa_select(&codes[n]);
        cr_assert(codes[n].run, "%s: no handler", codes[n].src->text);
    }
}

static void check_handlers(void) {
    cr_assert_leq(kernel.func->reg_count, MAX_REGS);
    for (uint32_t n = 0; n < kernel.count; n++)
        build_code(&kernel.subjects[n], &codes[n]);
    for (uint32_t at = 0; at < ALUCASES; at += WARP_LANES) {
        const uint32_t carries = 0x5a3c96f0 * (at | 1);
        for (uint32_t l = 0; l < WARP_LANES; l++)
            alukernel_expect(&kernel, &cases[at + l], carries >> l & 1, expected[l]);
        for (uint32_t b = 0; b < 3; b++) {
            if (!use_build(b)) continue;
            select_all();
            run_group(&cases[at], carries, b == 0);
        }
    }
}

/* ---- the same instructions as a kernel ---- */

#define BLOCK 512

static void check_thread(const unsigned char *out, const struct alucase *c) {
    alukernel_expect(&kernel, c, false, expected[0]);
    for (uint32_t n = 0; n < kernel.count; n++) {
        const struct alusubject *s = &kernel.subjects[n];
        uint64_t got[2];
        memcpy(got, out + 16 * n, sizeof(got));
        if (!alukernel_near(s, got[0], &expected[0][n]))
            fail(s, c, got[0], expected[0][n].d, "in a kernel");
        if (s->d2_bits && got[1] != expected[0][n].d2)
            fail(s, c, got[1], expected[0][n].d2, "second, in a kernel");
    }
}

static void check_kernel(void) {
    for (uint32_t b = 0; b < 3; b++) {
        if (!use_build(b)) continue;
        struct ptxrun *r = ptxrun_create(kernel.text, kernel.bytes, 0);
        const size_t step = 16 * kernel.count;
        unsigned char *in = ptxrun_alloc(r, BLOCK * sizeof(*cases));
        unsigned char *out = ptxrun_alloc(r, BLOCK * step);
        for (uint32_t at = b * BLOCK; at < ALUCASES; at += 3 * BLOCK) {
            memcpy(in, &cases[at], BLOCK * sizeof(*cases));
            memset(out, 0, BLOCK * step);
            const int err = ptxrun_launch(r, "alu", 1, BLOCK, 2, (uint64_t)(uintptr_t)in,
                                          (uint64_t)(uintptr_t)out);
            cr_assert_eq(err, 0, "%s", r->result.text);
            for (uint32_t t = 0; t < BLOCK; t++)
                check_thread(out + t * step, &cases[at + t]);
        }
        ptxrun_destroy(r);
    }
}

static void check(const char *name) {
    alucases_fill(cases);
    alukernel_load(&kernel, name);
    check_handlers();
    cr_expect_eq(failures, 0, "%s: %u wrong results of handlers", name, failures);
    failures = 0;
    check_kernel();
    cr_expect_eq(failures, 0, "%s: %u wrong results of kernels", name, failures);
    alukernel_finish(&kernel);
}

Test(isa, integer) {
    check("integer");
}
Test(isa, carry) {
    check("carry");
}
Test(isa, bits) {
    check("bits");
}
Test(isa, select) {
    check("select");
}
Test(isa, video) {
    check("video");
}
Test(isa, real_f32) {
    check("real_f32");
}
Test(isa, real_f64) {
    check("real_f64");
}
Test(isa, approx) {
    check("approx");
}
Test(isa, half) {
    check("half");
}
Test(isa, compare) {
    check("compare");
}
Test(isa, cvt_integer) {
    check("cvt_integer");
}
Test(isa, cvt_real) {
    check("cvt_real");
}

/* ---- narrow integers in registers of 32 bits ---------------------------------------------------
 */

static void convert_low_bits(void) {
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 out) { .reg .b64 %out, %rd<3>; .reg .b32 %l, %x, %r<5>;\n"
        ".reg .pred %p; ld.param.u64 %out, [out]; mov.u32 %l, %laneid;\n"
        "mad.lo.u32 %x, %l, 0x98765437, 0x80f0; mad.wide.u32 %out, %l, 32, %out;\n"
        "setp.ne.u32 %p, %l, 3; mov.u32 %r4, 5; cvt.s32.s8 %r0, %x; cvt.u32.u8 %r1, %x;\n"
        "cvt.s32.s16 %r2, %x; cvt.u32.u16 %r3, %x; @%p cvt.s32.s8 %r4, %x;\n"
        "cvt.s64.s8 %rd0, %x; st.v4.u32 [%out], {%r0, %r1, %r2, %r3}; st.u32 [%out+16], %r4;\n"
        "st.u64 [%out+24], %rd0; ret; }\n";
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s", r->why);
    int32_t *out = ptxrun_alloc(r, 32 * 32);
    cr_assert_eq(ptxrun_launch(r, "k", 1, 32, 1, (uint64_t)(uintptr_t)out), 0, "%s",
                 r->result.text);
    for (uint32_t l = 0; l < 32; l++, out += 8) {
        const uint32_t x = l * 0x98765437 + 0x80f0;
        const int32_t byte = (int8_t)x,
                      want[] = {byte, (uint8_t)x, (int16_t)x, (uint16_t)x, l == 3 ? 5 : byte};
        cr_assert_arr_eq(out, want, sizeof(want), "lane %u", l);
        cr_assert_eq(*(int64_t *)(out + 6), byte, "lane %u", l);
    }
    ptxrun_destroy(r);
}

Test(isa, conversions_take_the_low_bits_of_wide_registers) {
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        convert_low_bits();
    }
    unsetenv("SALUS_SOFT_ISA");
}

/* ---- lop3 with a predicate --------------------------------------------------------------------
 */

/* Tables whose result is often 0 (and), or not; a predicate plain and negated; with discarded
 * results; and under a guard, outside of which both stay unchanged. */
static void lop3_of_predicates(void) {
    static const char text[] =
        ".version 8.2\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 out) { .reg .b64 %out; .reg .b32 %l, %b, %d, %e, %t<4>;\n"
        ".reg .pred %q, %g, %p<4>; ld.param.u64 %out, [out]; mov.u32 %l, %laneid;\n"
        "mad.wide.u32 %out, %l, 32, %out; and.b32 %t0, %l, 1; setp.ne.u32 %q, %t0, 0;\n"
        "setp.lt.u32 %g, %l, 24; mov.u32 %b, 6; mov.u32 %e, 77; setp.ne.u32 %p3, %t0, 0;\n"
        "lop3.or.b32 %d|%p0, %l, %b, -1, 0x80, %q; lop3.and.b32 _|%p1, %l, %b, 2, 0x80, !%q;\n"
        "lop3.and.b32 %t1|%p2, %l, %b, %b, 0x96, %q; @%g lop3.or.b32 %e|%p3, %l, 0, 0, 0xf0, !%q;\n"
        "selp.u32 %t0, 1, 0, %p0; selp.u32 %t1, 1, 0, %p1; selp.u32 %t2, 1, 0, %p2;\n"
        "selp.u32 %t3, 1, 0, %p3; st.v4.u32 [%out], {%t0, %t1, %t2, %t3};\n"
        "st.u32 [%out+16], %d; st.u32 [%out+20], %e; ret; }\n";
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s", r->why);
    uint32_t *out = ptxrun_alloc(r, 32 * 32);
    cr_assert_eq(ptxrun_launch(r, "k", 1, 32, 1, (uint64_t)(uintptr_t)out), 0, "%s",
                 r->result.text);
    for (uint32_t l = 0; l < 32; l++, out += 8) {
        const uint32_t q = l & 1, on = l < 24;
        const uint32_t want[] = {(l & 6) || q,     (l & 2) && !q, l && q,
                                 on ? l || !q : q, l & 6,         on ? l : 77};
        cr_assert_arr_eq(out, want, sizeof(want), "lane %u", l);
    }
    ptxrun_destroy(r);
}

Test(isa, lop3_combines_whether_its_result_is_not_zero) {
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        lop3_of_predicates();
    }
}

/* ---- early PTX ------------------------------------------------------------------------------- */

/* Like NVIDIA's sample matrixMulDynlinkJIT: nvcc wrote it for sm_10. */
static const char early[] =
    "\t.version 1.4\n\t.target sm_10, map_f64_to_f32\n\t.file 1 \"<command-line>\"\n"
    "\t.entry main (\n\t\t.param .u64 __cudaparm_main_C,\n\t\t.param .u64 __cudaparm_main_A)\n\t{\n"
    "\t.reg .u16 %rh<4>;\n\t.reg .u32 %r<9>;\n\t.reg .u64 %rd<9>;\n\t.reg .f32 %f<9>;\n"
    "\t.shared .align 4 .b8 __cuda_As16[1024];\n\t.loc\t1\t28\t0\n$LBB1_main:\n"
    "\tcvt.s32.u16 \t%r1, %tid.x;\n\tcvt.u64.s32 \t%rd1, %r1;\n"
    "\tmul.lo.u64 \t%rd2, %rd1, 4;\n\tld.param.u64 \t%rd3, [__cudaparm_main_A];\n"
    "\tadd.u64 \t%rd4, %rd3, %rd2;\n\tld.global.f32 \t%f1, [%rd4+0];\n"
    "\tmov.u64 \t%rd5, __cuda_As16;\n\tadd.u64 \t%rd6, %rd2, %rd5;\n"
    "\tst.shared.f32 \t[%rd6+0], %f1;\n\tbar.sync \t0;\n\tld.shared.f32 \t%f2, [%rd6+0];\n"
    "\tmad.f32 \t%f3, %f1, %f2, %f1;\n\tld.param.u64 \t%rd7, [__cudaparm_main_C];\n"
    "\tadd.u64 \t%rd8, %rd7, %rd2;\n\tst.global.f32 \t[%rd8+0], %f3;\n\texit;\n"
    "$LDWend_main:\n\t} // main\n";

Test(isa, early_ptx_runs) {
    struct ptxrun *r = ptxrun_create(early, sizeof(early) - 1, 0);
    float *c = ptxrun_alloc(r, 4 * sizeof(*c)), *a = ptxrun_alloc(r, 4 * sizeof(*a));
    a[0] = 3.0f;
    a[1] = 0x1.000002p0f; /* the square is inexact: rounded once */
    a[2] = 0x1p-130f;     /* subnormal: flushed to zero */
    a[3] = -2.5f;
    cr_assert_eq(ptxrun_launch(r, "main", 1, 4, 2, (uint64_t)(uintptr_t)c, (uint64_t)(uintptr_t)a),
                 0, "%s", r->why);
    cr_expect_eq(c[0], 12.0f);
    cr_expect_eq(c[1], fmaf(a[1], a[1], a[1]));
    cr_expect_eq(c[2], 0.0f);
    cr_expect_eq(c[3], 3.75f);
    ptxrun_destroy(r);
}
