/* SPDX-License-Identifier: Apache-2.0
 *
 * mma in every shape and type, compared with products computed here (matrixplace.h has the
 * positions of a fragment's elements). The kernels are generated as text and run on every build of
 * the handlers.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/matrixplace.h"
#include "test/lib/ptx/matrixref.h"
#include "test/lib/ptx/ptxrun.h"

/* ---- forms ----------------------------------------------------------------------------------- */

struct form {
    const char *opcode;
    unsigned m, n, k;
    enum matrixref_kind d, a, b, c;
    struct spot (*at_a)(unsigned, unsigned), (*at_b)(unsigned, unsigned);
    struct spot (*at_c)(unsigned, unsigned), (*at_d)(unsigned, unsigned);
    /* sparse: number of lanes of a group that hold metadata; selector: which half of them */
    unsigned sparse, selector;
    unsigned scales, byte_a, lane_a, byte_b, lane_b;
};

#define M16(k, layout, d, a, b, c, end, at_a, at_b)                                                \
    {                                                                                              \
        "mma.sync.aligned.m16n8k" #k "." layout end, 16, 8, k, d, a, b, c, at_a, at_b, c_16, c_16, \
            0, 0, 0, 0, 0, 0, 0                                                                    \
    }
#define M8(k, layout, d, a, b, c, end, at_a, at_b)                                                \
    {                                                                                             \
        "mma.sync.aligned.m8n8k" #k "." layout end, 8, 8, k, d, a, b, c, at_a, at_b, c_8, c_8, 0, \
            0, 0, 0, 0, 0, 0                                                                      \
    }
/* a has the layout of a form with half the k. */
#define SPARSE(k, d, a, b, c, end, at_a, at_b, lanes, selector)                                 \
    {                                                                                           \
        "mma.sp::ordered_metadata.sync.aligned.m16n8k" #k ".row.col" end, 16, 8, k, d, a, b, c, \
            at_a, at_b, c_16, c_16, lanes, selector, 0, 0, 0, 0, 0                              \
    }
#define SCALED(k, kind, a, b, end, at_a, at_b, scales, byte_a, lane_a, byte_b, lane_b)            \
    {                                                                                             \
        "mma.sync.aligned.kind::" kind "m16n8k" #k ".row.col.f32." end, 16, 8, k, F32, a, b, F32, \
            at_a, at_b, c_16, c_16, 0, 0, scales, byte_a, lane_a, byte_b, lane_b                  \
    }
/* Sparse and scaled. */
#define SPARSE_SCALED(k, kind, a, b, end, at_a, at_b, scales, byte_a, lane_a, byte_b, lane_b)    \
    {                                                                                            \
        "mma.sp::ordered_metadata.sync.aligned.m16n8k" #k ".row.col.kind::" kind "f32." end, 16, \
            8, k, F32, a, b, F32, at_a, at_b, c_16, c_16, 4, 0, scales, byte_a, lane_a, byte_b,  \
            lane_b                                                                               \
    }
#define QUADS(al, bl, d, c, dt, ct, at_c, at_d)                                                \
    {                                                                                          \
        "mma.sync.aligned.m8n8k4." #al "." #bl "." dt ".f16.f16." ct, 8, 8, 4, d, F16, F16, c, \
            quad_a_##al, quad_b_##bl, at_c, at_d, 0, 0, 0, 0, 0, 0, 0                          \
    }

static const struct form forms[] = {
    M16(8, "row.col", F32, F16, F16, F32, ".f32.f16.f16.f32", a_f16_8, b_f16_8),
    M16(8, "row.col", F16, F16, F16, F16, ".f16.f16.f16.f16", a_f16_8, b_f16_8),
    M16(16, "row.col", F32, F16, F16, F32, ".f32.f16.f16.f32", a_f16_16, b_f16_16),
    M16(16, "row.col", F16, F16, F16, F16, ".f16.f16.f16.f16", a_f16_16, b_f16_16),
    M16(8, "row.col", F32, BF16, BF16, F32, ".f32.bf16.bf16.f32", a_f16_8, b_f16_8),
    M16(16, "row.col", F32, BF16, BF16, F32, ".f32.bf16.bf16.f32", a_f16_16, b_f16_16),
    M16(4, "row.col", F32, TF32, TF32, F32, ".f32.tf32.tf32.f32", a_tf32_4, b_tf32_4),
    M16(8, "row.col", F32, TF32, TF32, F32, ".f32.tf32.tf32.f32", a_tf32_8, b_tf32_8),
    M8(4, "row.col", F64, F64, F64, F64, ".f64.f64.f64.f64", a_f64_8x4, b_tf32_4),
    M16(4, "row.col", F64, F64, F64, F64, ".f64.f64.f64.f64", a_tf32_4, b_tf32_4),
    M16(8, "row.col", F64, F64, F64, F64, ".f64.f64.f64.f64", a_tf32_8, b_tf32_8),
    M16(16, "row.col", F64, F64, F64, F64, ".f64.f64.f64.f64", a_f64_16, b_f64_16),
    M16(16, "row.col", F32, E4M3, E5M2, F32, ".f32.e4m3.e5m2.f32", a_s8_16x16, b_s8_16),
    M16(16, "row.col", F16, E5M2, E5M2, F16, ".f16.e5m2.e5m2.f16", a_s8_16x16, b_s8_16),
    M16(32, "row.col", F32, E4M3, E4M3, F32, ".f32.e4m3.e4m3.f32", a_s8_32, b_s8_32),
    M16(32, "row.col", F32, E5M2, E4M3, F32, ".f32.e5m2.e4m3.f32", a_s8_32, b_s8_32),
    M16(32, "row.col", F16, E4M3, E4M3, F16, ".f16.e4m3.e4m3.f16", a_s8_32, b_s8_32),
    M8(16, "row.col", S32, S8, S8, S32, ".s32.s8.s8.s32", a_s8_8x16, b_s8_16),
    M8(16, "row.col", S32, U8, S8, S32, ".satfinite.s32.u8.s8.s32", a_s8_8x16, b_s8_16),
    M16(16, "row.col", S32, S8, U8, S32, ".s32.s8.u8.s32", a_s8_16x16, b_s8_16),
    M16(16, "row.col", S32, S8, S8, S32, ".satfinite.s32.s8.s8.s32", a_s8_16x16, b_s8_16),
    M16(32, "row.col", S32, U8, U8, S32, ".s32.u8.u8.s32", a_s8_32, b_s8_32),
    M16(32, "row.col", S32, S8, S8, S32, ".satfinite.s32.s8.s8.s32", a_s8_32, b_s8_32),
    M8(32, "row.col", S32, S4, U4, S32, ".s32.s4.u4.s32", a_s4_8x32, b_s4_32),
    M16(32, "row.col", S32, U4, S4, S32, ".s32.u4.s4.s32", a_s4_16x32, b_s4_32),
    M16(64, "row.col", S32, S4, S4, S32, ".satfinite.s32.s4.s4.s32", a_s4_64, b_s4_64),
    M16(64, "row.col", S32, U4, U4, S32, ".s32.u4.u4.s32", a_s4_64, b_s4_64),
    M8(128, "row.col", S32, B1, B1, S32, ".s32.b1.b1.s32.xor.popc", a_b1_8x128, b_b1_128),
    M8(128, "row.col", S32, B1, B1, S32, ".s32.b1.b1.s32.and.popc", a_b1_8x128, b_b1_128),
    M16(128, "row.col", S32, B1, B1, S32, ".s32.b1.b1.s32.and.popc", a_b1_16x128, b_b1_128),
    M16(256, "row.col", S32, B1, B1, S32, ".s32.b1.b1.s32.xor.popc", a_b1_256, b_b1_256),
    M16(256, "row.col", S32, B1, B1, S32, ".s32.b1.b1.s32.and.popc", a_b1_256, b_b1_256),
    M16(32, "row.col", F32, E3M2, E2M1, F32, ".kind::f8f6f4.f32.e3m2.e2m1.f32", a_s8_32, b_s8_32),
    M16(32, "row.col", F16, E2M3, E5M2, F16, ".kind::f8f6f4.f16.e2m3.e5m2.f16", a_s8_32, b_s8_32),
    M16(32, "row.col", F32, E2M1, E2M1, F32, ".kind::f8f6f4.f32.e2m1.e2m1.f32", a_s8_32, b_s8_32),
    SPARSE(16, F32, F16, F16, F32, ".f32.f16.f16.f32", a_f16_8, b_f16_16, 1, 0),
    SPARSE(16, F16, F16, F16, F16, ".f16.f16.f16.f16", a_f16_8, b_f16_16, 1, 3),
    SPARSE(32, F32, F16, F16, F32, ".f32.f16.f16.f32", a_f16_16, b_f16_32, 2, 0),
    SPARSE(32, F32, BF16, BF16, F32, ".f32.bf16.bf16.f32", a_f16_16, b_f16_32, 2, 1),
    SPARSE(16, F32, BF16, BF16, F32, ".f32.bf16.bf16.f32", a_f16_8, b_f16_16, 1, 2),
    SPARSE(8, F32, TF32, TF32, F32, ".f32.tf32.tf32.f32", a_tf32_4, b_tf32_8, 1, 1),
    SPARSE(16, F32, TF32, TF32, F32, ".f32.tf32.tf32.f32", a_tf32_8, b_tf32_16, 2, 1),
    SPARSE(32, S32, S8, U8, S32, ".s32.s8.u8.s32", a_s8_16x16, b_s8_32, 2, 1),
    SPARSE(64, S32, S8, S8, S32, ".satfinite.s32.s8.s8.s32", a_s8_32, b_s8_64, 4, 0),
    SPARSE(64, S32, U4, S4, S32, ".s32.u4.s4.s32", a_s4_16x32, b_s4_64, 2, 0),
    SPARSE(128, S32, S4, S4, S32, ".s32.s4.s4.s32", a_s4_64, b_s4_128, 4, 0),
    SPARSE(64, F32, E4M3, E5M2, F32, ".f32.e4m3.e5m2.f32", a_s8_32, b_s8_64, 4, 0),
    SPARSE(64, F32, E2M1, E3M2, F32, ".kind::f8f6f4.f32.e2m1.e3m2.f32", a_s8_32, b_s8_64, 4, 0),
    SCALED(32, "mxf8f6f4.block_scale.", E4M3, E5M2, "e4m3.e5m2.f32.ue8m0", a_s8_32, b_s8_32, 1, 3,
           1, 2, 3),
    SCALED(32, "mxf8f6f4.block_scale.scale_vec::1X.", E2M1, E3M2, "e2m1.e3m2.f32.ue8m0", a_s8_32,
           b_s8_32, 1, 0, 0, 1, 2),
    SCALED(64, "mxf4.block_scale.", E2M1_DENSE, E2M1_DENSE, "e2m1.e2m1.f32.ue8m0", a_s4_64, b_s4_64,
           2, 2, 0, 0, 1),
    SCALED(64, "mxf4nvf4.block_scale.scale_vec::2X.", E2M1_DENSE, E2M1_DENSE, "e2m1.e2m1.f32.ue8m0",
           a_s4_64, b_s4_64, 2, 0, 1, 2, 0),
    SCALED(64, "mxf4nvf4.block_scale.scale_vec::4X.", E2M1_DENSE, E2M1_DENSE, "e2m1.e2m1.f32.ue8m0",
           a_s4_64, b_s4_64, 4, 0, 1, 0, 3),
    SCALED(64, "mxf4nvf4.block_scale.scale_vec::4X.", E2M1_DENSE, E2M1_DENSE, "e2m1.e2m1.f32.ue4m3",
           a_s4_64, b_s4_64, 4, 0, 0, 0, 0),
    SPARSE_SCALED(64, "mxf8f6f4.block_scale.", E4M3, E2M3, "e4m3.e2m3.f32.ue8m0", a_s8_32, b_s8_64,
                  1, 2, 1, 3, 2),
    SPARSE_SCALED(64, "mxf8f6f4.block_scale.scale_vec::1X.", E2M1, E5M2, "e2m1.e5m2.f32.ue8m0",
                  a_s8_32, b_s8_64, 1, 0, 0, 1, 3),
    SPARSE_SCALED(128, "mxf4.block_scale.", E2M1_DENSE, E2M1_DENSE, "e2m1.e2m1.f32.ue8m0", a_s4_64,
                  b_s4_128, 2, 2, 1, 0, 1),
    SPARSE_SCALED(128, "mxf4nvf4.block_scale.scale_vec::2X.", E2M1_DENSE, E2M1_DENSE,
                  "e2m1.e2m1.f32.ue8m0", a_s4_64, b_s4_128, 2, 0, 0, 2, 0),
    SPARSE_SCALED(128, "mxf4nvf4.block_scale.scale_vec::4X.", E2M1_DENSE, E2M1_DENSE,
                  "e2m1.e2m1.f32.ue4m3", a_s4_64, b_s4_128, 4, 0, 1, 0, 2),
    QUADS(row, col, F32, F32, "f32", "f32", quad_f32, quad_f32),
    QUADS(col, row, F32, F16, "f32", "f16", quad_f16, quad_f32),
    QUADS(row, row, F16, F16, "f16", "f16", quad_f16, quad_f16),
    QUADS(col, col, F32, F32, "f32", "f32", quad_f32, quad_f32),
};

/* ---- a kernel of one mma --------------------------------------------------------------------- */

struct sizes {
    unsigned a, b, c, d; /* elements of a lane */
    unsigned quads;      /* independent products of one mma */
};

static struct sizes sizes_of(const struct form *f) {
    unsigned quads = f->at_a == quad_a_row || f->at_a == quad_a_col ? 4 : 1;
    return (struct sizes){f->m * f->k * quads / (f->sparse ? 64 : 32), f->k * f->n * quads / 32,
                          f->m * f->n * quads / 32, f->m * f->n * quads / 32, quads};
}

static unsigned regs_of(enum matrixref_kind kind, unsigned elements) {
    return matrixref_widths[kind] == 64 ? elements : elements * matrixref_widths[kind] / 32;
}

/* Appends "{%a0,%a1}". */
static void list(char *out, const char *name, unsigned count) {
    strcat(out, "{");
    for (unsigned k = 0; k < count; k++)
        sprintf(out + strlen(out), "%s%%%s%u", k ? "," : "", name, k);
    strcat(out, "}");
}

/* Loads or stores registers, 8 bytes for each. */
static void transfers(char *out, const char *name, unsigned count, bool wide, unsigned *at,
                      bool load) {
    const char *type = wide ? "b64" : "b32";
    for (unsigned k = 0; k < count; k++, *at += 8)
        if (load)
            sprintf(out + strlen(out), "ld.global.%s %%%s%u,[%%in+%u];\n", type, name, k, *at);
        else
            sprintf(out + strlen(out), "st.global.%s [%%in+%u],%%%s%u;\n", type, *at, name, k);
}

static char *kernel_of(const struct form *f) {
    struct sizes s = sizes_of(f);
    unsigned a = regs_of(f->a, s.a), b = regs_of(f->b, s.b), c = regs_of(f->c, s.c);
    unsigned d = regs_of(f->d, s.d), at = 0, end = 0;
    const char *type = f->a == F64 ? "b64" : "b32";
    char *t = calloc(1, 16384);
    cr_assert_not_null(t);
    sprintf(
        t,
        ".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .%s %%a<16>,%%b<16>,%%c<16>,%%d<16>;.reg .b64 %%in;.reg .b32 %%lane,%%e,%%s0,%%s1;\n"
        ".reg .b16 %%h0,%%h1,%%h2,%%h3;\n"
        "ld.param.u64 %%in,[p];mov.u32 %%lane,%%laneid;mad.wide.u32 %%in,%%lane,512,%%in;\n",
        type);
    transfers(t, "a", a, f->a == F64, &at, true);
    transfers(t, "b", b, f->a == F64, &at, true);
    transfers(t, "c", c, f->a == F64, &at, true);
    sprintf(t + strlen(t),
            "ld.global.b32 %%e,[%%in+%u];ld.global.v2.b32 {%%s0,%%s1},[%%in+240];\n"
            "mov.u16 %%h0,%u;mov.u16 %%h1,%u;\n%s ",
            at, f->byte_b, f->lane_b, f->opcode);
    list(t, "d", d);
    strcat(t, ",");
    list(t, "a", a);
    strcat(t, ",");
    list(t, "b", b);
    strcat(t, ",");
    list(t, "c", c);
    if (f->sparse) sprintf(t + strlen(t), ",%%e,%u", f->selector);
    if (f->scales) sprintf(t + strlen(t), ",%%s0,{%u,%u},{%%s1},{%%h0,%%h1}", f->byte_a, f->lane_a);
    strcat(t, ";\n");
    end = 256;
    transfers(t, "d", d, f->a == F64, &end, false);
    strcat(t, "ret;\n}\n");
    return t;
}

/* ---- matrices and their fragments ------------------------------------------------------------ */

struct matrices {
    uint64_t a[4][16][256], b[4][256][8], c[4][16][8];
    unsigned char picked[16][32]; /* metadata of a sparse a: four bits for each group of a row */
    unsigned char scale_a[16][4], scale_b[8][4];
};

/* Selects two of four elements; for tf32 one of two. */
static void pick(struct matrices *m, const struct form *f) {
    static const unsigned char pairs[] = {4, 8, 9, 12, 13, 14};
    for (unsigned r = 0; r < 16; r++)
        for (unsigned k = 0; k < 32; k++)
            m->picked[r][k] =
                f->a == TF32 ? (matrixref_dice() & 1 ? 4 : 14) : pairs[matrixref_dice() % 6];
}

/* The metadata word of lane `lane`, from "Matrix fragments for sparse mma": the lane is number
 * `turn` among the lanes of its group with metadata. Wide elements: 16 bits for each of two
 * rows. */
static uint32_t metadata(const struct form *f, const struct matrices *m, unsigned lane) {
    unsigned turn = lane % 4 - f->selector * f->sparse, g = lane / 4;
    uint32_t word = 0;
    if (lane % 4 / f->sparse != f->selector) return (uint32_t)matrixref_dice();
    bool wide = matrixref_widths[f->a] >= 16;
    for (unsigned k = 0; k < 8; k++)
        word |= (uint32_t)(wide ? m->picked[g + k / 4 * 8][turn * 4 + k % 4]
                                : m->picked[g + turn % 2 * 8][turn / 2 * 8 + k])
                << 4 * k;
    return word;
}

/* Returns the index in the uncompressed row of element `at` of a row of a sparse a. */
static unsigned whole(const struct form *f, const struct matrices *m, unsigned row, unsigned at) {
    if (f->a == TF32) return at * 2 + (m->picked[row][at] == 14);
    unsigned unit = matrixref_widths[f->a] == 4 ? 2 : 1, place = at / unit;
    unsigned in = m->picked[row][place / 2] >> place % 2 * 2 & 3;
    return (place / 2 * 4 + in) * unit + at % unit;
}

/* Any scale, including zeros and NaNs, or scales that keep sums of similar size. */
static unsigned char random_scale(bool tame) {
    return (unsigned char)(tame ? 120 + matrixref_dice() % 8 : matrixref_dice());
}

static void fill(struct matrices *m, const struct form *f, unsigned round) {
    bool tame = round & 1;
    pick(m, f);
    for (unsigned r = 0; r < 24; r++)
        for (unsigned k = 0; k < 4; k++)
            *(r < 16 ? &m->scale_a[r][k] : &m->scale_b[r - 16][k]) =
                f->scales && strstr(f->opcode, "ue4m3") ? random_scale(tame) & 0x7f
                                                        : random_scale(tame);
    for (unsigned q = 0; q < 4; q++) {
        for (unsigned r = 0; r < 16; r++)
            for (unsigned k = 0; k < 256; k++)
                m->a[q][r][k] = matrixref_random(f->a, tame);
        for (unsigned k = 0; k < 256; k++)
            for (unsigned n = 0; n < 8; n++)
                m->b[q][k][n] = matrixref_random(f->b, tame);
        for (unsigned r = 0; r < 16; r++)
            for (unsigned n = 0; n < 8; n++) {
                m->c[q][r][n] = matrixref_random(f->c, tame);
                if (f->c == S32 && round & 2)
                    m->c[q][r][n] =
                        (matrixref_dice() & 1 ? 0x7fffff00u : 0x80000000u) + matrixref_dice() % 256;
            }
    }
}

static void put(unsigned char *record, unsigned i, enum matrixref_kind kind, uint64_t v) {
    if (matrixref_widths[kind] == 64) {
        memcpy(record + i * 8, &v, 8);
        return;
    }
    unsigned per = 32 / matrixref_widths[kind];
    uint32_t word;
    memcpy(&word, record + i / per * 8, 4);
    word |= (uint32_t)v << i % per * matrixref_widths[kind];
    memcpy(record + i / per * 8, &word, 4);
}

static uint64_t get(const unsigned char *record, unsigned i, enum matrixref_kind kind) {
    uint64_t v = 0;
    unsigned per = matrixref_widths[kind] == 64 ? 1 : 32 / matrixref_widths[kind];
    memcpy(&v, record + i / per * 8, matrixref_widths[kind] == 64 ? 8 : 4);
    return matrixref_widths[kind] == 64
               ? v
               : v >> i % per * matrixref_widths[kind] & ((1ull << matrixref_widths[kind]) - 1);
}

/* The words of lane `lane`: bytes that are not used are random. */
static void put_scales(const struct form *f, const struct matrices *m, unsigned lane,
                       unsigned char *at) {
    unsigned char *a = at, *b = at + 4;
    for (unsigned k = 0; k < 8; k++)
        at[k] = (unsigned char)matrixref_dice();
    for (unsigned k = 0; k < f->scales; k++) {
        if (lane % 4 / 2 == f->lane_a) a[f->byte_a + k] = m->scale_a[lane / 4 + lane % 2 * 8][k];
        if (lane % 4 == f->lane_b) b[f->byte_b + k] = m->scale_b[lane / 4][k];
    }
}

static void deal(const struct form *f, const struct matrices *m, unsigned char *memory) {
    struct sizes s = sizes_of(f);
    for (unsigned l = 0; l < 32; l++) {
        unsigned char *at = memory + l * 512;
        unsigned q = s.quads == 4 ? l / 4 % 4 : 0;
        memset(at, 0, 512);
        if (f->scales) put_scales(f, m, l, at + 240);
        for (unsigned i = 0; i < s.a; i++) {
            struct spot p = f->at_a(l, i);
            put(at, i, f->a, m->a[q][p.row][p.col]);
        }
        at += regs_of(f->a, s.a) * 8;
        for (unsigned i = 0; i < s.b; i++) {
            struct spot p = f->at_b(l, i);
            put(at, i, f->b, m->b[q][p.row][p.col]);
        }
        at += regs_of(f->b, s.b) * 8;
        for (unsigned i = 0; i < s.c; i++) {
            struct spot p = f->at_c(l, i);
            put(at, i, f->c, m->c[q][p.row][p.col]);
        }
        uint32_t word = f->sparse ? metadata(f, m, l) : 0;
        memcpy(at + regs_of(f->c, s.c) * 8, &word, sizeof(word));
    }
}

/* ---- expected results ------------------------------------------------------------------------ */

static uint64_t integer_sum(const struct form *f, const struct matrices *m, unsigned row,
                            unsigned col) {
    int64_t sum = (int32_t)m->c[0][row][col];
    bool and = strstr(f->opcode, ".and.");
    for (unsigned k = 0; k < (f->sparse ? f->k / 2 : f->k); k++) {
        uint64_t x = m->a[0][row][k], y = m->b[0][f->sparse ? whole(f, m, row, k) : k][col];
        if (f->a == B1)
            sum += (int64_t)(and? x & y : x ^ y);
        else
            sum += (int64_t)matrixref_value(f->a, x) * (int64_t)matrixref_value(f->b, y);
    }
    if (strstr(f->opcode, "satfinite"))
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

static double scale_value(const struct form *f, unsigned char v) {
    if (strstr(f->opcode, "ue4m3")) return matrixref_value(E4M3, v);
    return v == 255 ? (double)NAN : ldexp(1, v - 127);
}

static uint64_t scaled_sum(const struct form *f, const struct matrices *m, unsigned row,
                           unsigned col) {
    volatile float sum = (float)matrixref_value(F32, m->c[0][row][col]);
    for (unsigned k = 0; k < (f->sparse ? f->k / 2 : f->k); k++) {
        unsigned in = f->sparse ? whole(f, m, row, k) : k, chunk = in / (f->k / f->scales);
        double x = matrixref_value(f->a, m->a[0][row][k]) * scale_value(f, m->scale_a[row][chunk]);
        double y = matrixref_value(f->b, m->b[0][in][col]) * scale_value(f, m->scale_b[col][chunk]);
        volatile float product = (float)(x * y);
        sum = sum + product;
    }
    return matrixref_bits(F32, 0, sum);
}

/* True if all terms of a sum are added at once. Forms that were not measured on a GPU are summed
 * product by product: 6 and 4 bits, and m8n8k4. */
static bool at_once(const struct form *f) {
    const bool wide = f->a == F16 || f->a == BF16 || f->a == TF32;
    const bool fp8 = (f->a == E4M3 || f->a == E5M2) && (f->b == E4M3 || f->b == E5M2);
    return sizes_of(f).quads == 1 && (wide || fp8);
}

static uint64_t fused_sum(const struct form *f, const struct matrices *m, unsigned row,
                          unsigned col) {
    const struct matrixref_form sum = {f->d, f->a, f->b, f->c, false};
    const unsigned count = f->sparse ? f->k / 2 : f->k;
    double x[64], y[64];
    for (unsigned k = 0; k < count; k++) {
        x[k] = matrixref_value(f->a, m->a[0][row][k]);
        y[k] = matrixref_value(f->b, m->b[0][f->sparse ? whole(f, m, row, k) : k][col]);
    }
    const double c = matrixref_value(f->c, m->c[0][row][col]);
    return matrixref_bits(f->d, 0, matrixref_sum(&sum, c, x, y, count));
}

static uint64_t expected(const struct form *f, const struct matrices *m, unsigned q, unsigned row,
                         unsigned col) {
    if (f->d == S32) return integer_sum(f, m, row, col);
    if (f->scales) return scaled_sum(f, m, row, col);
    if (at_once(f)) return fused_sum(f, m, row, col);
    double wide = matrixref_value(f->c, m->c[q][row][col]);
    volatile float narrow = (float)wide;
    for (unsigned k = 0; k < (f->sparse ? f->k / 2 : f->k); k++) {
        double x = matrixref_value(f->a, m->a[q][row][k]),
               y = matrixref_value(f->b, m->b[q][f->sparse ? whole(f, m, row, k) : k][col]);
        volatile float product = (float)(x * y);
        narrow = narrow + product;
        wide = fma(x, y, wide);
    }
    return matrixref_bits(f->d, wide, narrow);
}

static void check(const struct form *f, const struct matrices *m, const unsigned char *memory,
                  const char *build) {
    struct sizes s = sizes_of(f);
    for (unsigned l = 0; l < 32; l++)
        for (unsigned i = 0; i < s.d; i++) {
            unsigned q = s.quads == 4 ? l / 4 % 4 : 0;
            struct spot p = f->at_d(l, i);
            uint64_t want = expected(f, m, q, p.row, p.col);
            uint64_t got = get(memory + l * 512 + 256, i, f->d);
            cr_assert_eq(got, want, "%s, build %s: lane %u element %u (%u,%u): %llx, not %llx",
                         f->opcode, build, l, i, p.row, p.col, (unsigned long long)got,
                         (unsigned long long)want);
        }
}

static void try_form(const struct form *f, const char *build) {
    static struct matrices m;
    setenv("SALUS_SOFT_ISA", build, 1);
    char *text = kernel_of(f);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s: %s\n%s", f->opcode, r->why, text);
    unsigned char *memory = ptxrun_alloc(r, 32 * 512);
    for (unsigned round = 0; round < 8; round++) {
        fill(&m, f, round);
        deal(f, &m, memory);
        int err = ptxrun_launch(r, "k", 1, 32, 1, (uint64_t)(uintptr_t)memory);
        cr_assert_eq(err, 0, "%s: %d %s%s", f->opcode, err, r->why, r->result.text);
        check(f, &m, memory, build);
    }
    ptxrun_destroy(r);
    free(text);
}

Test(matrix, mma) {
    static const char *const builds[] = {"base", "v3", "v4"};
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++)
        for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++)
            try_form(&forms[k], builds[b]);
}
