/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that are one instruction or an exact operation on the device, with their meaning
 * written out for the host. The generator reads the signatures of lines that begin with FN.
 *
 * A NaN has no defined payload or sign, so programs must not depend on them: f32_bits and f64_bits
 * return the same bits for every NaN, and numbers made from bits are never signalling.
 */
#ifndef TEST_RANDOM_INTRINSICS_H
#define TEST_RANDOM_INTRINSICS_H

#ifndef __CUDACC__
#include <fenv.h>
#include <math.h>
#include <string.h>
#endif

#define FN HD static inline

/* ---- division, which is undefined for some operands
 * --------------------------------------------- */

FN i32 quot_i32(i32 a, i32 b) {
    return b == 0 ? 7 : b == -1 ? (i32)(0u - (u32)a) : a / b;
}
FN i32 rest_i32(i32 a, i32 b) {
    return b == 0 ? a : b == -1 ? 0 : a % b;
}
FN i64 quot_i64(i64 a, i64 b) {
    return b == 0 ? 7 : b == -1 ? (i64)(0ull - (u64)a) : a / b;
}
FN i64 rest_i64(i64 a, i64 b) {
    return b == 0 ? a : b == -1 ? 0 : a % b;
}
FN u32 quot_u32(u32 a, u32 b) {
    return b == 0 ? 7 : a / b;
}
FN u32 rest_u32(u32 a, u32 b) {
    return b == 0 ? a : a % b;
}
FN u64 quot_u64(u64 a, u64 b) {
    return b == 0 ? 7 : a / b;
}
FN u64 rest_u64(u64 a, u64 b) {
    return b == 0 ? a : a % b;
}
FN i16 quot_i16(i16 a, i16 b) {
    return b == 0 ? (i16)7 : (i16)(a / b);
}

/* ---- bits --------------------------------------------------------------------------------------
 */

FN u32 popc32(u32 a) {
    return (u32)EITHER(__popc(a), __builtin_popcount(a));
}
FN u32 popc64(u64 a) {
    return (u32)EITHER(__popcll(a), __builtin_popcountll(a));
}
FN u32 clz32(u32 a) {
    return (u32)EITHER(__clz((int)a), a ? __builtin_clz(a) : 32);
}
FN u32 clz64(u64 a) {
    return (u32)EITHER(__clzll((long long)a), a ? __builtin_clzll(a) : 64);
}
FN u32 ffs32(u32 a) {
    return (u32)EITHER(__ffs((int)a), __builtin_ffs((int)a));
}
FN u32 ffs64(u64 a) {
    return (u32)EITHER(__ffsll((long long)a), __builtin_ffsll((long long)a));
}
FN u64 brev64(u64 a) {
#ifdef __CUDACC__
    return __brevll(a);
#else
    u64 r = 0;
    for (u32 k = 0; k < 64; k++)
        r |= (a >> k & 1) << (63 - k);
    return r;
#endif
}
FN u32 brev32(u32 a) {
    return EITHER(__brev(a), (u32)(brev64(a) >> 32));
}
FN u32 byte_perm(u32 a, u32 b, u32 s) {
#ifdef __CUDACC__
    return __byte_perm(a, b, s);
#else
    const u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (u32 k = 0; k < 4; k++)
        r |= (u32)(both >> (s >> 4 * k & 7) * 8 & 255) << 8 * k;
    return r;
#endif
}
/* Selectors with the sign bit set replicate the sign of the byte in all eight bits. */
FN u32 prmt_sign(u32 a, u32 b, u32 s) {
#ifdef __CUDACC__
    u32 r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(s));
    return r;
#else
    const u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (u32 k = 0; k < 4; k++) {
        const u32 byte = (u32)(both >> (s >> 4 * k & 7) * 8 & 255);
        r |= (s >> 4 * k & 8 ? byte >> 7 ? 255u : 0u : byte) << 8 * k;
    }
    return r;
#endif
}
FN u32 funnel_l(u32 lo, u32 hi, u32 n) {
    return EITHER(__funnelshift_l(lo, hi, n), (u32)((((u64)hi << 32 | lo) << (n & 31)) >> 32));
}
FN u32 funnel_lc(u32 lo, u32 hi, u32 n) {
    return EITHER(__funnelshift_lc(lo, hi, n), n >= 32 ? lo : funnel_l(lo, hi, n));
}
FN u32 funnel_r(u32 lo, u32 hi, u32 n) {
    return EITHER(__funnelshift_r(lo, hi, n), (u32)(((u64)hi << 32 | lo) >> (n & 31)));
}
FN u32 funnel_rc(u32 lo, u32 hi, u32 n) {
    return EITHER(__funnelshift_rc(lo, hi, n), n >= 32 ? hi : funnel_r(lo, hi, n));
}
/* The 256 functions of three bits; one of each kind is used. */
#ifdef __CUDACC__
#define LOP3(table)                                                                 \
    u32 r;                                                                          \
    asm("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
    return r
#else
#define LOP3(table)                                                                             \
    u32 r = 0;                                                                                  \
    for (u32 k = 0; k < 32; k++)                                                                \
        r |= ((u32)(table) >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k; \
    return r
#endif
FN u32 lop3_1b(u32 a, u32 b, u32 c) {
    LOP3(0x1b);
}
FN u32 lop3_96(u32 a, u32 b, u32 c) {
    LOP3(0x96);
}
FN u32 lop3_d8(u32 a, u32 b, u32 c) {
    LOP3(0xd8);
}

/* ---- instructions without a C operator: "=r"(u32), "=l"(u64), "=h"(u16)
 * ------------------------- */

#ifdef __CUDACC__
#define ASM1(T, text, out, in)             \
    T r;                                   \
    asm(text " %0, %1;" : out(r) : in(a)); \
    return r
#define ASM2(T, text, out, in)                        \
    T r;                                              \
    asm(text " %0, %1, %2;" : out(r) : in(a), in(b)); \
    return r
#define ASM2N(T, text, out, in)                        \
    T r;                                               \
    asm(text " %0, %1, %2;" : out(r) : in(a), "r"(n)); \
    return r
#define ASM3(T, text, out, in)                                   \
    T r;                                                         \
    asm(text " %0, %1, %2, %3;" : out(r) : in(a), in(b), in(c)); \
    return r
#define BY(device, ...) device
#else
#define BY(device, ...) __VA_ARGS__
#endif

/* Counts above the width act as the width. */
FN u32 shl_b32(u32 a, u32 n) {
    BY(ASM2N(u32, "shl.b32", "=r", "r"), return n > 31 ? 0 : a << n);
}
FN u32 shr_u32(u32 a, u32 n) {
    BY(ASM2N(u32, "shr.u32", "=r", "r"), return n > 31 ? 0 : a >> n);
}
FN i32 shr_s32(i32 a, u32 n) {
    BY(ASM2N(i32, "shr.s32", "=r", "r"), return a >> (n > 31 ? 31 : n));
}
FN u64 shl_b64(u64 a, u32 n) {
    BY(ASM2N(u64, "shl.b64", "=l", "l"), return n > 63 ? 0 : a << n);
}
FN u64 shr_u64(u64 a, u32 n) {
    BY(ASM2N(u64, "shr.u64", "=l", "l"), return n > 63 ? 0 : a >> n);
}
FN i64 shr_s64(i64 a, u32 n) {
    BY(ASM2N(i64, "shr.s64", "=l", "l"), return a >> (n > 63 ? 63 : n));
}
FN u16 shl_b16(u16 a, u32 n) {
    BY(ASM2N(u16, "shl.b16", "=h", "h"), return n > 15 ? (u16)0 : (u16)(a << n));
}
FN i16 shr_s16(i16 a, u32 n) {
    BY(ASM2N(i16, "shr.s16", "=h", "h"), return (i16)(a >> (n > 15 ? 15 : n)));
}
FN u32 bfe_u32(u32 a, u32 pos, u32 len) {
#ifdef __CUDACC__
    u32 r;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(pos), "r"(len));
    return r;
#else
    pos &= 255, len &= 255;
    const u32 v = pos > 31 ? 0 : a >> pos;
    return len > 31 ? v : v & ((1u << len) - 1);
#endif
}
FN i32 bfe_s32(i32 a, u32 pos, u32 len) {
#ifdef __CUDACC__
    i32 r;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(pos), "r"(len));
    return r;
#else
    pos &= 255, len &= 255;
    const u32 last = pos + len - 1 < 31 ? pos + len - 1 : 31;
    const u32 sign = len == 0 ? 0 : (u32)a >> last & 1;
    u32 r = 0;
    for (u32 k = 0; k < 32; k++)
        r |= (k < len && pos + k <= 31 ? (u32)a >> (pos + k) & 1 : sign) << k;
    return (i32)r;
#endif
}
/* For 64 bits, hardware uses the whole counts, not just their low 8 bits: ADR 0009. */
FN u64 bfe_u64(u64 a, u32 pos, u32 len) {
#ifdef __CUDACC__
    u64 r;
    asm("bfe.u64 %0, %1, %2, %3;" : "=l"(r) : "l"(a), "r"(pos), "r"(len));
    return r;
#else
    const u64 v = pos > 63 ? 0 : a >> pos;
    return len > 63 ? v : v & ((1ull << len) - 1);
#endif
}
FN u32 bfi_b32(u32 a, u32 b, u32 pos, u32 len) {
#ifdef __CUDACC__
    u32 r;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(pos), "r"(len));
    return r;
#else
    pos &= 255, len &= 255;
    u32 r = b;
    for (u32 k = 0; k < len && pos + k < 32; k++)
        r = (r & ~(1u << (pos + k))) | (a >> k & 1) << (pos + k);
    return r;
#endif
}
FN u32 slct_u32(u32 a, u32 b, i32 c) {
#ifdef __CUDACC__
    u32 r;
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
#else
    return c >= 0 ? a : b;
#endif
}
FN u64 selp_b64(u64 a, u64 b, u32 c) {
#ifdef __CUDACC__
    u64 r;
    asm("{ .reg .pred p; setp.ne.u32 p, %3, 0; selp.b64 %0, %1, %2, p; }"
        : "=l"(r)
        : "l"(a), "l"(b), "r"(c));
    return r;
#else
    return c ? a : b;
#endif
}
FN u32 set_lt_s32(i32 a, i32 b) {
    BY(ASM2(u32, "set.lt.u32.s32", "=r", "r"), return a < b ? ~0u : 0u);
}
/* Saturating conversions. */
FN i8 sat_s8_s32(i32 a) {
#ifdef __CUDACC__
    i32 r;
    asm("{ .reg .s8 x; cvt.sat.s8.s32 x, %1; cvt.s32.s8 %0, x; }" : "=r"(r) : "r"(a));
    return (i8)r;
#else
    return (i8)(a < -128 ? -128 : a > 127 ? 127 : a);
#endif
}
FN u16 sat_u16_s32(i32 a) {
    BY(ASM1(u16, "cvt.sat.u16.s32", "=h", "r"), return (u16)(a < 0 ? 0 : a > 65535 ? 65535 : a));
}
FN i32 sat_s32_s64(i64 a) {
    BY(ASM1(i32, "cvt.sat.s32.s64", "=r", "l"), return a < -2147483647ll - 1 ? -2147483647 - 1
                                                       : a > 2147483647ll    ? 2147483647
                                                                             : (i32)a);
}
FN i32 add_sat_s32(i32 a, i32 b) {
#ifdef __CUDACC__
    ASM2(i32, "add.sat.s32", "=r", "r");
#else
    return sat_s32_s64((i64)a + b);
#endif
}
FN i32 sub_sat_s32(i32 a, i32 b) {
#ifdef __CUDACC__
    ASM2(i32, "sub.sat.s32", "=r", "r");
#else
    return sat_s32_s64((i64)a - b);
#endif
}

/* ---- carries -----------------------------------------------------------------------------------
 */

/* The third word of a sum of 96-bit numbers. */
FN u32 add96(u32 a, u32 b, u32 c, u32 d) {
#ifdef __CUDACC__
    u32 r, s, h;
    asm("add.cc.u32 %0, %3, %5; addc.cc.u32 %1, %4, %6; addc.u32 %2, %3, %6;"
        : "=&r"(r), "=&r"(s), "=&r"(h)
        : "r"(a), "r"(b), "r"(c), "r"(d));
    return h + (r ^ s);
#else
    const u64 low = (u64)a + c, mid = (u64)b + d + (low >> 32);
    return a + d + (u32)(mid >> 32) + ((u32)low ^ (u32)mid);
#endif
}
FN u32 sub96(u32 a, u32 b, u32 c, u32 d) {
#ifdef __CUDACC__
    u32 r, s, h;
    asm("sub.cc.u32 %0, %3, %5; subc.cc.u32 %1, %4, %6; subc.u32 %2, %3, %6;"
        : "=&r"(r), "=&r"(s), "=&r"(h)
        : "r"(a), "r"(b), "r"(c), "r"(d));
    return h + (r ^ s);
#else
    const u64 low = (u64)a - c, mid = (u64)b - d - (low >> 63);
    return a - d - (u32)(mid >> 63) + ((u32)low ^ (u32)mid);
#endif
}
FN u64 mad_wide_chain(u32 a, u32 b, u64 c) {
#ifdef __CUDACC__
    u32 lo, hi;
    asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;"
        : "=&r"(lo), "=&r"(hi)
        : "r"(a), "r"(b), "r"((u32)c), "r"((u32)(c >> 32)));
    return (u64)hi << 32 | lo;
#else
    return (u64)a * b + c;
#endif
}
FN u64 mul128_fold(u64 a, u64 b) {
    const unsigned __int128 p = (unsigned __int128)a * b + (a ^ b);
    return (u64)(p >> 64) ^ (u64)p;
}
FN u64 sub128_fold(u64 a, u64 b, u64 c) {
    const unsigned __int128 p = ((unsigned __int128)a << 64 | b) - ((unsigned __int128)c << 32 | a);
    return (u64)(p >> 64) + (u64)(p >> 7);
}

/* ---- writes under a predicate: the old value stays where the predicate is false
 * ----------------- */

FN u32 guarded_mov(u32 a, u32 b, u32 c) {
#ifdef __CUDACC__
    asm("{ .reg .pred p; setp.gt.s32 p, %2, 0; @p mov.u32 %0, %1; }" : "+r"(a) : "r"(b), "r"(c));
    return a;
#else
    return (i32)c > 0 ? b : a;
#endif
}
FN u64 guarded_add64(u64 a, u64 b, u32 c) {
#ifdef __CUDACC__
    asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; @!p add.u64 %0, %0, %1; }"
        : "+l"(a)
        : "l"(b), "r"(c));
    return a;
#else
    return c ? a : a + b;
#endif
}
FN u16 guarded_mov16(u16 a, u16 b, u32 c) {
#ifdef __CUDACC__
    asm("{ .reg .pred p; setp.lt.u32 p, %2, 77; @p mov.u16 %0, %1; }" : "+h"(a) : "h"(b), "r"(c));
    return a;
#else
    return c < 77 ? b : a;
#endif
}
/* A predicate that is itself written under another predicate. */
FN u32 guarded_predicate(u32 a, u32 b, u32 c) {
#ifdef __CUDACC__
    u32 r;
    asm("{ .reg .pred p, q; setp.lt.u32 q, %1, %2; setp.ne.u32 p, %3, 0;\n\t"
        "@p setp.gt.s32 q, %2, %3; selp.u32 %0, %1, %3, q; }"
        : "=r"(r)
        : "r"(a), "r"(b), "r"(c));
    return r;
#else
    const bool q = c != 0 ? (i32)b > (i32)c : a < b;
    return q ? a : c;
#endif
}

/* A guarded write to a value that every iteration reads: it must stay live throughout the loop. */
FN u32 guarded_loop(u32 a, u32 b) {
#ifdef __CUDACC__
    u32 r;
    asm("{ .reg .pred p, q; .reg .u32 x, n, t, s;\n\t"
        "mov.u32 x, %1; mov.u32 n, %2; mov.u32 %0, 0;\n"
        "again: and.b32 t, n, 1; setp.ne.u32 p, t, 0;\n\t"
        "@p add.u32 x, n, 5;\n\t"
        "add.u32 %0, %0, x; shr.u32 n, n, 1;\n\t"
        "mul.lo.u32 s, %0, 7; xor.b32 %0, %0, s;\n\t"
        "setp.ne.u32 q, n, 0; @q bra again; }"
        : "=&r"(r)
        : "r"(a), "r"(b));
    return r;
#else
    u32 r = 0;
    do {
        if (b & 1) a = b + 5;
        r += a;
        b >>= 1;
        r ^= r * 7;
    } while (b);
    return r;
#endif
}

/* ---- jump tables, which this nvcc does not emit by itself
 * --------------------------------------- */

FN u32 jump_table(u32 a, u32 b) {
#ifdef __CUDACC__
    u32 r;
    asm("{ .reg .u32 i;\n\t"
        "and.b32 i, %1, 3;\n"
        "ways: .branchtargets one, two, three, four;\n\t"
        "brx.idx i, ways;\n"
        "one: add.u32 %0, %1, %2; bra over;\n"
        "two: xor.b32 %0, %1, %2;\n"
        "three: mul.lo.u32 %0, %2, 77; bra over;\n"
        "four: sub.u32 %0, %2, %1;\n"
        "over: }"
        : "=&r"(r)
        : "r"(a), "r"(b));
    return r;
#else
    return (a & 3) == 0 ? a + b : (a & 3) == 3 ? b - a : b * 77;
#endif
}
/* Jumps back and forth until nothing is left: lanes leave one by one. */
FN u32 jump_loop(u32 a, u16 b) {
#ifdef __CUDACC__
    u32 r;
    asm("{ .reg .u32 n, i; .reg .u16 h; .reg .pred p;\n\t"
        "mov.u32 %0, 0; mov.u16 h, %2; mov.u32 n, %1;\n"
        "ways: .branchtargets even, odd, third, over;\n"
        "even: add.u32 %0, %0, n; shr.u32 n, n, 2; bra next;\n"
        "odd: shr.u32 n, n, 3; add.u16 h, h, 3; bra next;\n"
        "third: shr.u32 n, n, 1; cvt.u32.u16 i, h; xor.b32 %0, %0, i;\n"
        "next: and.b32 i, n, 3; setp.eq.u32 p, n, 0; selp.u32 i, 3, i, p;\n\t"
        "setp.eq.u32 p, i, 3; @p setp.ne.u32 p, n, 0; selp.u32 i, 1, i, p;\n\t"
        "brx.idx i, ways;\n"
        "over: cvt.u32.u16 i, h; add.u32 %0, %0, i; }"
        : "=&r"(r)
        : "r"(a), "h"(b));
    return r;
#else
    u32 r = 0, way = 0;
    while (way != 3) {
        if (way == 0) r += a;
        if (way == 1) b = (u16)(b + 3);
        a >>= way == 0 ? 2 : way == 1 ? 3 : 1;
        if (way == 2) r ^= b;
        way = a == 0 ? 3 : (a & 3) == 3 ? 1 : a & 3;
    }
    return r + b;
#endif
}

/* ---- integers ----------------------------------------------------------------------------------
 */

FN u32 mulhi_u32(u32 a, u32 b) {
    return EITHER(__umulhi(a, b), (u32)((u64)a * b >> 32));
}
FN i32 mulhi_i32(i32 a, i32 b) {
    return EITHER(__mulhi(a, b), (i32)((i64)a * b >> 32));
}
FN u64 mulhi_u64(u64 a, u64 b) {
    return EITHER(__umul64hi(a, b), (u64)((unsigned __int128)a * b >> 64));
}
FN i64 mulhi_i64(i64 a, i64 b) {
    return EITHER(__mul64hi(a, b), (i64)((__int128)a * b >> 64));
}
FN i32 low24(i32 a) {
    return (i32)((u32)a << 8) >> 8;
}
/* The compiler's built-in function is not used: it assumes that the product cannot overflow. */
FN i32 mul24(i32 a, i32 b) {
    BY(ASM2(i32, "mul24.lo.s32", "=r", "r"), return (i32)((u32)low24(a) * (u32)low24(b)));
}
FN u32 umul24(u32 a, u32 b) {
    BY(ASM2(u32, "mul24.lo.u32", "=r", "r"), return (a & 0xffffff) * (b & 0xffffff));
}
FN i64 mul_wide_s16(i16 a, i16 b) {
    return (i64)a * b;
}
FN u32 sad_s32(i32 a, i32 b, u32 c) {
    return EITHER(__sad(a, b, c), (a > b ? (u32)a - (u32)b : (u32)b - (u32)a) + c);
}
FN u32 sad_u32(u32 a, u32 b, u32 c) {
    return EITHER(__usad(a, b, c), (a > b ? a - b : b - a) + c);
}
FN i32 hadd_s32(i32 a, i32 b) {
    return EITHER(__hadd(a, b), (i32)(((i64)a + b) >> 1));
}
FN u32 rhadd_u32(u32 a, u32 b) {
    return EITHER(__urhadd(a, b), (u32)(((u64)a + b + 1) >> 1));
}
FN i32 min_i32(i32 a, i32 b) {
    return EITHER(min(a, b), a < b ? a : b);
}
FN u32 max_u32(u32 a, u32 b) {
    return EITHER(max(a, b), a > b ? a : b);
}
FN i64 max_i64(i64 a, i64 b) {
    return EITHER(max(a, b), a > b ? a : b);
}
FN u64 min_u64(u64 a, u64 b) {
    return EITHER(min(a, b), a < b ? a : b);
}
FN u32 abs_i32(i32 a) {
    return a < 0 ? 0u - (u32)a : (u32)a;
}
FN u64 abs_i64(i64 a) {
    return a < 0 ? 0ull - (u64)a : (u64)a;
}
FN i32 dp4a_s32(i32 a, i32 b, i32 c) {
#ifdef __CUDACC__
    return __dp4a(a, b, c);
#else
    u32 sum = (u32)c;
    for (u32 k = 0; k < 4; k++)
        sum += (u32)((i32)(i8)((u32)a >> 8 * k) * (i32)(i8)((u32)b >> 8 * k));
    return (i32)sum;
#endif
}
FN u32 dp4a_u32(u32 a, u32 b, u32 c) {
#ifdef __CUDACC__
    return __dp4a(a, b, c);
#else
    for (u32 k = 0; k < 4; k++)
        c += (a >> 8 * k & 255) * (b >> 8 * k & 255);
    return c;
#endif
}
FN i32 dp2a_lo_s32(i32 a, i32 b, i32 c) {
#ifdef __CUDACC__
    i32 r;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
#else
    u32 sum = (u32)c;
    for (u32 k = 0; k < 2; k++)
        sum += (u32)((i32)(i16)((u32)a >> 16 * k) * (i32)(i8)((u32)b >> 8 * k));
    return (i32)sum;
#endif
}
/* Operations on four bytes at a time. */
FN u32 vadd4(u32 a, u32 b) {
#ifdef __CUDACC__
    return __vadd4(a, b);
#else
    u32 r = 0;
    for (u32 k = 0; k < 32; k += 8)
        r |= ((a >> k) + (b >> k) & 255) << k;
    return r;
#endif
}
FN u32 vabsdiffu4(u32 a, u32 b) {
#ifdef __CUDACC__
    return __vabsdiffu4(a, b);
#else
    u32 r = 0;
    for (u32 k = 0; k < 32; k += 8) {
        const u32 x = a >> k & 255, y = b >> k & 255;
        r |= (x > y ? x - y : y - x) << k;
    }
    return r;
#endif
}
FN u32 vmaxs2(u32 a, u32 b) {
#ifdef __CUDACC__
    return __vmaxs2(a, b);
#else
    const i16 al = (i16)a, bl = (i16)b, ah = (i16)(a >> 16), bh = (i16)(b >> 16);
    return (u32)(u16)(al > bl ? al : bl) | (u32)(u16)(ah > bh ? ah : bh) << 16;
#endif
}

/* ---- floating-point numbers and their bits
 * ------------------------------------------------------ */

FN f32 f32_raw(u32 a) {
#ifdef __CUDACC__
    return __uint_as_float(a);
#else
    f32 r;
    memcpy(&r, &a, sizeof(r));
    return r;
#endif
}
FN f64 f64_raw(u64 a) {
#ifdef __CUDACC__
    return __longlong_as_double((long long)a);
#else
    f64 r;
    memcpy(&r, &a, sizeof(r));
    return r;
#endif
}
FN u32 f32_bits(f32 a) {
#ifdef __CUDACC__
    return a != a ? 0x7fc00000u : __float_as_uint(a);
#else
    u32 r;
    memcpy(&r, &a, sizeof(r));
    return a != a ? 0x7fc00000u : r;
#endif
}
FN u64 f64_bits(f64 a) {
#ifdef __CUDACC__
    return a != a ? 0x7ff8000000000000ull : (u64)__double_as_longlong(a);
#else
    u64 r;
    memcpy(&r, &a, sizeof(r));
    return a != a ? 0x7ff8000000000000ull : r;
#endif
}
FN f32 f32_of(u32 a) {
    return f32_raw((a & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : a);
}
FN f64 f64_of(u64 a) {
    return f64_raw((a & 0x7fffffffffffffffull) > 0x7ff0000000000000ull ? 0x7ff8000000000000ull : a);
}
/* A number of moderate size, so that sums and products depend on both operands. */
FN f32 f32_tame(u32 a) {
    return (f32)(i32)a * 0.000030517578125f;
}
FN f64 f64_tame(u64 a) {
    return (f64)(i64)a * 0.000030517578125;
}

/* ---- floating-point arithmetic: exact, hence the same everywhere
 * -------------------------------- */

FN f32 fma_f32(f32 a, f32 b, f32 c) {
    return EITHER(__fmaf_rn(a, b, c), fmaf(a, b, c));
}
FN f64 fma_f64(f64 a, f64 b, f64 c) {
    return EITHER(__fma_rn(a, b, c), fma(a, b, c));
}
FN f32 sqrt_f32(f32 a) {
    return EITHER(__fsqrt_rn(a < 0 ? 0.0f - a : a), sqrtf(a < 0 ? 0.0f - a : a));
}
FN f64 sqrt_f64(f64 a) {
    return EITHER(__dsqrt_rn(a < 0 ? 0.0 - a : a), sqrt(a < 0 ? 0.0 - a : a));
}
/* A number wins over NaN, and 0 is greater than -0. The compiler's built-in function is not
 * used: when folding, it may return either zero. */
FN f32 min_f32(f32 a, f32 b) {
    BY(ASM2(f32, "min.f32", "=f", "f"), return a != a                            ? b
                                               : b != b                          ? a
                                               : a < b || (a == b && signbit(a)) ? a
                                                                                 : b);
}
FN f32 max_f32(f32 a, f32 b) {
    BY(ASM2(f32, "max.f32", "=f", "f"), return a != a                            ? b
                                               : b != b                          ? a
                                               : a > b || (a == b && signbit(b)) ? a
                                                                                 : b);
}
FN f64 min_f64(f64 a, f64 b) {
    BY(ASM2(f64, "min.f64", "=d", "d"), return a != a                            ? b
                                               : b != b                          ? a
                                               : a < b || (a == b && signbit(a)) ? a
                                                                                 : b);
}
FN f64 max_f64(f64 a, f64 b) {
    BY(ASM2(f64, "max.f64", "=d", "d"), return a != a                            ? b
                                               : b != b                          ? a
                                               : a > b || (a == b && signbit(b)) ? a
                                                                                 : b);
}
FN f32 floor_f32(f32 a) {
    return EITHER(floorf(a), floorf(a));
}
FN f32 rint_f32(f32 a) {
    return EITHER(rintf(a), rintf(a));
}
FN f64 trunc_f64(f64 a) {
    return EITHER(trunc(a), trunc(a));
}
FN f64 ceil_f64(f64 a) {
    return EITHER(ceil(a), ceil(a));
}
FN f32 abs_f32(f32 a) {
    return fabsf(a);
}
FN f64 abs_f64(f64 a) {
    return fabs(a);
}
FN f32 copysign_f32(f32 a, f32 b) {
    return copysignf(a, b != b ? 1.0f : b);
}

#ifndef __CUDACC__
/* The compiler must neither fold nor move an expression that depends on the rounding mode. */
#define DIRECTED(T, expression)                                               \
    volatile T x = a, y = b;                                                  \
    volatile T r;                                                             \
    const T unused = x + y; /* the last operation in the old rounding mode */ \
    (void)unused;                                                             \
    fesetround(mode);                                                         \
    r = expression;                                                           \
    fesetround(FE_TONEAREST);                                                 \
    return r
static NOINLINE f32 add_f32_in(int mode, f32 a, f32 b) {
    DIRECTED(f32, x + y);
}
static NOINLINE f32 mul_f32_in(int mode, f32 a, f32 b) {
    DIRECTED(f32, x * y);
}
static NOINLINE f32 div_f32_in(int mode, f32 a, f32 b) {
    DIRECTED(f32, x / y);
}
static NOINLINE f64 add_f64_in(int mode, f64 a, f64 b) {
    DIRECTED(f64, x + y);
}
static NOINLINE f64 mul_f64_in(int mode, f64 a, f64 b) {
    DIRECTED(f64, x * y);
}
static NOINLINE f32 f32_from_f64_in(int mode, f64 a, f64 b) {
    DIRECTED(f64, (f64)(f32)x);
}
#endif
FN f32 add_f32_rz(f32 a, f32 b) {
    return EITHER(__fadd_rz(a, b), add_f32_in(FE_TOWARDZERO, a, b));
}
FN f32 mul_f32_ru(f32 a, f32 b) {
    return EITHER(__fmul_ru(a, b), mul_f32_in(FE_UPWARD, a, b));
}
FN f32 div_f32_rd(f32 a, f32 b) {
    return EITHER(__fdiv_rd(a, b), div_f32_in(FE_DOWNWARD, a, b));
}
FN f64 add_f64_ru(f64 a, f64 b) {
    return EITHER(__dadd_ru(a, b), add_f64_in(FE_UPWARD, a, b));
}
FN f64 mul_f64_rz(f64 a, f64 b) {
    return EITHER(__dmul_rz(a, b), mul_f64_in(FE_TOWARDZERO, a, b));
}
FN f32 f32_from_f64_rd(f64 a) {
    return EITHER(__double2float_rd(a), f32_from_f64_in(FE_DOWNWARD, a, a));
}

/* ---- conversions: out of range gives the nearest value, NaN gives 0
 * ----------------------------- */

FN i32 i32_from_f32(f32 a) {
    return EITHER(__float2int_rz(a), a != a               ? 0
                                     : a >= 2147483648.0f ? 2147483647
                                     : a < -2147483648.0f ? -2147483647 - 1
                                                          : (i32)a);
}
FN u32 u32_from_f32(f32 a) {
    return EITHER(__float2uint_rz(a), a != a || a <= 0 ? 0u : a >= 4294967296.0f ? ~0u : (u32)a);
}
FN i64 i64_from_f64(f64 a) {
    return a != a
               ? 0
               : EITHER(__double2ll_rz(a), a >= 9223372036854775808.0   ? 0x7fffffffffffffffll
                                           : a < -9223372036854775808.0 ? -0x7fffffffffffffffll - 1
                                                                        : (i64)a);
}
FN u64 u64_from_f64(f64 a) {
    return a != a ? 0
                  : EITHER(__double2ull_rz(a), a <= 0                        ? 0ull
                                               : a >= 18446744073709551616.0 ? ~0ull
                                                                             : (u64)a);
}
FN i32 i32_from_f64_rn(f64 a) {
    return a != a ? 0
                  : EITHER(__double2int_rn(a), rint(a) >= 2147483648.0   ? 2147483647
                                               : rint(a) < -2147483648.0 ? -2147483647 - 1
                                                                         : (i32)rint(a));
}

/* ---- half precision, represented as bits
 * -------------------------------------------------------- */

#ifndef __CUDACC__
static inline _Float16 half_raw(u16 a) {
    _Float16 r;
    memcpy(&r, &a, sizeof(r));
    return r;
}
static inline u16 half_bits(_Float16 a) {
    u16 r;
    memcpy(&r, &a, sizeof(r));
    return r;
}
#endif
FN u16 half_tidy(u16 a) { /* maps every NaN to the same bits */
    return (a & 0x7fff) > 0x7c00 ? (u16)0x7fff : a;
}
#ifdef __CUDACC__
#define HALF(text, host)                                 \
    a = half_tidy(a), b = half_tidy(b);                  \
    u16 r;                                               \
    asm(text " %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b)); \
    return half_tidy(r)
#else
#define HALF(text, host)                                                   \
    const _Float16 x = half_raw(half_tidy(a)), y = half_raw(half_tidy(b)); \
    return half_tidy(half_bits(host))
#endif
FN u16 half_add(u16 a, u16 b) {
    HALF("add.rn.f16", (_Float16)((f32)x + (f32)y));
}
FN u16 half_sub(u16 a, u16 b) {
    HALF("sub.rn.f16", (_Float16)((f32)x - (f32)y));
}
FN u16 half_mul(u16 a, u16 b) {
    HALF("mul.rn.f16", (_Float16)((f32)x * (f32)y));
}
FN f32 f32_from_half(u16 a) {
    a = half_tidy(a);
#ifdef __CUDACC__
    f32 r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a));
    return r;
#else
    return (f32)half_raw(a);
#endif
}
FN u16 half_from_f32(f32 a) {
#ifdef __CUDACC__
    u16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(a));
    return half_tidy(r);
#else
    return half_tidy(half_bits((_Float16)a));
#endif
}

#endif
