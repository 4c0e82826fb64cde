/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products and matrix moves by a whole warp. Operands derive from one number of each lane,
 * and results are folded into one number. If the architecture (TARGET) lacks an instruction, both
 * sides compute a plain function of the numbers instead. Sums are truncated as on sm_90:
 * docs/adr/0009.
 */
#ifndef TEST_RANDOM_MATRICES_H
#define TEST_RANDOM_MATRICES_H

#ifdef __CUDACC__
#include <mma.h>
#else
#include "test/lib/ptx/matrixplace.h"
#include "test/lib/ptx/matrixref.c"
#endif

HD inline void sync_warp(u32 mask) {
    EITHER(__syncwarp(mask), (void)model_meet(mask, 0, 5));
}

/* ---- operands ----------------------------------------------------------------------------------
 */

/* Bits of elements that come from a number, and bits that are always set. They yield values of
 * similar size, because sums of arbitrary bit patterns are mostly infinite or NaN. */
struct bits_kept {
    u32 keep, set;
};
#define KEPT_ALL ~0u, 0u
#define KEPT_F16 0x8fff8fffu, 0x30003000u
#define KEPT_BF16 0x81ff81ffu, 0x3e003e00u
#define KEPT_F32 0x81ffffffu, 0x3e000000u
/* Values near the ends of the range, where sums saturate. */
#define KEPT_S32 0x80000fffu, 0x7ffff000u

HD inline u32 word_of(u32 number, u32 i, bits_kept kept) {
    const u32 x = (number + i * 0x9e3779b9u) * 0x85ebca6bu;
    return ((x ^ x >> 13) & kept.keep) | kept.set;
}
/* The bits of a double near one. */
HD inline u64 wide_word_of(u32 number, u32 i) {
    const u64 x = (number + i * 0x9e3779b9ull) * 0x9e3779b97f4a7c15ull;
    return (x & 0x801fffffffffffffull) | 0x3fc0000000000000ull;
}

/* Folds all bits of a result into its lowest bits. */
HD inline u64 folded(u64 x) {
    x ^= x >> 32;
    x ^= x >> 16;
    return x ^ x >> 8;
}

HD inline u32 plain_product(u32 a, u32 b, u32 c) {
    return a * 3u ^ b * 5u ^ c * 7u;
}

/* ---- the host's model --------------------------------------------------------------------------
 */

#ifndef __CUDACC__

struct model_form {
    u32 m, n, k;
    matrixref_kind a, b, c, d;
    bool satfinite, conjunction; /* for single-bit elements: and instead of xor */
};

/* Sums floats as sm_90 does, and f64 in ascending order of k; x and y return the bits of
 * elements. */
template <typename X, typename Y> static u64 model_sum(const model_form &f, u64 c, X x, Y y) {
    const matrixref_form form = {f.d, f.a, f.b, f.c, false};
    double wide = matrixref_value(f.c, c), xs[64], ys[64];
    long long sum = (i32)(u32)c;
    for (u32 k = 0; k < f.k; k++) {
        const u64 xb = x(k), yb = y(k);
        const double xv = matrixref_value(f.a, xb), yv = matrixref_value(f.b, yb);
        wide = __builtin_fma(xv, yv, wide);
        if (f.d != S32 && f.k <= 64) xs[k] = xv, ys[k] = yv;
        if (f.d != S32) continue;
        sum += f.a != B1       ? (long long)xv * (long long)yv
               : f.conjunction ? (long long)(xb & yb)
                               : (long long)(xb ^ yb);
    }
    if (f.satfinite)
        sum = sum > 2147483647 ? 2147483647 : sum < -2147483648ll ? -2147483648ll : sum;
    if (f.d == S32) return (u32)sum;
    if (f.d == F64) return matrixref_bits(f.d, wide, 0);
    return matrixref_bits(f.d, 0, matrixref_sum(&form, matrixref_value(f.c, c), xs, ys, f.k));
}

typedef spot (*model_place)(unsigned, unsigned);

/* Element i of a fragment of the lane with this number. */
static u64 model_element(u32 number, u32 i, matrixref_kind kind, bits_kept kept) {
    const u32 width = matrixref_widths[kind];
    if (width == 64) return wide_word_of(number, i);
    const u32 word = word_of(number, i * width / 32, kept);
    return width == 32 ? word : word >> i * width % 32 & ((1u << width) - 1u);
}

/* For each element of fragments with this layout: the lane that holds it, and its index in that
 * lane. */
struct model_map {
    model_place at;
    u8 lane[256][256], i[256][256];
};

static const model_map &model_map_of(model_place at, u32 elements) {
    static model_map maps[24];
    u32 n = 0;
    while (maps[n].at && maps[n].at != at)
        n++;
    if (maps[n].at) return maps[n];
    maps[n].at = at;
    for (u32 lane = 0; lane < 32; lane++)
        for (u32 i = 0; i < elements; i++) {
            const spot s = at(lane, i);
            maps[n].lane[s.row][s.col] = (u8)lane;
            maps[n].i[s.row][s.col] = (u8)i;
        }
    return maps[n];
}

struct model_numbers {
    u32 a[32], b[32], c[32];
};

/* Computes all elements of this lane's result. */
static u64 model_mma(const model_form &f, model_place at_a, model_place at_b, model_place at_c,
                     u32 a, u32 b, u32 c, bits_kept kept_a, bits_kept kept_b, bits_kept kept_c) {
    model_numbers all;
    const u64 *ab = model_meet(~0u, a | (u64)b << 32, 6);
    for (u32 l = 0; l < 32; l++) {
        all.a[l] = (u32)ab[l];
        all.b[l] = (u32)(ab[l] >> 32);
    }
    const u64 *cs = model_meet(~0u, c, 6);
    for (u32 l = 0; l < 32; l++)
        all.c[l] = (u32)cs[l];
    const u32 lane = model_now->lane, elements = f.m * f.n / 32, width = matrixref_widths[f.d];
    const model_map &map_a = model_map_of(at_a, f.m * f.k / 32);
    const model_map &map_b = model_map_of(at_b, f.k * f.n / 32);
    u64 words[8] = {}, fold = 0;
    for (u32 i = 0; i < elements; i++) {
        const u32 row = at_c(lane, i).row, col = at_c(lane, i).col;
        const u64 d = model_sum(
            f, model_element(all.c[lane], i, f.c, kept_c),
            [&](u32 k) {
                return model_element(all.a[map_a.lane[row][k]], map_a.i[row][k], f.a, kept_a);
            },
            [&](u32 k) {
                return model_element(all.b[map_b.lane[k][col]], map_b.i[k][col], f.b, kept_b);
            });
        words[width == 16 ? i / 2 : i] |= width == 16 ? d << i % 2 * 16 : d;
    }
    for (u32 i = 0; i < (width == 16 ? elements / 2 : elements); i++)
        fold = fold * 31u + words[i];
    return fold;
}

#endif

/* ---- mma ---------------------------------------------------------------------------------------
 */

#ifdef __CUDACC__
/* Operands by the numbers of registers of d, a, b and c; R: integers, F: float sums, D: doubles. */
#define MMA_R2112(op)                                           \
    u32 d[2];                                                   \
    asm volatile(op " {%0,%1},{%2},{%3},{%4,%5};"               \
                 : "=r"(d[0]), "=r"(d[1])                       \
                 : "r"(A(0)), "r"(B(0)), "r"(C(0)), "r"(C(1))); \
    return d[0] * 31ull + d[1];
#define MMA_R2422(op)                                                                           \
    u32 d[2];                                                                                   \
    asm volatile(op " {%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%9};"                                   \
                 : "=r"(d[0]), "=r"(d[1])                                                       \
                 : "r"(A(0)), "r"(A(1)), "r"(A(2)), "r"(A(3)), "r"(B(0)), "r"(B(1)), "r"(C(0)), \
                   "r"(C(1)));                                                                  \
    return d[0] * 31ull + d[1];
#define MMA_R4424(op)                                                                           \
    u32 d[4];                                                                                   \
    asm volatile(op " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"                   \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                               \
                 : "r"(A(0)), "r"(A(1)), "r"(A(2)), "r"(A(3)), "r"(B(0)), "r"(B(1)), "r"(C(0)), \
                   "r"(C(1)), "r"(C(2)), "r"(C(3)));                                            \
    return ((d[0] * 31ull + d[1]) * 31u + d[2]) * 31u + d[3];
#define MMA_F(i) "f"(__uint_as_float(C(i)))
#define MMA_FOLD_F                                                          \
    return ((__float_as_uint(d[0]) * 31ull + __float_as_uint(d[1])) * 31u + \
            __float_as_uint(d[2])) *                                        \
               31u +                                                        \
           __float_as_uint(d[3]);
#define MMA_F4214(op)                                                                        \
    float d[4];                                                                              \
    asm volatile(op " {%0,%1,%2,%3},{%4,%5},{%6},{%7,%8,%9,%10};"                            \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                            \
                 : "r"(A(0)), "r"(A(1)), "r"(B(0)), MMA_F(0), MMA_F(1), MMA_F(2), MMA_F(3)); \
    MMA_FOLD_F
#define MMA_F4424(op)                                                                          \
    float d[4];                                                                                \
    asm volatile(op " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"                  \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                              \
                 : "r"(A(0)), "r"(A(1)), "r"(A(2)), "r"(A(3)), "r"(B(0)), "r"(B(1)), MMA_F(0), \
                   MMA_F(1), MMA_F(2), MMA_F(3));                                              \
    MMA_FOLD_F
#define MMA_D(i) "d"(__longlong_as_double((i64)wide_word_of(c, i)))
#define MMA_D2112(op)                                                                       \
    double d[2];                                                                            \
    asm volatile(op " {%0,%1},{%2},{%3},{%4,%5};"                                           \
                 : "=d"(d[0]), "=d"(d[1])                                                   \
                 : "d"(__longlong_as_double((i64)wide_word_of(a, 0))),                      \
                   "d"(__longlong_as_double((i64)wide_word_of(b, 0))), MMA_D(0), MMA_D(1)); \
    return (u64)__double_as_longlong(d[0]) * 31u + (u64)__double_as_longlong(d[1]);
#define MMA_RUN(how, op, at_a, at_b, at_d) how("mma.sync.aligned." op)
#define MMA_FORM(...)
#else
#define MMA_RUN(how, op, at_a, at_b, at_d) \
    return model_mma(form, at_a, at_b, at_d, a, b, c, kept_a, kept_b, kept_c);
#define MMA_FORM(...) const model_form form = {__VA_ARGS__};
#endif

/* X(name, minimum architecture, operands, instruction after "mma.sync.aligned.", (model_form),
 * positions of a, b and d, bits kept of a, b, c) */
#define MMA_FORMS(X)                                                                               \
    X(f16_8, 75, MMA_F4214, "m16n8k8.row.col.f32.f16.f16.f32", (16, 8, 8, F16, F16, F32, F32),     \
      a_f16_8, b_f16_8, c_16, KEPT_F16, KEPT_F16, KEPT_F32)                                        \
    X(f16_16, 80, MMA_F4424, "m16n8k16.row.col.f32.f16.f16.f32", (16, 8, 16, F16, F16, F32, F32),  \
      a_f16_16, b_f16_16, c_16, KEPT_F16, KEPT_F16, KEPT_F32)                                      \
    X(half, 80, MMA_R2422, "m16n8k16.row.col.f16.f16.f16.f16", (16, 8, 16, F16, F16, F16, F16),    \
      a_f16_16, b_f16_16, c_16, KEPT_F16, KEPT_F16, KEPT_F16)                                      \
    X(bf16_8, 80, MMA_F4214, "m16n8k8.row.col.f32.bf16.bf16.f32",                                  \
      (16, 8, 8, BF16, BF16, F32, F32), a_f16_8, b_f16_8, c_16, KEPT_BF16, KEPT_BF16, KEPT_F32)    \
    X(bf16_16, 80, MMA_F4424, "m16n8k16.row.col.f32.bf16.bf16.f32",                                \
      (16, 8, 16, BF16, BF16, F32, F32), a_f16_16, b_f16_16, c_16, KEPT_BF16, KEPT_ALL, KEPT_F32)  \
    X(tf32, 80, MMA_F4424, "m16n8k8.row.col.f32.tf32.tf32.f32", (16, 8, 8, TF32, TF32, F32, F32),  \
      a_tf32_8, b_tf32_8, c_16, KEPT_F32, KEPT_F32, KEPT_F32)                                      \
    X(f64, 80, MMA_D2112, "m8n8k4.row.col.f64.f64.f64.f64", (8, 8, 4, F64, F64, F64, F64),         \
      a_f64_8x4, b_tf32_4, c_8, KEPT_ALL, KEPT_ALL, KEPT_ALL)                                      \
    X(fp8, 89, MMA_F4424, "m16n8k32.row.col.f32.e4m3.e5m2.f32", (16, 8, 32, E4M3, E5M2, F32, F32), \
      a_s8_32, b_s8_32, c_16, KEPT_FP8, KEPT_FP8, KEPT_F32)                                        \
    X(s8_16, 75, MMA_R2112, "m8n8k16.row.col.s32.s8.u8.s32", (8, 8, 16, S8, U8, S32, S32),         \
      a_s8_8x16, b_s8_16, c_8, KEPT_ALL, KEPT_ALL, KEPT_ALL)                                       \
    X(s8_32, 80, MMA_R4424, "m16n8k32.row.col.satfinite.s32.s8.s8.s32",                            \
      (16, 8, 32, S8, S8, S32, S32, true), a_s8_32, b_s8_32, c_16, KEPT_ALL, KEPT_ALL, KEPT_S32)   \
    X(s4_32, 75, MMA_R2112, "m8n8k32.row.col.satfinite.s32.u4.s4.s32",                             \
      (8, 8, 32, U4, S4, S32, S32, true), a_s4_8x32, b_s4_32, c_8, KEPT_ALL, KEPT_ALL, KEPT_S32)   \
    X(s4_64, 80, MMA_R4424, "m16n8k64.row.col.s32.s4.u4.s32", (16, 8, 64, S4, U4, S32, S32),       \
      a_s4_64, b_s4_64, c_16, KEPT_ALL, KEPT_ALL, KEPT_ALL)                                        \
    X(b1_128, 75, MMA_R2112, "m8n8k128.row.col.s32.b1.b1.s32.xor.popc",                            \
      (8, 8, 128, B1, B1, S32, S32), a_b1_8x128, b_b1_128, c_8, KEPT_ALL, KEPT_ALL, KEPT_ALL)      \
    X(b1_256, 80, MMA_R4424, "m16n8k256.row.col.s32.b1.b1.s32.and.popc",                           \
      (16, 8, 256, B1, B1, S32, S32, false, true), a_b1_256, b_b1_256, c_16, KEPT_ALL, KEPT_ALL,   \
      KEPT_ALL)
/* No element of these bytes has the highest exponent. */
#define KEPT_FP8 0xbfbfbfbfu, 0u

#define A(i) word_of(a, i, kept_a)
#define B(i) word_of(b, i, kept_b)
#define C(i) word_of(c, i, kept_c)
#define MMA(name, since, how, op, form, at_a, at_b, at_d, ka, kb, kc) \
    HD inline u64 mma_##name(u32 a, u32 b, u32 c) {                   \
        const bits_kept kept_a = {ka}, kept_b = {kb}, kept_c = {kc};  \
        MMA_FORM form(void) kept_a, (void)kept_b, (void)kept_c;       \
        MMA_SINCE_##since(MMA_RUN(how, op, at_a, at_b, at_d))         \
    }
#define MMA_PLAIN(...) return plain_product(a, b, c);
#define MMA_SINCE_75(...) __VA_ARGS__
#if TARGET >= 80
#define MMA_SINCE_80(...) __VA_ARGS__
#else
#define MMA_SINCE_80(...) MMA_PLAIN()
#endif
#if TARGET >= 89
#define MMA_SINCE_89(...) __VA_ARGS__
#else
#define MMA_SINCE_89(...) MMA_PLAIN()
#endif
MMA_FORMS(MMA)
#undef A
#undef B
#undef C

/* ---- 8x8 matrices
 * ------------------------------------------------------------------------------
 *
 * `rows`: 32 rows of 16 bytes in shared memory, which no lane changes before the next sync_warp. */

#ifdef __CUDACC__
HD inline u32 shared_address(const void *p) {
#ifdef __CUDA_ARCH__
    return (u32)__cvta_generic_to_shared(p);
#else
    return 0;
#endif
}
#endif

/* Loads `count` matrices, whose rows' positions lanes 0, 1, ... give. */
template <u32 count, bool trans> HD inline u32 load_matrices(const u32 *rows, u32 row) {
#ifdef __CUDACC__
    u32 d[4] = {0, 0, 0, 0};
    const u32 at = shared_address(rows + row * 4u);
    if (count == 1 && trans)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0},[%1];"
                     : "=r"(d[0])
                     : "r"(at)
                     : "memory");
    else if (count == 2 && !trans)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];"
                     : "=r"(d[0]), "=r"(d[1])
                     : "r"(at)
                     : "memory");
    else if (!trans)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                     : "r"(at)
                     : "memory");
#else
    const u64 *from = model_meet(~0u, row, 6);
    const u32 lane = model_now->lane;
    u32 d[4] = {0, 0, 0, 0};
    for (u32 j = 0; j < count; j++)
        for (u32 half = 0; half < 2; half++) {
            const u32 r = trans ? lane % 4 * 2 + half : lane / 4;
            const u32 col = trans ? lane / 4 : lane % 4 * 2 + half;
            const u16 x = ((const u16 *)(rows + from[j * 8 + r] * 4))[col];
            d[j] |= (u32)x << 16 * half;
        }
#endif
    return ((d[0] * 31u + d[1]) * 31u + d[2]) * 31u + d[3];
}

/* Stores four matrices of words of every lane's number; each row goes where a lane says, and
 * every row elsewhere. */
template <bool trans> HD inline void store_matrices(u32 *rows, u32 row, u32 number) {
    const bits_kept all = {KEPT_ALL};
#if defined(__CUDACC__) && TARGET >= 90
    const u32 at = shared_address(rows + row * 4u);
    if (trans)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0],{%1,%2,%3,%4};" ::"r"(at),
                     "r"(word_of(number, 0, all)), "r"(word_of(number, 1, all)),
                     "r"(word_of(number, 2, all)), "r"(word_of(number, 3, all))
                     : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%2,%3,%4};" ::"r"(at),
                     "r"(word_of(number, 0, all)), "r"(word_of(number, 1, all)),
                     "r"(word_of(number, 2, all)), "r"(word_of(number, 3, all))
                     : "memory");
#else
#ifdef __CUDACC__
    const u32 lane = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z) & 31u;
    u32 numbers[32];
    for (u32 l = 0; l < 32; l++)
        numbers[l] = __shfl_sync(~0u, number, (int)l);
#else
    const u64 *numbers = model_meet(~0u, number, 6);
    const u32 lane = model_now->lane;
#endif
    for (u32 col = 0; col < 8; col++) {
        const u32 y = trans ? col : lane % 8, x = trans ? lane % 8 : col;
        const u32 word = word_of((u32)numbers[y * 4 + x / 2], lane / 8, all);
        ((u16 *)(rows + row * 4u))[col] = (u16)(word >> x % 2 * 16);
    }
#endif
}

HD inline u32 transpose_matrix(u32 word) {
#ifdef __CUDACC__
    u32 d;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0,%1;" : "=r"(d) : "r"(word));
    return d;
#else
    const u64 *words = model_meet(~0u, word, 6);
    const u32 r = model_now->lane / 4, c = model_now->lane % 4 * 2;
    const u32 low = (u32)words[c * 4 + r / 2] >> r % 2 * 16 & 0xffffu;
    const u32 high = (u32)words[(c + 1) * 4 + r / 2] >> r % 2 * 16 & 0xffffu;
    return low | high << 16;
#endif
}

/* ---- wmma
 * --------------------------------------------------------------------------------------
 *
 * `tile`: a is in its first 128 words, b in the next, c from 256 on; d is written after c, up to
 * 512. */

#define TILE_WORDS 768u

#ifdef __CUDACC__
#define WMMA_RUN(M, N, K, T, S, la, lb, pa, pb, end)                \
    using namespace nvcuda::wmma;                                   \
    fragment<matrix_a, M, N, K, T, la> a;                           \
    fragment<matrix_b, M, N, K, T, lb> b;                           \
    fragment<accumulator, M, N, K, S> c;                            \
    load_matrix_sync(a, (const end *)tile, pa);                     \
    load_matrix_sync(b, (const end *)(tile + 128), pb);             \
    load_matrix_sync(c, (const S *)(tile + 256), N, mem_row_major); \
    mma_sync(c, a, b, c);                                           \
    store_matrix_sync((S *)(tile + 512), c, N, mem_row_major);
#else
template <typename E>
static void model_wmma(const model_form &f, u32 *tile, bool a_col, bool b_col, u32 pa, u32 pb) {
    model_meet(~0u, 0, 6);
    const u32 sums = matrixref_widths[f.c] / 8;
    for (u32 i = model_now->lane; i < f.m * f.n; i += 32) {
        const u32 row = i / f.n, col = i % f.n;
        u64 c = 0;
        memcpy(&c, (const char *)(tile + 256) + i * sums, sums);
        const u64 d = model_sum(
            f, c, [&](u32 k) { return ((const E *)tile)[a_col ? k * pa + row : row * pa + k]; },
            [&](u32 k) { return ((const E *)(tile + 128))[b_col ? col * pb + k : k * pb + col]; });
        memcpy((char *)(tile + 512) + i * sums, &d, sums);
    }
    model_meet(~0u, 0, 6);
}
#define row_major false
#define col_major true
#endif

/* X(name, M, N, K, element, sum, their kinds, layout and pitch of a and of b, element's word,
 * bits kept of a and b, of c) */
#define WMMA_FORMS(X)                                                                           \
    X(square, 16, 16, 16, __half, float, F16, F32, row_major, col_major, 16, 16, u16, KEPT_F16, \
      KEPT_F32)                                                                                 \
    X(tall, 32, 8, 16, __half, float, F16, F32, col_major, row_major, 32, 8, u16, KEPT_F16,     \
      KEPT_F32)                                                                                 \
    X(halves, 8, 32, 16, __half, __half, F16, F16, row_major, row_major, 16, 32, u16, KEPT_F16, \
      KEPT_F16)                                                                                 \
    X(bytes, 16, 16, 16, i8, int, S8, S32, col_major, col_major, 16, 16, u8, KEPT_ALL, KEPT_ALL)

#ifdef __CUDACC__
#define WMMA(name, M, N, K, T, S, kt, ks, la, lb, pa, pb, E, ka, kc)       \
    HD inline void wmma_##name(u32 *tile) {                                \
        WMMA_DEVICE(WMMA_RUN(M, N, K, T, S, la, lb, pa, pb, WMMA_TYPE(T))) \
    }
#ifdef __CUDA_ARCH__
#define WMMA_DEVICE(...) __VA_ARGS__
#else
#define WMMA_DEVICE(...) (void)tile;
#endif
#define WMMA_TYPE(T) T
#else
#define WMMA(name, M, N, K, T, S, kt, ks, la, lb, pa, pb, E, ka, kc)              \
    static void wmma_##name(u32 *tile) {                                          \
        model_wmma<E>(model_form{M, N, K, kt, kt, ks, ks}, tile, la, lb, pa, pb); \
    }
#endif
WMMA_FORMS(WMMA)

#define WMMA_FILL(name, M, N, K, T, S, kt, ks, la, lb, pa, pb, E, ka, kc) \
    HD inline void wmma_##name##_fill(u32 *tile, u32 lane, u32 number) {  \
        const bits_kept kept = {ka}, kept_c = {kc};                       \
        for (u32 i = lane; i < 512u; i += 32u)                            \
            tile[i] = word_of(number, i, i < 256u ? kept : kept_c);       \
    }
WMMA_FORMS(WMMA_FILL)

#ifndef __CUDACC__
#undef row_major
#undef col_major
#endif

#endif
