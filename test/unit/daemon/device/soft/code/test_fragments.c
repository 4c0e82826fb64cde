/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices between memory and registers: ldmatrix, stmatrix, movmatrix, wmma, compared with plain
 * C; and kernels that use them wrongly.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/matrixref.h"
#include "test/lib/ptx/ptxrun.h"

static const char *const builds[] = {"base", "v3", "v4"};

static char text[16384];

/* A kernel k(p, q) whose body is `body`; %p and %q are its parameters, %lane and %sh the lane and
 * the shared array's address. */
static struct ptxrun *kernel(const char *body) {
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 kp, .param .u64 kq) {\n"
             ".shared .align 128 .b8 sh[8192];\n"
             ".reg .b64 %%p,%%q,%%at,%%wide<4>,%%da<9>;.reg .b32 %%lane,%%sh,%%row,%%x<40>;\n"
             ".reg .pred %%low;\n"
             "ld.param.u64 %%p,[kp];ld.param.u64 %%q,[kq];mov.u32 %%lane,%%tid.x;\n"
             "mov.u32 %%sh,sh;setp.lt.u32 %%low,%%lane,16;\n%s\nret;\n}\n",
             body);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    return r;
}

static int launch(struct ptxrun *r, uint32_t threads, void *p, void *q) {
    return ptxrun_launch(r, "k", 1, threads, 2, (uint64_t)(uintptr_t)p, (uint64_t)(uintptr_t)q);
}

/* ---- 8x8 matrices ---------------------------------------------------------------------------- */

/* Fills shared memory with 512 bytes of %p, and points %row to row `lane` of four matrices whose
 * rows lie 16 bytes apart, in reverse order. */
#define ROWS                                                                                  \
    "mad.wide.u32 %at,%lane,16,%p;ld.global.v4.b32 {%x0,%x1,%x2,%x3},[%at];\n"                \
    "shl.b32 %row,%lane,4;add.u32 %row,%row,%sh;st.shared.v4.b32 [%row],{%x0,%x1,%x2,%x3};\n" \
    "bar.warp.sync 0xffffffff;sub.u32 %row,31,%lane;shl.b32 %row,%row,4;add.u32 %row,%row,%sh;\n"

static void check_ldmatrix(unsigned count, bool trans, bool generic) {
    char body[1024] = ROWS;
    static const char *const lists[] = {"", "{%x4}", "{%x4,%x5}", "", "{%x4,%x5,%x6,%x7}"};
    if (generic) strcat(body, "cvt.u64.u32 %wide0,%row;cvta.shared.u64 %wide0,%wide0;");
    sprintf(body + strlen(body),
            "ldmatrix.sync.aligned.m8n8.x%u%s%s.b16 %s,[%s];\n"
            "mad.wide.u32 %%at,%%lane,16,%%q;st.global.v4.b32 [%%at],{%%x4,%%x5,%%x6,%%x7};",
            count, trans ? ".trans" : "", generic ? "" : ".shared", lists[count],
            generic ? "%wide0" : "%row");
    struct ptxrun *r = kernel(body);
    uint16_t *in = ptxrun_alloc(r, 512);
    uint32_t *out = ptxrun_alloc(r, 512);
    for (int k = 0; k < 256; k++)
        in[k] = (uint16_t)matrixref_dice();
    cr_assert_eq(launch(r, 32, in, out), 0, "%s", r->result.text);
    for (unsigned l = 0; l < 32; l++)
        for (unsigned j = 0; j < count; j++)
            for (unsigned half = 0; half < 2; half++) {
                unsigned row = trans ? l % 4 * 2 + half : l / 4;
                unsigned col = trans ? l / 4 : l % 4 * 2 + half;
                uint16_t want = in[(31 - (8 * j + row)) * 8 + col];
                cr_assert_eq(out[l * 4 + j] >> 16 * half & 0xffff, want, "x%u %d lane %u", count,
                             trans, l);
            }
    ptxrun_destroy(r);
}

Test(fragments, ldmatrix) {
    for (unsigned count = 1; count <= 4; count *= 2)
        for (int k = 0; k < 4; k++)
            check_ldmatrix(count, k & 1, k & 2);
}

static void check_stmatrix(unsigned count, bool trans) {
    char body[1024] = ROWS;
    static const char *const lists[] = {"", "{%x0}", "{%x0,%x1}", "", "{%x0,%x1,%x2,%x3}"};
    sprintf(body + strlen(body),
            "stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%row],%s;bar.warp.sync -1;\n"
            "ld.shared.v4.b32 {%%x4,%%x5,%%x6,%%x7},[%%row];mad.wide.u32 %%at,%%lane,16,%%q;"
            "st.global.v4.b32 [%%at],{%%x4,%%x5,%%x6,%%x7};",
            count, trans ? ".trans" : "", lists[count]);
    struct ptxrun *r = kernel(body);
    uint32_t *in = ptxrun_alloc(r, 512);
    uint16_t *out = ptxrun_alloc(r, 512); /* the lane's row */
    for (int k = 0; k < 128; k++)
        in[k] = (uint32_t)matrixref_dice();
    cr_assert_eq(launch(r, 32, in, out), 0, "%s", r->result.text);
    for (unsigned row = 0; row < 8 * count; row++)
        for (unsigned col = 0; col < 8; col++) {
            unsigned y = trans ? col : row % 8, x = trans ? row % 8 : col;
            uint32_t word = in[(y * 4 + x / 2) * 4 + row / 8];
            cr_assert_eq(out[row * 8 + col], word >> x % 2 * 16 & 0xffff, "x%u %d row %u col %u",
                         count, trans, row, col);
        }
    const uint16_t *untouched = (const uint16_t *)in;
    for (unsigned row = 8 * count; row < 32; row++)
        for (unsigned col = 0; col < 8; col++)
            cr_assert_eq(out[row * 8 + col], untouched[(31 - row) * 8 + col]);
    ptxrun_destroy(r);
}

Test(fragments, stmatrix) {
    for (unsigned count = 1; count <= 4; count *= 2)
        for (int trans = 0; trans < 2; trans++)
            check_stmatrix(count, trans);
}

/* ---- matrices of bytes ------------------------------------------------------------------------
 */

/* Element `col` of a row of 16 elements of `bits` each. */
static unsigned in_row(const unsigned char *row, unsigned bits, unsigned col) {
    unsigned v = 0;
    for (unsigned k = 0; k < bits; k++)
        v |= (row[(col * bits + k) / 8] >> (col * bits + k) % 8 & 1u) << k;
    return v;
}

static void random_bytes(void *to) {
    for (unsigned k = 0; k < 512; k++)
        ((unsigned char *)to)[k] = (unsigned char)matrixref_dice();
}

static void check_bytes(const char *form, unsigned bits, unsigned regs, bool turned) {
    char body[1024] = ROWS;
    static const char *const lists[] = {"", "{%x4}", "{%x4,%x5}", "", "{%x4,%x5,%x6,%x7}"};
    sprintf(body + strlen(body),
            "ldmatrix.sync.aligned.%s %s,[%%row];\n"
            "mad.wide.u32 %%at,%%lane,16,%%q;st.global.v4.b32 [%%at],{%%x4,%%x5,%%x6,%%x7};",
            form, lists[regs]);
    struct ptxrun *r = kernel(body);
    unsigned char(*in)[16] = ptxrun_alloc(r, 512), (*out)[4][4] = ptxrun_alloc(r, 512);
    random_bytes(in);
    cr_assert_eq(launch(r, 32, in, out), 0, "%s", r->result.text);
    for (unsigned l = 0; l < 32; l++)
        for (unsigned k = 0; k < 4 * regs; k++) {
            unsigned reg = k / 4, byte = k % 4, row = reg * 8 + l / 4, col = l % 4 * 4 + byte;
            if (turned) {
                row = reg / 2 * 16 + l % 4 * 4 + byte;
                col = l / 4 + reg % 2 * 8;
            }
            cr_assert_eq(out[l][reg][byte], in_row(in[31 - row], bits, col), "%s lane %u byte %u",
                         form, l, k);
        }
    ptxrun_destroy(r);
}

Test(fragments, ldmatrix_of_bytes) {
    check_bytes("m16n16.x1.trans.shared.b8", 8, 2, true);
    check_bytes("m16n16.x2.trans.shared::cta.b8", 8, 4, true);
    check_bytes("m16n16.x1.trans.shared.b8x16.b6x16_p32", 6, 2, true);
    check_bytes("m16n16.x2.trans.shared.b8x16.b6x16_p32", 6, 4, true);
    check_bytes("m16n16.x2.trans.shared.b8x16.b4x16_p64", 4, 4, true);
    check_bytes("m8n16.x1.shared.b8x16.b6x16_p32", 6, 1, false);
    check_bytes("m8n16.x2.shared.b8x16.b4x16_p64", 4, 2, false);
    check_bytes("m8n16.x4.shared.b8x16.b4x16_p64", 4, 4, false);
    check_bytes("m8n16.x4.shared.b8x16.b6x16_p32", 6, 4, false);
}

/* In the layout of a product's sum: a column of it is a row in memory. */
static void check_columns(unsigned count) {
    char body[1024] = ROWS;
    static const char *const lists[] = {"", "{%x0}", "{%x0,%x1}", "", "{%x0,%x1,%x2,%x3}"};
    sprintf(body + strlen(body),
            "stmatrix.sync.aligned.m16n8.x%u.trans.shared.b8 [%%row],%s;bar.warp.sync -1;\n"
            "ld.shared.v4.b32 {%%x4,%%x5,%%x6,%%x7},[%%row];mad.wide.u32 %%at,%%lane,16,%%q;"
            "st.global.v4.b32 [%%at],{%%x4,%%x5,%%x6,%%x7};",
            count, lists[count]);
    struct ptxrun *r = kernel(body);
    unsigned char(*in)[4][4] = ptxrun_alloc(r, 512), (*out)[16] = ptxrun_alloc(r, 512);
    random_bytes(in);
    cr_assert_eq(launch(r, 32, in, out), 0, "%s", r->result.text);
    for (unsigned l = 0; l < 32; l++)
        for (unsigned k = 0; k < 4 * count; k++) {
            unsigned reg = k / 4, byte = k % 4, row = l / 4 + byte / 2 * 8,
                     col = l % 4 * 2 + byte % 2;
            cr_assert_eq(out[8 * reg + col][row], in[l][reg][byte], "x%u lane %u byte %u", count, l,
                         k);
        }
    ptxrun_destroy(r);
}

Test(fragments, stmatrix_of_bytes) {
    for (unsigned count = 1; count <= 4; count *= 2)
        check_columns(count);
}

Test(fragments, movmatrix) {
    struct ptxrun *r = kernel("mad.wide.u32 %at,%lane,4,%p;ld.global.b32 %x0,[%at];\n"
                              "movmatrix.sync.aligned.m8n8.trans.b16 %x1,%x0;\n"
                              "mad.wide.u32 %at,%lane,4,%q;st.global.b32 [%at],%x1;");
    uint16_t *in = ptxrun_alloc(r, 128), *out = ptxrun_alloc(r, 128);
    for (int k = 0; k < 64; k++)
        in[k] = (uint16_t)matrixref_dice();
    cr_assert_eq(launch(r, 32, in, out), 0, "%s", r->result.text);
    for (int k = 0; k < 64; k++)
        cr_assert_eq(out[k], in[k % 8 * 8 + k / 8]);
    ptxrun_destroy(r);
}

/* ---- wmma ------------------------------------------------------------------------------------ */

struct form {
    unsigned m, n, k;
    enum matrixref_kind a, c, d;
    bool a_col, b_col, c_col, d_col, shared, satfinite;
    const char *op, *round; /* `op` for b1, `round` for f64 */
};

static unsigned regs_of(enum matrixref_kind kind, unsigned elements) {
    if (kind == F64) return elements / 32;
    return elements * matrixref_widths[kind] / 1024;
}

static void list(char *out, const char *name, unsigned first, unsigned count) {
    strcat(out, "{");
    for (unsigned k = 0; k < count; k++)
        sprintf(out + strlen(out), "%s%%%s%u", k ? "," : "", name, first + k);
    strcat(out, "}");
}

static const char *layout(bool col) {
    return col ? "col" : "row";
}

/* Offsets of the operands in the buffer, and leading dimensions, in elements. */
enum { AT_A = 0, AT_B = 4096, AT_C = 8192, AT_D = 16384, BUFFER = 24576 };
enum { PITCH_MORE = 32 }; /* elements after each row; whole words for the smallest elements */

static unsigned pitch(bool col, unsigned rows, unsigned cols) {
    return (col ? rows : cols) + PITCH_MORE;
}

static void load(char *t, const struct form *f, char part, unsigned first, unsigned count) {
    bool a = part == 'a', c = part == 'c', col = c ? f->c_col : a ? f->a_col : f->b_col;
    unsigned rows = part == 'b' ? f->k : f->m, cols = a ? f->k : f->n;
    sprintf(t + strlen(t), "wmma.load.%c.sync.aligned.%s.m%un%uk%u%s.%s ", part, layout(col), f->m,
            f->n, f->k,
            f->shared && !c ? ".shared"
            : c             ? ""
                            : ".global",
            matrixref_names[c ? f->c : f->a]);
    list(t, f->a == F64 ? "da" : "x", first, count);
    sprintf(t + strlen(t), ",[%s+%d],%u;\n", f->shared && !c ? "%sh" : "%p",
            a   ? AT_A
            : c ? AT_C
                : AT_B,
            pitch(col, rows, cols));
}

static void multiply(char *t, const struct form *f, unsigned a, unsigned b, unsigned c) {
    unsigned d = regs_of(f->d, f->m * f->n), count_c = regs_of(f->c, f->m * f->n);
    const char *type = matrixref_names[f->a], *name = f->a == F64 ? "da" : "x";
    sprintf(t + strlen(t), "wmma.mma%s.sync.aligned.%s.%s.m%un%uk%u%s.%s", f->op ? f->op : "",
            layout(f->a_col), layout(f->b_col), f->m, f->n, f->k, f->round ? f->round : "",
            matrixref_names[f->d]);
    if (f->a != F16) sprintf(t + strlen(t), ".%s.%s", type, type);
    sprintf(t + strlen(t), ".%s%s ", matrixref_names[f->c], f->satfinite ? ".satfinite" : "");
    list(t, name, a + b, d > count_c ? d : count_c); /* overwrites c and the registers after it */
    if (d < count_c) {
        *strrchr(t, '{') = 0;
        list(t, name, a + b, d);
    }
    strcat(t, ",");
    list(t, name, 0, a);
    strcat(t, ",");
    list(t, name, a, b);
    strcat(t, ",");
    list(t, name, a + b, c);
    sprintf(t + strlen(t), ";\nwmma.store.d.sync.aligned.%s.m%un%uk%u.%s [%%p+%d],",
            layout(f->d_col), f->m, f->n, f->k, matrixref_names[f->d], AT_D);
    list(t, name, a + b, d);
    sprintf(t + strlen(t), ",%u;\n", pitch(f->d_col, f->m, f->n));
}

static struct ptxrun *wmma_kernel(const struct form *f) {
    static char body[8192];
    unsigned a = f->a == F16 ? 8 : regs_of(f->a, f->m * f->k);
    unsigned b = f->a == F16 ? 8 : regs_of(f->a, f->n * f->k), c = regs_of(f->c, f->m * f->n);
    body[0] = 0;
    if (f->shared) /* the first 8 KiB of p */
        strcat(body, "mov.u32 %x0,%lane;\ncopy: mad.wide.u32 %at,%x0,16,%p;\n"
                     "ld.global.v4.b32 {%x1,%x2,%x3,%x4},[%at];shl.b32 %x5,%x0,4;\n"
                     "add.u32 %x5,%x5,%sh;st.shared.v4.b32 [%x5],{%x1,%x2,%x3,%x4};\n"
                     "add.u32 %x0,%x0,32;setp.lt.u32 %low,%x0,512;@%low bra copy;\n");
    load(body, f, 'a', 0, a);
    load(body, f, 'b', a, b);
    load(body, f, 'c', a + b, c);
    multiply(body, f, a, b, c);
    return kernel(body);
}

/* Element `k` of a packed array. */
static uint64_t element(const unsigned char *at, enum matrixref_kind kind, unsigned k) {
    unsigned width = matrixref_widths[kind];
    uint64_t v = 0;
    memcpy(&v, at + (uint64_t)k * width / 8, width < 8 ? 1 : width / 8);
    return width < 8 ? v >> k * width % 8 & ((1u << width) - 1) : v;
}

static uint64_t at(const unsigned char *p, enum matrixref_kind kind, bool col, unsigned rows,
                   unsigned cols, unsigned row, unsigned c) {
    unsigned ld = pitch(col, rows, cols);
    return element(p, kind, col ? c * ld + row : row * ld + c);
}

/* Sums of floats are computed at once; for tf32 over four products. */
static uint64_t float_sum(const struct form *f, const unsigned char *p, unsigned row,
                          unsigned col) {
    const struct matrixref_form sum = {f->d, f->a, f->a, f->c, false};
    const unsigned step = f->a == TF32 ? 4 : f->k;
    double x[16], y[16];
    float v = (float)matrixref_value(f->c, at(p + AT_C, f->c, f->c_col, f->m, f->n, row, col));
    for (unsigned k = 0; k < f->k; k++) {
        x[k] = matrixref_value(f->a, at(p + AT_A, f->a, f->a_col, f->m, f->k, row, k));
        y[k] = matrixref_value(f->a, at(p + AT_B, f->a, f->b_col, f->k, f->n, k, col));
    }
    for (unsigned k = 0; k < f->k; k += step)
        v = matrixref_sum(&sum, (double)v, x + k, y + k, step);
    return matrixref_bits(f->d, 0, v);
}

static uint64_t expected(const struct form *f, const unsigned char *p, unsigned row, unsigned col) {
    if (f->a == F16 || f->a == BF16 || f->a == TF32) return float_sum(f, p, row, col);
    uint64_t c = at(p + AT_C, f->c, f->c_col, f->m, f->n, row, col);
    double wide = matrixref_value(f->c, c);
    int64_t sum = (int32_t)c;
    for (unsigned k = 0; k < f->k; k++) {
        uint64_t xs = at(p + AT_A, f->a, f->a_col, f->m, f->k, row, k);
        uint64_t ys = at(p + AT_B, f->a, f->b_col, f->k, f->n, k, col);
        double x = matrixref_value(f->a, xs), y = matrixref_value(f->a, ys);
        wide = fma(x, y, wide);
        if (f->d == S32)
            sum += f->op ? (int64_t)(strstr(f->op, "and") ? xs & ys : xs ^ ys)
                         : (int64_t)x * (int64_t)y;
    }
    if (f->satfinite) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return f->d == S32 ? (uint32_t)sum : matrixref_bits(f->d, wide, 0);
}

static void fill(const struct form *f, unsigned char *p) {
    for (unsigned k = 0; k < AT_D; k++)
        p[k] = (unsigned char)matrixref_dice();
    unsigned size = matrixref_widths[f->a] / 8;
    for (unsigned k = 0; size > 1 && k < AT_C; k += size) {
        uint64_t v = matrixref_random(f->a, true);
        memcpy(p + k, &v, size);
    }
    size = matrixref_widths[f->c] / 8;
    for (unsigned k = AT_C; f->c != S32 && k < AT_D; k += size) {
        uint64_t v = matrixref_random(f->c, true);
        memcpy(p + k, &v, size);
    }
}

static void check_wmma(const struct form *f) {
    struct ptxrun *r = wmma_kernel(f);
    unsigned char *p = ptxrun_alloc(r, BUFFER);
    fill(f, p);
    cr_assert_eq(launch(r, 32, p, p), 0, "%s\n%s", r->result.text, text);
    for (unsigned row = 0; row < f->m; row++)
        for (unsigned col = 0; col < f->n; col++) {
            uint64_t got = at(p + AT_D, f->d, f->d_col, f->m, f->n, row, col);
            uint64_t want = expected(f, p, row, col);
            cr_assert_eq(got, want, "(%u,%u): %llx, not %llx of\n%s", row, col,
                         (unsigned long long)got, (unsigned long long)want, text);
        }
    /* gaps between the rows */
    for (unsigned k = 0; k < PITCH_MORE * matrixref_widths[f->d] / 8; k++)
        cr_assert_eq(p[AT_D + (f->d_col ? f->m : f->n) * matrixref_widths[f->d] / 8 + k], 0);
    ptxrun_destroy(r);
}

static void check_layouts(struct form f, bool any) {
    for (unsigned k = 0; k < 64; k++) {
        f.a_col = any && k & 1;
        f.b_col = !any || k & 2;
        f.c_col = k & 4;
        f.d_col = k & 8;
        f.shared = k & 16;
        f.satfinite = f.d == S32 && !f.op && k & 32;
        if (!any && k & 3) continue;
        if (k & 32 && !f.satfinite) continue;
        check_wmma(&f);
    }
}

#define FORM(rows, cols, inner, factor, sum, result) \
    ((struct form){.m = rows, .n = cols, .k = inner, .a = factor, .c = sum, .d = result})
Test(fragments, wmma, .timeout = 600) {
    static const unsigned shapes[][3] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
    for (unsigned b = 0; b < 3; b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        for (unsigned s = 0; s < 3; s++) {
            unsigned m = shapes[s][0], n = shapes[s][1];
            check_layouts(FORM(m, n, 16, F16, F32, F32), true);
            check_layouts(FORM(m, n, 16, F16, F16, F16), true);
            check_layouts(FORM(m, n, 16, F16, F32, F16), true);
            check_layouts(FORM(m, n, 16, F16, F16, F32), true);
            check_layouts(FORM(m, n, 16, BF16, F32, F32), true);
            check_layouts(FORM(m, n, 16, S8, S32, S32), true);
            check_layouts(FORM(m, n, 16, U8, S32, S32), true);
        }
        check_layouts(FORM(16, 16, 8, TF32, F32, F32), true);
        check_layouts(FORM(8, 8, 4, F64, F64, F64), true);
        check_layouts((struct form){8, 8, 4, F64, F64, F64, .round = ".rn"}, true);
        check_layouts(FORM(8, 8, 32, S4, S32, S32), false);
        check_layouts(FORM(8, 8, 32, U4, S32, S32), false);
        check_layouts((struct form){8, 8, 128, B1, S32, S32, .op = ".xor.popc"}, false);
        check_layouts((struct form){8, 8, 128, B1, S32, S32, .op = ".and.popc"}, false);
    }
}

/* Directed rounding: 1/3 * 3 summed to 1 from below and from above. */
static void check_rounds(void) {
    static const char *const rounds[] = {".rm", ".rp", ".rz", ".rn"};
    double sums[4];
    for (int k = 0; k < 4; k++) {
        struct form f = {8, 8, 4, F64, F64, F64, .b_col = true, .round = rounds[k]};
        struct ptxrun *r = wmma_kernel(&f);
        double *p = ptxrun_alloc(r, BUFFER);
        for (int e = 0; e < AT_C / 8; e++)
            p[e] = 0.1;
        cr_assert_eq(launch(r, 32, p, p), 0);
        sums[k] = p[AT_D / 8];
        ptxrun_destroy(r);
    }
    cr_assert_lt(sums[0], sums[1]);
    cr_assert_eq(sums[0], sums[2]);
    cr_assert(sums[3] == sums[0] || sums[3] == sums[1]);
}

Test(fragments, wmma_rounds_as_told) {
    for (unsigned b = 0; b < 3; b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        check_rounds();
    }
}

/* The fragments that wmma loads are those that mma.m16n8k16 reads, first column of blocks first. */
Test(fragments, wmma_loads_as_mma_reads) {
    struct ptxrun *r =
        kernel("wmma.load.a.sync.aligned.row.m16n16k16.f16 "
               "{%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7},[%p];\n"
               "mad.wide.u32 %at,%lane,32,%q;st.global.v4.b32 [%at],{%x0,%x1,%x2,%x3};\n"
               "st.global.v4.b32 [%at+16],{%x4,%x5,%x6,%x7};");
    uint16_t *in = ptxrun_alloc(r, 512), *out = ptxrun_alloc(r, 1024);
    for (int k = 0; k < 256; k++)
        in[k] = (uint16_t)k;
    cr_assert_eq(launch(r, 32, in, out), 0, "%s", r->result.text);
    for (unsigned l = 0; l < 32; l++)
        for (unsigned i = 0; i < 16; i++) {
            unsigned e = i % 8, row = e < 2 || (e >= 4 && e < 6) ? l / 4 : l / 4 + 8;
            unsigned col = l % 4 * 2 + (e & 1) + (e >= 4 ? 8 : 0);
            cr_assert_eq(out[l * 16 + i], row * 16 + col, "lane %u element %u", l, i);
        }
    ptxrun_destroy(r);
}

/* ---- lanes that come late, or not at all ------------------------------------------------------
 */

#define TRANSPOSE "movmatrix.sync.aligned.m8n8.trans.b16 %x1,%lane;\n"

Test(fragments, diverged_lanes_meet) {
    struct ptxrun *r =
        kernel("mov.u32 %x2,0;@%low bra on;\nspin: add.u32 %x2,%x2,1;setp.lt.u32 %low,%x2,9;\n"
               "@%low bra spin;\nmad.wide.u32 %at,%lane,4,%q;st.global.b32 [%at],%x2;\n"
               "on: " TRANSPOSE "mad.wide.u32 %at,%lane,4,%p;st.global.b32 [%at],%x1;");
    uint32_t *out = ptxrun_alloc(r, 128), *other = ptxrun_alloc(r, 128);
    cr_assert_eq(launch(r, 32, out, other), 0, "%s", r->result.text);
    for (uint32_t l = 0; l < 32; l++) /* the upper halves of the elements are 0 */
        cr_assert_eq(out[l], l / 4 % 2 ? 0 : (l % 4 * 8 + l / 8) | (l % 4 * 8 + l / 8 + 4) << 16);
    ptxrun_destroy(r);
}

/* turn(v, at, deep) calls itself `deep` times, then modifies v and adds the matrix at `at`; on
 * return each call adds its own v. */
static const char calls[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".func (.param .b32 r) turn(.param .b32 v, .param .b32 at, .param .b32 deep) {\n"
    ".reg .b32 %v,%at,%d,%r,%m;.reg .pred %p;\n"
    "ld.param.b32 %v,[v];ld.param.b32 %at,[at];ld.param.b32 %d,[deep];\n"
    "setp.ne.u32 %p,%d,0;@!%p bra meet;\nsub.u32 %d,%d,1;\n"
    "{ .param .b32 w;.param .b32 a;.param .b32 e;.param .b32 o;st.param.b32 [w],%v;\n"
    "st.param.b32 [a],%at;st.param.b32 [e],%d;call (o),turn,(w,a,e);ld.param.b32 %r,[o]; }\n"
    "add.u32 %r,%r,%v;bra out;\n"
    "meet: movmatrix.sync.aligned.m8n8.trans.b16 %r,%v;\n"
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%m},[%at];add.u32 %r,%r,%m;\n"
    "out: st.param.b32 [r],%r;ret;\n}\n"
    ".visible .entry k(.param .u64 kp, .param .u64 kq) {\n"
    ".shared .align 16 .b8 sh[128];.reg .b64 %p;.reg .b32 %l,%at,%d,%r,%s;\n"
    "ld.param.u64 %p,[kp];mov.u32 %l,%tid.x;mov.u32 %at,sh;shl.b32 %r,%l,2;\n"
    "add.u32 %r,%r,%at;mul.lo.u32 %s,%l,0x30007;st.shared.b32 [%r],%s;bar.warp.sync -1;\n"
    "and.b32 %r,%l,7;shl.b32 %r,%r,4;add.u32 %at,%at,%r;and.b32 %d,%l,3;\n"
    "{ .param .b32 w;.param .b32 a;.param .b32 e;.param .b32 o;st.param.b32 [w],%l;\n"
    "st.param.b32 [a],%at;st.param.b32 [e],%d;call (o),turn,(w,a,e);ld.param.b32 %r,[o]; }\n"
    "mad.wide.u32 %p,%l,4,%p;st.global.b32 [%p],%r;ret;\n}\n";

/* All lanes meet in one instruction of a function that they entered by different calls, each
 * with its own registers; the registers of the outer calls are unchanged. */
Test(fragments, lanes_of_several_calls_meet) {
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        struct ptxrun *r = ptxrun_create(calls, strlen(calls), 1);
        cr_assert(r->module, "%s", r->why);
        uint32_t *out = ptxrun_alloc(r, 128);
        cr_assert_eq(launch(r, 32, out, out), 0, "%s", r->result.text);
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t turned = l / 4 % 2 ? 0 : (l % 4 * 8 + l / 8) | (l % 4 * 8 + l / 8 + 4) << 16;
            cr_expect_eq(out[l], turned + l * 0x30007 + l % 4 * l, "lane %u: %x", l, out[l]);
        }
        ptxrun_destroy(r);
    }
}

static void faults(const char *body, uint32_t threads, int err, const char *words) {
    struct ptxrun *r = kernel(body);
    void *p = ptxrun_alloc(r, 512);
    int got = launch(r, threads, p, p);
    cr_assert_eq(got, err, "%d %s of\n%s", got, r->result.text, text);
    cr_assert(strstr(r->result.text, words), "%s", r->result.text);
    ptxrun_destroy(r);
}

Test(fragments, absent_lanes_are_a_fault) {
    static const char words[] = "not all lanes of the warp take part in the operation";
    faults(TRANSPOSE, 16, ERR_ILLEGAL_INSTRUCTION, words);
    faults(TRANSPOSE, 40, ERR_ILLEGAL_INSTRUCTION, words);
    faults("@%low bra out;" TRANSPOSE "out:", 32, ERR_ILLEGAL_INSTRUCTION, words);
    faults("@%low exit;" TRANSPOSE, 32, ERR_ILLEGAL_INSTRUCTION, words);
    faults("@%low bra a;" TRANSPOSE "bra out;a:" TRANSPOSE "out:", 32, ERR_ILLEGAL_INSTRUCTION,
           words);
    faults("@%low " TRANSPOSE, 32, ERR_ILLEGAL_INSTRUCTION, words);
}

Test(fragments, bad_addresses_are_a_fault) {
    static const char *const outside = "outside the block's shared memory";
    faults("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x0},[sh+8];", 32, ERR_MISALIGNED, "");
    faults("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%x0,%x1,%x2,%x3},[sh+8192];", 32,
           ERR_ILLEGAL_ADDRESS, outside);
    faults("ldmatrix.sync.aligned.m8n8.x1.b16 {%x0},[%p];", 32, ERR_ILLEGAL_ADDRESS, outside);
    faults("ldmatrix.sync.aligned.m8n8.x1.b16 {%x0},[64];", 32, ERR_ILLEGAL_ADDRESS, "");
    faults("stmatrix.sync.aligned.m8n8.x2.b16 [%p],{%x0,%x1};", 32, ERR_ILLEGAL_ADDRESS, outside);
    faults("mad.lo.u32 %row,%lane,4096,%sh;\n"
           "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row],{%x0};",
           32, ERR_ILLEGAL_ADDRESS, outside);
    faults("add.u32 %row,%sh,8192;ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x0},[%row];", 32,
           ERR_ILLEGAL_ADDRESS, outside);
#define LOAD_A(address) \
    "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7}," address ";"
    faults(LOAD_A("[%p+2]"), 32, ERR_ILLEGAL_ADDRESS, "");
    faults(LOAD_A("[%p+1]"), 32, ERR_MISALIGNED, "");
    faults(LOAD_A("[%p],17"), 32, ERR_ILLEGAL_ADDRESS, "");
    faults(LOAD_A("[%p],-1"), 32, ERR_ILLEGAL_ADDRESS, "");
    faults("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
           "{%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7},[sh+8192],16;",
           32, ERR_ILLEGAL_ADDRESS, outside);
    faults("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
           "{%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7},[sh+1],16;",
           32, ERR_MISALIGNED, "");
    faults("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%p],{%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7};",
           32, ERR_ILLEGAL_ADDRESS, "");
}

/* Lanes beyond the matrices' count need no valid address. */
Test(fragments, addresses_not_asked_for_may_be_bad) {
    struct ptxrun *r = kernel("setp.lt.u32 %low,%lane,8;selp.b32 %row,%sh,-1,%low;\n"
                              "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x0},[%row];");
    void *p = ptxrun_alloc(r, 64);
    cr_assert_eq(launch(r, 32, p, p), 0, "%s", r->result.text);
    ptxrun_destroy(r);
}

/* Each of 16 rows reads 32 bytes of global memory: 16 sectors; half of them when rows share a
 * sector. */
Test(fragments, sectors_are_counted) {
    struct ptxrun *r = kernel(LOAD_A("[%p]"));
    unsigned char *p = ptxrun_alloc(r, 1024);
    p += -(uintptr_t)p & 31;
    cr_assert_eq(launch(r, 32, p, p), 0);
    cr_assert_eq(r->result.memory_bytes, 16 * 32);
    ptxrun_destroy(r);
}
