/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma in every type, width and shared-memory layout, compared with products computed here;
 * matrices are stored element by element, by the layouts that CUTLASS documents for their
 * descriptors. Also the synchronisation of its four warps.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/err.h"
#include "test/lib/ptx/matrixref.h"
#include "test/lib/ptx/ptxrun.h"

static const char *const builds[] = {"base", "v3", "v4"};

#define ROWS 64
#define WIDTH_MOST 256
#define SHARED 49152
#define A_AT 1024
#define B_AT 16384

/* A matrix's layout: CUTLASS's Swizzle<bits, 4, 3>; along the sum's dimension, or `turned`. */
struct layout {
    unsigned bits;
    bool turned;
    unsigned step; /* step of 32 bytes, within the pattern's row */
};

struct form {
    const char *end; /* end of the opcode, after its shape */
    unsigned n, k;
    enum matrixref_kind d, a, b;
    struct layout la, lb;
    bool given; /* a is in registers */
    int sign_a, sign_b;
    int keep; /* 0 or 1; 2, 3: the same by a negated predicate */
};

#define KMAJOR(bits) \
    { bits, false, 0 }
#define TURNED(bits) \
    { bits, true, 0 }

static const struct form forms[] = {
    {"f32.f16.f16", 8, 16, F32, F16, F16, KMAJOR(0), KMAJOR(0), false, 1, 1, 1},
    {"f32.f16.f16", 64, 16, F32, F16, F16, KMAJOR(3), KMAJOR(3), false, 1, 1, 1},
    {"f32.f16.f16", 256, 16, F32, F16, F16, {3, false, 2}, {3, false, 3}, false, 1, 1, 0},
    {"f32.f16.f16", 40, 16, F32, F16, F16, {2, false, 1}, {1, false, 0}, false, -1, 1, 2},
    {"f32.f16.f16", 128, 16, F32, F16, F16, TURNED(3), TURNED(3), false, 1, -1, 3},
    {"f32.f16.f16", 256, 16, F32, F16, F16, TURNED(2), TURNED(1), false, -1, -1, 1},
    {"f32.bf16.bf16", 72, 16, F32, BF16, BF16, TURNED(1), TURNED(2), false, 1, 1, 1},
    {"f32.bf16.bf16", 96, 16, F32, BF16, BF16, TURNED(0), TURNED(0), false, 1, 1, 0},
    {"f32.bf16.bf16", 128, 16, F32, BF16, BF16, KMAJOR(0), TURNED(3), true, -1, 1, 1},
    {"f16.f16.f16", 128, 16, F16, F16, F16, KMAJOR(3), TURNED(3), false, 1, 1, 1},
    {"f16.f16.f16", 16, 16, F16, F16, F16, KMAJOR(0), KMAJOR(2), true, 1, -1, 1},
    {"f32.tf32.tf32", 32, 8, F32, TF32, TF32, KMAJOR(3), {2, false, 1}, false, 1, -1, 1},
    {"f32.tf32.tf32", 24, 8, F32, TF32, TF32, KMAJOR(0), KMAJOR(1), true, 1, 1, 1},
    {"f32.e4m3.e5m2", 256, 32, F32, E4M3, E5M2, KMAJOR(3), {3, false, 1}, false, 1, 1, 1},
    {"f16.e5m2.e5m2", 48, 32, F16, E5M2, E5M2, KMAJOR(2), KMAJOR(0), false, -1, 1, 1},
    {"f32.e5m2.e4m3", 8, 32, F32, E5M2, E4M3, KMAJOR(0), KMAJOR(3), true, -1, 1, 0},
    {"s32.s8.u8", 224, 32, S32, S8, U8, KMAJOR(3), KMAJOR(3), false, 1, 1, 1},
    {"s32.s8.s8.satfinite", 24, 32, S32, S8, S8, KMAJOR(1), KMAJOR(2), false, 1, 1, 1},
    {"satfinite.s32.u8.s8", 8, 32, S32, U8, S8, KMAJOR(0), KMAJOR(0), true, 1, 1, 1},
    {"s32.b1.b1.and.popc", 64, 256, S32, B1, B1, KMAJOR(3), KMAJOR(0), false, 1, 1, 1},
    {"s32.b1.b1.and.popc", 8, 256, S32, B1, B1, KMAJOR(0), KMAJOR(3), true, 1, 1, 0},
};

/* ---- matrices -------------------------------------------------------------------------------- */

/* Elements, in words of 32 bits, in rows of 32 bytes. */
struct matrices {
    uint32_t a[ROWS][32], b[WIDTH_MOST][32], c[ROWS][WIDTH_MOST];
};

static unsigned unit_bytes(enum matrixref_kind kind) {
    return kind == B1 ? 4 : matrixref_widths[kind] / 8;
}

static unsigned units(enum matrixref_kind kind) {
    return 32 / unit_bytes(kind);
}

static void fill(const struct form *f, struct matrices *m) {
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned k = 0; k < units(f->a); k++)
            m->a[row][k] = (uint32_t)(f->a == B1 ? matrixref_dice() : matrixref_random(f->a, true));
    for (unsigned col = 0; col < f->n; col++)
        for (unsigned k = 0; k < units(f->b); k++)
            m->b[col][k] = (uint32_t)(f->b == B1 ? matrixref_dice() : matrixref_random(f->b, true));
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned col = 0; col < f->n; col++)
            m->c[row][col] = (uint32_t)matrixref_random(f->d, f->d != S32 || row % 3);
}

/* Byte offsets to the next eight in either dimension. */
static unsigned leading(const struct layout *l) {
    return l->turned && l->bits ? 256u << l->bits : 128;
}

static unsigned stride(const struct layout *l) {
    return l->bits ? 128u << l->bits : 256;
}

/* ((8,m),(T,2)):((W*T,SBO),(1,T)); without a swizzle the last stride is LBO. Turned:
 * ((T,W,m),(8,k)): ((1,T,LBO),(W*T,SBO)); without a swizzle LBO and SBO are exchanged. */
static unsigned offset_of(const struct layout *l, unsigned outer, unsigned byte) {
    const unsigned span = 16u << l->bits, sbo = stride(l), lbo = leading(l);
    unsigned at;
    if (!l->turned) {
        at = outer % 8 * span + outer / 8 * sbo;
        at += l->bits ? byte + 32 * l->step : byte / 16 * lbo + byte % 16;
    } else {
        const unsigned k = byte / 2, group = outer / 8, wide = 1u << l->bits;
        at = outer % 8 * 2 + group % wide * 16 + k % 8 * span;
        at += l->bits ? group / wide * lbo + k / 8 * sbo : group / wide * sbo + k / 8 * lbo;
    }
    return at ^ ((at >> 7 & ((1u << l->bits) - 1)) << 4);
}

static void place(uint8_t *shared, const struct layout *l, unsigned at, enum matrixref_kind kind,
                  uint32_t (*from)[32], unsigned outer) {
    const unsigned bytes = unit_bytes(kind);
    for (unsigned o = 0; o < outer; o++)
        for (unsigned k = 0; k < units(kind); k++)
            memcpy(shared + at + offset_of(l, o, k * bytes), &from[o][k], bytes);
}

static uint64_t descriptor(const struct layout *l, unsigned at) {
    static const uint64_t kinds[] = {0, 3, 2, 1};
    return (uint64_t)((at + 32 * l->step) >> 4) | (uint64_t)(leading(l) >> 4) << 16 |
           (uint64_t)(stride(l) >> 4) << 32 | kinds[l->bits] << 62;
}

static bool keeps(const struct form *f) {
    return f->keep == 1 || f->keep == 2;
}

static uint32_t wanted(const struct form *f, const struct matrices *m, unsigned row, unsigned col) {
    const uint32_t c = keeps(f) ? m->c[row][col] : 0;
    const struct matrixref_form form = {f->d, f->a, f->b, f->d, true};
    double x[64], y[64];
    int64_t whole = 0;
    for (unsigned k = 0; k < units(f->a); k++) {
        const uint32_t a = m->a[row][k], b = m->b[col][k];
        if (f->a == B1)
            whole += __builtin_popcount(a & b);
        else if (f->d == S32)
            whole += (int64_t)matrixref_value(f->a, a) * (int64_t)matrixref_value(f->b, b);
        else
            x[k] = f->sign_a * matrixref_value(f->a, a),
            y[k] = f->sign_b * matrixref_value(f->b, b);
    }
    if (f->d != S32) {
        const float sum = matrixref_sum(&form, matrixref_value(f->d, c), x, y, units(f->a));
        return (uint32_t)matrixref_bits(f->d, sum, sum);
    }
    whole += (int32_t)c;
    if (strstr(f->end, "satfinite"))
        whole = whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole;
    return (uint32_t)whole;
}

/* ---- a kernel of one wgmma ------------------------------------------------------------------- */

static char text[65536];

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...) {
    const size_t len = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + len, sizeof(text) - len, fmt, ap);
    va_end(ap);
}

#define HEAD                                                                                    \
    ".version 9.0\n.target sm_90a\n.address_size 64\n"                                          \
    ".visible .entry k(.param .u64 ks, .param .u64 ka, .param .u64 kd) {\n"                     \
    ".shared .align 1024 .b8 sh[49152];\n"                                                      \
    ".reg .b64 %at,%s,%da,%db;.reg .b32 %me,%sh,%n,%d<128>,%a<4>,%x;.reg .pred %more,%p,%no;\n" \
    "ld.param.u64 %s,[ks];mov.u32 %me,%tid.x;mov.u32 %sh,sh;mov.u32 %n,%me;\n"                  \
    "copy: mad.wide.u32 %at,%n,4,%s;ld.global.u32 %x,[%at];shl.b32 %a0,%n,2;\n"                 \
    "add.u32 %a0,%a0,%sh;st.shared.u32 [%a0],%x;add.u32 %n,%n,128;\n"                           \
    "setp.lt.u32 %more,%n,12288;@%more bra copy;bar.sync 0;setp.lt.u32 %no,%n,1;\n"

static unsigned sum_regs(const struct form *f) {
    return f->n / (f->d == F16 ? 4 : 2);
}

static void list(const char *name, unsigned count) {
    say("{");
    for (unsigned k = 0; k < count; k++)
        say("%s%%%s%u", k ? "," : "", name, k);
    say("}");
}

static void moves(const char *what, const char *name, unsigned count, const char *param) {
    say("ld.param.u64 %%at,[%s];mad.wide.u32 %%at,%%me,%u,%%at;\n", param, count * 4);
    for (unsigned k = 0; k < count; k++)
        if (what[0] == 'l')
            say("ld.global.u32 %%%s%u,[%%at+%u];\n", name, k, 4 * k);
        else
            say("st.global.u32 [%%at+%u],%%%s%u;\n", 4 * k, name, k);
}

static void product(const struct form *f) {
    const bool halves = f->a == F16 || f->a == BF16, words = f->d == S32;
    say("wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n%uk%u.%s ", f->n, f->k,
        f->end);
    list("d", sum_regs(f));
    say(",");
    if (f->given)
        list("a", 4);
    else
        say("%%da");
    say(",%%db,%s", f->keep > 1 ? "!%p" : "%p");
    if (!words) say(",%d,%d", f->sign_a, f->sign_b);
    if (halves && !f->given) say(",%d", f->la.turned);
    if (halves) say(",%d", f->lb.turned);
    say(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
}

static void write_kernel(const struct form *f) {
    strcpy(text, HEAD);
    say("mov.u64 %%da,%llu;mov.u64 %%db,%llu;setp.eq.u32 %%p,%%sh,%s;\n",
        (unsigned long long)descriptor(&f->la, A_AT), (unsigned long long)descriptor(&f->lb, B_AT),
        f->keep % 2 ? "%sh" : "1");
    moves("ld", "a", 4, "ka");
    moves("ld", "d", sum_regs(f), "kd");
    product(f);
    moves("st", "d", sum_regs(f), "kd");
    say("ret;\n}\n");
}

/* Returns the position of element `k` of a thread's sum. */
static uint16_t *half_of(uint32_t *regs, const struct form *f, unsigned thread, unsigned k,
                         unsigned *row, unsigned *col) {
    *row = thread / 32 * 16 + thread % 32 / 4 + k / 2 % 2 * 8;
    *col = k / 4 * 8 + thread % 4 * 2 + k % 2;
    return (uint16_t *)(regs + thread * sum_regs(f)) + k * (f->d == F16 ? 1 : 2);
}

static void give_registers(const struct form *f, const struct matrices *m, uint32_t *a,
                           uint32_t *d) {
    uint8_t rows[ROWS][32];
    unsigned row, col;
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned k = 0; k < units(f->a); k++)
            memcpy(&rows[r][k * unit_bytes(f->a)], &m->a[r][k], unit_bytes(f->a));
    for (unsigned t = 0; t < 128; t++) {
        for (unsigned r = 0; r < 4; r++)
            memcpy(&a[t * 4 + r],
                   &rows[t / 32 * 16 + t % 32 / 4 + r % 2 * 8][r / 2 * 16 + t % 4 * 4], 4);
        for (unsigned k = 0; k < f->n / 2; k++) {
            uint16_t *to = half_of(d, f, t, k, &row, &col);
            memcpy(to, &m->c[row][col], f->d == F16 ? 2 : 4);
        }
    }
}

static struct ptxrun *load(void) {
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    return r;
}

static int launch(struct ptxrun *r, void *shared, void *a, void *d) {
    return ptxrun_launch(r, "k", 1, 128, 3, (uint64_t)(uintptr_t)shared, (uint64_t)(uintptr_t)a,
                         (uint64_t)(uintptr_t)d);
}

static void check_form(const struct form *f) {
    static struct matrices m;
    unsigned row, col;
    write_kernel(f);
    struct ptxrun *r = load();
    uint8_t *shared = ptxrun_alloc(r, SHARED);
    uint32_t *a = ptxrun_alloc(r, (size_t)128 * 4 * 4),
             *d = ptxrun_alloc(r, (size_t)128 * 4 * sum_regs(f));
    fill(f, &m);
    for (unsigned k = 0; k < SHARED; k++)
        shared[k] = (uint8_t)matrixref_dice();
    place(shared, &f->la, A_AT, f->a, m.a, ROWS);
    place(shared, &f->lb, B_AT, f->b, m.b, f->n);
    give_registers(f, &m, a, d);
    cr_assert_eq(launch(r, shared, a, d), 0, "%s: %s", f->end, r->result.text);
    for (unsigned t = 0; t < 128; t++)
        for (unsigned k = 0; k < f->n / 2; k++) {
            uint32_t got = 0;
            memcpy(&got, half_of(d, f, t, k, &row, &col), f->d == F16 ? 2 : 4);
            cr_assert_eq(got, wanted(f, &m, row, col), "%s n %u: (%u, %u) is %x, not %x", f->end,
                         f->n, row, col, got, wanted(f, &m, row, col));
        }
    ptxrun_destroy(r);
}

Test(wgmma, products) {
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++)
            check_form(&forms[k]);
    }
}

/* ---- four warps ------------------------------------------------------------------------------ */

/* The first warp finishes early and overwrites data that the last warp, which is late, still has
 * to read. */
Test(wgmma, a_warp_waits_for_the_others) {
    strcpy(text, HEAD);
    say("mov.u64 %%da,%llu;mov.u64 %%db,%llu;mov.u32 %%n,0;\n",
        (unsigned long long)descriptor(&forms[0].la, A_AT),
        (unsigned long long)descriptor(&forms[0].lb, B_AT));
    say("setp.lt.u32 %%p,%%me,96;@%%p bra go;\n"
        "late: add.u32 %%n,%%n,1;setp.lt.u32 %%more,%%n,100000;@%%more bra late;\n"
        "go: mov.b32 %%d0,0;mov.b32 %%d1,0;mov.b32 %%d2,0;mov.b32 %%d3,0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
        "{%%d0,%%d1,%%d2,%%d3},%%da,%%db,%%no,1,1,0,0;"
        "\nwgmma.wait_group.sync.aligned 0;\n"
        "setp.ge.u32 %%p,%%me,32;@%%p bra end;\n"
        "mad.lo.u32 %%a0,%%me,16,%%sh;add.u32 %%a0,%%a0,%d;mov.b32 %%x,0;\n"
        "st.shared.v4.b32 [%%a0],{%%x,%%x,%%x,%%x};\nend:\n",
        B_AT);
    moves("st", "d", 4, "kd");
    say("ret;\n}\n");
    struct ptxrun *r = load();
    uint16_t *shared = ptxrun_alloc(r, SHARED);
    float *d = ptxrun_alloc(r, 128 * 16);
    for (unsigned k = 0; k < SHARED / 2; k++)
        shared[k] = 0x3c00; /* 1 */
    cr_assert_eq(launch(r, shared, shared, d), 0, "%s%s", r->why, r->result.text);
    for (unsigned k = 0; k < 512; k++)
        cr_assert_eq(d[k], 16, "%u: %g", k, (double)d[k]);
    ptxrun_destroy(r);
}

/* Exited threads are not waited for. */
Test(wgmma, a_group_may_be_smaller) {
    strcpy(text, HEAD);
    say("setp.ge.u32 %%p,%%me,64;@%%p bra end;wgmma.wait_group.sync.aligned 0;mov.b32 %%d0,7;\n");
    moves("st", "d", 1, "kd");
    say("end: ret;\n}\n");
    struct ptxrun *r = load();
    uint8_t *shared = ptxrun_alloc(r, SHARED);
    uint32_t *d = ptxrun_alloc(r, 512);
    cr_assert_eq(launch(r, shared, shared, d), 0, "%s", r->result.text);
    cr_assert(d[0] == 7 && d[63] == 7 && d[64] == 0);
    ptxrun_destroy(r);
}

/* ---- fuzz_soft's seeds
 * ------------------------------------------------------------------------ */

#define SEEDS "test/fuzz/corpus/soft/"

/* Launches k0 to k3 of a seed and expects these results. */
static void check_seed(const char *path, const int errs[4]) {
    char name[] = "k0";
    struct stat st;
    cr_assert(!stat(path, &st) && st.st_size % 16 >= 8 && st.st_size % 16 < 12,
              "%s: fuzz_soft takes four warps by its length", path);
    struct ptxrun *r = ptxrun_file(path);
    uint64_t at = (uint64_t)(uintptr_t)ptxrun_alloc(r, 4096);
    for (unsigned k = 0; k < 4; k++) {
        name[1] = (char)('0' + k);
        int err = ptxrun_launch(r, name, 1, 128, 2, at, at);
        cr_assert_eq(err, errs[k], "%s, %s: %s", path, name, r->result.text);
    }
    ptxrun_destroy(r);
}

Test(wgmma, seeds_of_the_fuzzer_multiply) {
    static const int good[4] = {0}, wrong[4] = {ERR_ILLEGAL_ADDRESS, ERR_ILLEGAL_INSTRUCTION,
                                                ERR_ILLEGAL_INSTRUCTION, 0};
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        check_seed(SEEDS "wgmma_rows.ptx", good);
        check_seed(SEEDS "wgmma_turned.ptx", good);
        check_seed(SEEDS "wgmma_wrong.ptx", wrong);
    }
}

/* ---- rejected code --------------------------------------------------------------------------- */

static void check_fault(uint64_t b, int err) {
    strcpy(text, HEAD);
    say("mov.u64 %%da,%d;mov.u64 %%db,%llu;wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
        "{%%d0,%%d1,%%d2,%%d3},%%da,%%db,%%no,1,1,0,0;ret;\n}\n",
        A_AT >> 4, (unsigned long long)b);
    struct ptxrun *r = load();
    uint8_t *shared = ptxrun_alloc(r, SHARED);
    cr_assert_eq(launch(r, shared, shared, shared), err, "%s", r->result.text);
    ptxrun_destroy(r);
}

Test(wgmma, descriptors_that_are_wrong) {
    check_fault(SHARED >> 4, ERR_ILLEGAL_ADDRESS);
    check_fault((SHARED - 64) >> 4, ERR_ILLEGAL_ADDRESS);
    check_fault(0x3fff | 0x3fffull << 16 | 0x3fffull << 32, ERR_ILLEGAL_ADDRESS);
    check_fault(1ull << 49 | 1ull << 62, ERR_ILLEGAL_INSTRUCTION);
}

/* Expects this reason for code that is invalid PTX, or valid and unsupported. */
static void says(const char *body, const char *why) {
    strcpy(text, HEAD);
    say("%s\nret;\n}\n", body);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    if (r->module) cr_assert_neq(launch(r, NULL, NULL, NULL), 0, "%s", body);
    cr_assert(strstr(r->why, why), "%s: %s", body, r->why);
    ptxrun_destroy(r);
}

#define D4 "{%d0,%d1,%d2,%d3}"

Test(wgmma, forms_that_are_none) {
    says("wgmma.fence;", ".sync is needed");
    says("wgmma.wait_group.sync.aligned;", "too few operands");
    says("wgmma.fence.wait_group.sync.aligned 0;", "the shape does not exist");
    says("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " D4 ",%da,%db,%x,0,%p,1,1,0,0;",
         "wgmma.mma_async.sp");
    says("wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 " D4 ",%da,%db,%p,1,1,0,0;",
         "the shape does not exist");
    says("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 " D4 ",%da,%db,%p,1,1,0,0;",
         "the shape does not exist");
    says("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 " D4 ",%da,%db,%p;",
         "the shape does not exist");
    says("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 " D4 ",%da,%db,%p,1,1,0,0;",
         "the shape does not exist");
    says("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4 ",%da,%db,1,1,1,0,0;",
         "operand 4");
    says("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4 ",%d0,%db,%p,1,1,0,0;", "width");
    says("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4 ",%da,%db,%p,2,1,0,0;",
         "operand 5");
    says("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " D4 ",%da,%db,%p,1,1,0,0;",
         "elements");
    says("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4 ",%da,%d0,%p,1,1,0,0;",
         "operand 3");
}
