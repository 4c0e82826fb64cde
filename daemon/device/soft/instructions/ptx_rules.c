/* SPDX-License-Identifier: Apache-2.0
 *
 * The table and how an opcode is held against it.
 *
 * A rule has three columns behind its operation:
 *   types     a word for each type in order, alternatives by '|'; "*": any types from here on
 *   words     groups of alternatives, of which an opcode has at most one each; '+': exactly one,
 *             '^': exactly one, and it comes first; an alternative may end in '*'; "*": any words
 *   operands  a word each: a digit (the type in that position), or types by '|'; or [ an address,
 *             ] one in any space, # an integer literal, L a label, * anything; "...": anything from
 * here on. Before it ?  may be absent            =  is written            h  goes with
 * .L2::cache_hint and behind it ~  a wider register too     !  no literal                s  special
 * registers too _  the sink too             |  d|p too                   &  d|p only v  {...} with
 * .v2 .v4 .v8   p  {...} of parts too        @  names of variables too q  {...} of four
 */
#include "daemon/device/soft/instructions/ptx_rules.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"

struct ptx_rule {
    enum ptx_op op;
    const char *types, *words, *operands;
};

/* clang-format off */
#define I16 "u16|s16"
#define I32 "u32|s32"
#define I64 "u64|s64"
#define LONGS I32 "|" I64
#define INTS I16 "|" LONGS
#define ALL_INTS "u8|s8|" INTS
#define BITS "b16|b32|b64"
#define REALS "f32|f64"
#define SCALARS BITS "|" INTS "|" REALS
#define MEMORY "b8|b128|u8|s8|" SCALARS
#define HALF "f16|f16x2"
#define BRAIN "bf16|bf16x2"
#define HALVES HALF "|" BRAIN
#define PACKED "tf32|s2f6x2"
#define ROUND "rn|rz|rm|rp"
#define ROUNDI "rni|rzi|rmi|rpi"
#define SHARED "shared|shared::cta|shared::cluster"
#define PARAM "param|param::entry|param::func"
#define SCOPE "cta|cluster|gpu|sys"
#define ORDER "eq|ne|lt|le|gt|ge"
#define UNORDERED "equ|neu|ltu|leu|gtu|geu|num|nan"
#define BOOL "and|or|xor"

#define LD_WORDS                                                                                   \
    " const|global|local|" SHARED "|" PARAM            \
    " nc ca|cg|cs|lu|cv L1::* L2::evict_*|L2::cache_hint L2::64B|L2::128B|L2::256B v2|v4|v8"
#define ST_WORDS                                                                                   \
    " global|local|" SHARED "|" PARAM                  \
    " wb|cg|cs|wt L1::* L2::evict_*|L2::cache_hint v2|v4|v8"
#define ATOM_WORDS "relaxed|acquire|release|acq_rel " SCOPE " global|" SHARED " L2::cache_hint "
#define RED_WORDS "relaxed|release " SCOPE " global|" SHARED " L2::cache_hint "

/* What says that asynchronous work is done, and where that of the two kinds goes. */
#define COMPLETES "mbarrier::complete_tx::bytes"
#define NEAR "+shared::cluster +shared::cta +" COMPLETES " "
#define FAR "+global +shared::cta +bulk_group L2::cache_hint "
#define RED_ASYNC "^async +relaxed +cluster shared::cluster +" COMPLETES " "

/* Boxes of tensors, and modes that are not run here. */
#define DIMENSIONS "1d|2d|3d|4d|5d"
#define MODES "im2col|im2col::*|im2col_no_offs|tile::*|cta_group::*"

#define R(op, types, words, operands) {PTX_OP_##op, types, words, operands},

static const struct ptx_rule rules[] = {
    /* ---- integers */
    R(add, INTS, "", "=0 0 0")
    R(add, "s32", "+sat", "=0 0 0")
    R(add, LONGS, "+cc", "=0 0 0")
    R(add, "u16x2|s16x2", "", "=0 0 0")
    R(sub, INTS, "", "=0 0 0")
    R(sub, "s32", "+sat", "=0 0 0")
    R(sub, LONGS, "+cc", "=0 0 0")
    R(addc, INTS, "cc", "=0 0 0")
    R(subc, INTS, "cc", "=0 0 0")
    R(mul, INTS, "^lo|hi", "=0 0 0")
    R(mul, "u16", "^wide", "=u32 0 0")
    R(mul, "s16", "^wide", "=s32 0 0")
    R(mul, "u32", "^wide", "=u64 0 0")
    R(mul, "s32", "^wide", "=s64 0 0")
    R(mad, INTS, "^lo|hi", "=0 0 0 0")
    R(mad, "s32", "^hi +sat", "=0 0 0 0")
    R(mad, LONGS, "^lo|hi +cc", "=0 0 0 0")
    R(mad, "u16", "^wide", "=u32 0 0 u32")
    R(mad, "s16", "^wide", "=s32 0 0 s32")
    R(mad, "u32", "^wide", "=u64 0 0 u64")
    R(mad, "s32", "^wide", "=s64 0 0 s64")
    R(madc, INTS, "^lo|hi cc", "=0 0 0 0")
    R(madc, "s32", "^hi +sat", "=0 0 0 0")
    R(mul24, I32, "^lo|hi", "=0 0 0")
    R(mad24, I32, "^lo|hi", "=0 0 0 0")
    R(mad24, "s32", "^hi +sat", "=0 0 0 0")
    R(sad, INTS, "", "=0 0 0 0")
    R(div, INTS, "", "=0 0 0")
    R(rem, INTS, "", "=0 0 0")
    R(abs, "s16|s32|s64", "", "=0 0")
    R(neg, "s16|s32|s64", "", "=0 0")
    R(min, INTS "|u16x2|s16x2", "", "=0 0 0")
    R(min, "s32|s16x2", "+relu", "=0 0 0")
    R(max, INTS "|u16x2|s16x2", "", "=0 0 0")
    R(max, "s32|s16x2", "+relu", "=0 0 0")
    R(popc, "b32|b64", "", "=u32 0")
    R(clz, "b32|b64", "", "=u32 0")
    R(bfind, LONGS, "shiftamt", "=u32 0")
    R(fns, "b32", "", "=0 0 0 0")
    R(brev, "b32|b64", "", "=0 0")
    R(bfe, LONGS, "", "=0 0 u32 u32")
    R(bfi, "b32|b64", "", "=0 0 0 u32 u32")
    R(bmsk, "b32", "+clamp|wrap", "=0 0 0")
    R(szext, I32, "+clamp|wrap", "=0 0 u32")
    R(dp4a, I32 " " I32, "", "=u32 b32 b32 u32")
    R(dp2a, I32 " " I32, "^lo|hi", "=u32 b32 b32 u32")

    /* ---- floating point */
    R(add, "f32", ROUND " ftz sat", "=0 0 0")
    R(add, "f64", ROUND, "=0 0 0")
    R(add, HALF, "rn ftz sat", "=0 0 0")
    R(add, BRAIN, "rn", "=0 0 0")
    R(add, "f32 f16|bf16", ROUND " sat", "=0 1 0")
    R(add, "f32x2", ROUND " ftz", "=0 0 0")
    R(sub, "f32", ROUND " ftz sat", "=0 0 0")
    R(sub, "f64", ROUND, "=0 0 0")
    R(sub, HALF, "rn ftz sat", "=0 0 0")
    R(sub, BRAIN, "rn", "=0 0 0")
    R(sub, "f32 f16|bf16", ROUND " sat", "=0 1 0")
    R(sub, "f32x2", ROUND " ftz", "=0 0 0")
    R(mul, "f32", ROUND " ftz sat", "=0 0 0")
    R(mul, "f64", ROUND, "=0 0 0")
    R(mul, HALF, "rn ftz sat", "=0 0 0")
    R(mul, BRAIN, "rn", "=0 0 0")
    R(mul, "f32x2", ROUND " ftz", "=0 0 0")
    R(fma, "f32", "+" ROUND " ftz sat", "=0 0 0 0")
    R(fma, "f64", "+" ROUND, "=0 0 0 0")
    R(fma, HALF, "+rn ftz sat oob relu", "=0 0 0 0")
    R(fma, BRAIN, "+rn oob relu", "=0 0 0 0")
    R(fma, "f32 f16|bf16", "+" ROUND " sat", "=0 1 1 0")
    R(fma, "f32x2", "+" ROUND " ftz", "=0 0 0 0")
    R(mad, "f32", "+" ROUND " ftz sat", "=0 0 0 0")
    R(mad, "f64", "+" ROUND, "=0 0 0 0")
    R(div, "f32", "+" ROUND "|approx|full ftz", "=0 0 0")
    R(div, "f64", "+" ROUND, "=0 0 0")
    R(rcp, "f32", "+" ROUND "|approx ftz", "=0 0")
    R(rcp, "f64", "+" ROUND " ftz", "=0 0")
    R(rcp, "f64", "+approx +ftz", "=0 0")
    R(sqrt, "f32", "+" ROUND "|approx ftz", "=0 0")
    R(sqrt, "f64", "+" ROUND, "=0 0")
    R(rsqrt, REALS, "+approx ftz", "=0 0")
    R(sin, "f32", "+approx ftz", "=0 0")
    R(cos, "f32", "+approx ftz", "=0 0")
    R(lg2, "f32", "+approx ftz", "=0 0")
    R(ex2, "f32", "+approx ftz", "=0 0")
    R(ex2, HALF, "+approx", "=0 0")
    R(ex2, BRAIN, "+approx +ftz", "=0 0")
    R(tanh, "f32|" HALVES, "+approx", "=0 0")
    R(abs, "f32|" HALF, "ftz", "=0 0")
    R(abs, "f64|" BRAIN, "", "=0 0")
    R(neg, "f32|" HALF, "ftz", "=0 0")
    R(neg, "f64|" BRAIN, "", "=0 0")
    R(min, "f32", "ftz NaN xorsign abs", "=0 0 0 ?0")
    R(min, "f64", "", "=0 0 0")
    R(min, HALF, "ftz NaN xorsign abs", "=0 0 0")
    R(min, BRAIN, "NaN xorsign abs", "=0 0 0")
    R(max, "f32", "ftz NaN xorsign abs", "=0 0 0 ?0")
    R(max, "f64", "", "=0 0 0")
    R(max, HALF, "ftz NaN xorsign abs", "=0 0 0")
    R(max, BRAIN, "NaN xorsign abs", "=0 0 0")
    R(copysign, REALS, "", "=0 0 0")
    R(testp, REALS, "finite|infinite|number|notanumber|normal|subnormal", "=pred 0")

    /* ---- logic, comparison, selection */
    R(and, "pred|" BITS, "", "=0 0 0")
    R(or, "pred|" BITS, "", "=0 0 0")
    R(xor, "pred|" BITS, "", "=0 0 0")
    R(not, "pred|" BITS, "", "=0 0")
    R(cnot, BITS, "", "=0 0")
    R(lop3, "b32", "", "=0_ 0 0 0 #")
    R(lop3, "b32", "+" BOOL, "=0& 0 0 0 # pred")
    R(shl, BITS, "", "=0 0 u32")
    R(shr, BITS "|" INTS, "", "=0 0 u32")
    R(shf, "b32", "^l|r +clamp|wrap", "=0 0 0 u32")
    R(prmt, "b32", "f4e|b4e|rc8|ecl|ecr|rc16", "=0 0 0 0")
    R(setp, BITS, "+eq|ne", "=pred_| 0 0")
    R(setp, BITS, "+eq|ne +" BOOL, "=pred_| 0 0 pred")
    R(setp, "u16|u32|u64", "+" ORDER "|lo|ls|hi|hs", "=pred_| 0 0")
    R(setp, "u16|u32|u64", "+" ORDER "|lo|ls|hi|hs +" BOOL, "=pred_| 0 0 pred")
    R(setp, "s16|s32|s64", "+" ORDER, "=pred_| 0 0")
    R(setp, "s16|s32|s64", "+" ORDER " +" BOOL, "=pred_| 0 0 pred")
    R(setp, "f32|" HALF, "+" ORDER "|" UNORDERED " ftz", "=pred_| 0 0")
    R(setp, "f32|" HALF, "+" ORDER "|" UNORDERED " +" BOOL " ftz", "=pred_| 0 0 pred")
    R(setp, "f64|" BRAIN, "+" ORDER "|" UNORDERED, "=pred_| 0 0")
    R(setp, "f64|" BRAIN, "+" ORDER "|" UNORDERED " +" BOOL, "=pred_| 0 0 pred")
    R(set, I32 "|f32|f16|bf16 " BITS, "+eq|ne", "=0 1 1")
    R(set, I32 "|f32|f16|bf16 " BITS, "+eq|ne +" BOOL, "=0 1 1 pred")
    R(set, I32 "|f32|f16|bf16 u16|u32|u64", "+" ORDER "|lo|ls|hi|hs", "=0 1 1")
    R(set, I32 "|f32|f16|bf16 u16|u32|u64", "+" ORDER "|lo|ls|hi|hs +" BOOL, "=0 1 1 pred")
    R(set, I32 "|f32|f16|bf16 s16|s32|s64", "+" ORDER, "=0 1 1")
    R(set, I32 "|f32|f16|bf16 s16|s32|s64", "+" ORDER " +" BOOL, "=0 1 1 pred")
    R(set, I32 "|f32|f16|bf16 f32", "+" ORDER "|" UNORDERED " ftz", "=0 1 1")
    R(set, I32 "|f32|f16|bf16 f32", "+" ORDER "|" UNORDERED " +" BOOL " ftz", "=0 1 1 pred")
    R(set, I32 "|f32|f16|bf16 f64", "+" ORDER "|" UNORDERED, "=0 1 1")
    R(set, I32 "|f32|f16|bf16 f64", "+" ORDER "|" UNORDERED " +" BOOL, "=0 1 1 pred")
    R(set, I16 "|f16|bf16 f16|bf16", "+" ORDER "|" UNORDERED " ftz", "=b16 1 1")
    R(set, I16 "|f16|bf16 f16|bf16", "+" ORDER "|" UNORDERED " +" BOOL " ftz", "=b16 1 1 pred")
    R(set, I32 " f16|bf16", "+" ORDER "|" UNORDERED " ftz", "=0 1 1")
    R(set, I32 " f16|bf16", "+" ORDER "|" UNORDERED " +" BOOL " ftz", "=0 1 1 pred")
    R(set, I32 "|f16x2|bf16x2 f16x2|bf16x2", "+" ORDER "|" UNORDERED " ftz", "=b32 1 1")
    R(set, I32 "|f16x2|bf16x2 f16x2|bf16x2", "+" ORDER "|" UNORDERED " +" BOOL " ftz",
      "=b32 1 1 pred")
    R(selp, SCALARS, "", "=0 0 0 pred")
    R(slct, SCALARS " s32", "", "=0 0 0 1")
    R(slct, SCALARS " f32", "ftz", "=0 0 0 1")

    /* ---- moves */
    R(mov, BITS, "", "=0p 0ps@")
    R(mov, INTS, "", "=0 0s@")
    R(mov, REALS, "", "=0 0@")
    R(mov, "pred", "", "=0 0s")
    R(mov, "b128", "", "=0p 0p@")
    R(mov, SCALARS, "+v2|v4", "...")
    R(cvt, ALL_INTS " " ALL_INTS, "sat", "=0~ 1~s")
    R(cvt, "f16|f64 " ALL_INTS, "+" ROUND " sat", "=0~ 1~")
    R(cvt, "f32 " ALL_INTS, "+" ROUND " ftz sat", "=0~ 1~")
    R(cvt, "bf16 " ALL_INTS, "+" ROUND " sat", "=0 1")
    R(cvt, ALL_INTS " f16|f64", "+" ROUNDI " sat", "=0~ 1~")
    R(cvt, ALL_INTS " bf16", "+" ROUNDI " sat", "=0 1")
    R(cvt, ALL_INTS " f32", "+" ROUNDI " ftz sat", "=0~ 1~")
    R(cvt, "f32|f64 f16|bf16", "ftz sat", "=0~ 1~")
    R(cvt, "f32|f64 bf16", "+" ROUND " ftz", "=0~ 1~")
    R(cvt, "f64 f32", "ftz sat", "=0~ 1~")
    R(cvt, "f16|bf16 f32|f64", "+" ROUND " ftz sat|satfinite relu", "=0~ 1~")
    R(cvt, "f32 f64", "+" ROUND " ftz sat", "=0~ 1~")
    R(cvt, "f32 f32", ROUNDI " ftz sat", "=0~ 1~")
    R(cvt, "f64 f64", ROUNDI " sat", "=0~ 1~")
    R(cvt, "f16 f16", ROUNDI " ftz sat", "=0~ 1~")
    R(cvt, "bf16 bf16", ROUNDI " sat", "=0~ 1~")
    R(cvt, "f16 bf16", ROUND " sat", "=0~ 1~")
    R(cvt, "bf16 f16", ROUND " sat", "=0~ 1~")
    R(cvt, "f16x2|bf16x2 f32", "+" ROUND " relu satfinite", "=b32~ 1~ 1~")
    R(cvt, "f16x2|bf16x2 f32", "+rs relu satfinite", "=b32~ 1~ 1~ b32")
    R(cvt, "e4m3x4|e5m2x4|e2m3x4|e3m2x4 f32", "+rs +satfinite relu", "=b32 1q b32")
    R(cvt, "e2m1x4 f32", "+rs +satfinite relu", "=b16 1q b32")
    R(cvt, "tf32 f32", "+rna|rn|rz satfinite relu", "=b32 1")
    R(cvt, "e4m3x2|e5m2x2 f32", "+rn +satfinite relu", "=b16~ 1~ 1~")
    R(cvt, "e4m3x2|e5m2x2 f16x2", "+rn +satfinite relu", "=b16~ b32~")
    R(cvt, "f16x2 e4m3x2|e5m2x2", "+rn relu", "=b32~ b16~")
    R(cvt, "e2m3x2|e3m2x2 f32", "+rn +satfinite relu", "=b16~ 1~ 1~")
    R(cvt, "f16x2 e2m3x2|e3m2x2", "+rn relu", "=b32~ b16~")
    R(cvt, "e2m1x2 f32", "+rn +satfinite relu", "=b8 1~ 1~")
    R(cvt, "f16x2 e2m1x2", "+rn relu", "=b32~ b8")
    R(cvt, "ue8m0x2 f32", "+rz|rp satfinite", "=b16~ 1~ 1~")
    R(cvt, "ue8m0x2 bf16x2", "+rz|rp satfinite", "=b16~ b32~")
    R(cvt, "bf16x2 ue8m0x2", "+rn", "=b32~ b16~")
    R(cvt, I16 "|u8|s8 s32", "+pack +sat", "=u32~ 1~ 1~")
    R(cvt, I16 "|u8|s8 s32 b32", "+pack +sat", "=u32~ 1~ 1~ b32~")
    R(cvt, PACKED " f32|bf16x2", "*", "...")
    R(cvt, "f32|" HALVES " " PACKED " *", "*", "...")
    R(cvt, "*", "+pack *", "...")
    R(cvta, "u32|u64", "+const|global|local|" SHARED "|" PARAM, "=0 0@")
    R(cvta, "u32|u64", "+to +const|global|local|" SHARED "|" PARAM, "=0 0@")
    R(isspacep, "", "+const|global|local|" SHARED "|" PARAM, "=pred u32|u64")
    R(mapa, LONGS, SHARED, "=0 0@ u32")
    R(alloca, "u32|u64", "", "=0 0 ?#")
    R(stacksave, "u32|u64", "", "=0")
    R(stackrestore, "u32|u64", "", "0!")
    R(createpolicy, "b64", "^fractional +L2::evict_*", "=0 ?f32")
    R(createpolicy, "b64", "^range|cvt *", "...")
    R(getctarank, LONGS, SHARED, "=u32 0@")

    /* ---- memory */
    R(ld, MEMORY, "weak|volatile" LD_WORDS, "=0~v [ hb64")
    R(ld, MEMORY, "+relaxed|acquire mmio +" SCOPE LD_WORDS, "=0~v [ hb64")
    R(ldu, MEMORY, "global v2|v4", "=0~v [")
    R(st, MEMORY, "weak|volatile" ST_WORDS, "[ 0~v hb64")
    R(st, MEMORY, "+relaxed|release mmio +" SCOPE ST_WORDS, "[ 0~v hb64")
    R(st, "b32|b64|" LONGS "|" REALS, "^async weak shared::cluster +" COMPLETES " v2|v4", "[ 0v ]")
    R(st, MEMORY, "^async mmio +release +" SCOPE " global", "[ 0")
    R(st, "", "^bulk weak shared::cta", "[ u64 #")
    R(prefetch, "", "global|local +L1|L2|L2::evict_*", "[")
    R(prefetch, "", "const|" PARAM " +tensormap", "[")
    R(prefetchu, "", "+L1", "[")
    R(discard, "", "global +L2", "[ #")
    R(applypriority, "", "global +L2::evict_normal", "[ #")
    R(atom, "u32|s32|u64|f32|f64", ATOM_WORDS "+add", "=0_ [ 0 hb64")
    R(atom, HALVES, ATOM_WORDS "+add +noftz", "=0_ [ 0 hb64")
    R(atom, LONGS, ATOM_WORDS "+min|max", "=0_ [ 0 hb64")
    R(atom, "b32|b64", ATOM_WORDS "+and|or|xor", "=0_ [ 0 ?*")
    R(atom, "b32|b64|b128", ATOM_WORDS "+exch", "=0_ [ 0 ?*")
    R(atom, "u32", ATOM_WORDS "+inc|dec", "=0_ [ 0 hb64")
    R(atom, "b16|b32|b64|b128", ATOM_WORDS "+cas", "=0_ [ 0 0 hb64")
    R(atom, "f32|" HALVES, ATOM_WORDS "+add|min|max +v2|v4|v8 noftz", "=0v_ [ 0v hb64")
    R(red, "u32|s32|u64|f32|f64", RED_WORDS "+add", "[ 0 hb64")
    R(red, HALVES, RED_WORDS "+add +noftz", "[ 0 hb64")
    R(red, LONGS, RED_WORDS "+min|max", "[ 0 hb64")
    R(red, "b32|b64", RED_WORDS "+and|or|xor", "[ 0 hb64")
    R(red, "u32", RED_WORDS "+inc|dec", "[ 0 hb64")
    R(red, "f32|" HALVES, RED_WORDS "+add|min|max +v2|v4|v8 noftz", "[ 0v hb64")
    R(red, "u32|s32|u64", RED_ASYNC "+add", "[ 0 ]")
    R(red, "u32", RED_ASYNC "+inc|dec", "[ 0 ]")
    R(red, I32, RED_ASYNC "+min|max", "[ 0 ]")
    R(red, "b32", RED_ASYNC "+" BOOL, "[ 0 ]")
    R(red, "u32|s32|u64|s64", "^async mmio +release +" SCOPE " global +add", "[ 0")
    R(cp, "", "^async +ca|cg +shared|shared::cta +global L2::64B|L2::128B|L2::256B L2::cache_hint",
      "] ] # ?u32|pred hb64")
    R(cp, "", "^async +commit_group|wait_all", "")
    R(cp, "", "^async +wait_group", "#")
    R(cp, "b64", "^async +mbarrier +arrive noinc " SHARED, "[")
    R(cp, "", "^async +bulk +shared::cluster|shared::cta +global|shared::cta"
      " +" COMPLETES " L2::cache_hint", "] ] u32 ] hb64")
    R(cp, "", "^async +bulk +shared::cta +global +" COMPLETES " L2::cache_hint +ignore_oob",
      "] ] u32 u32 u32 ] hb64")
    R(cp, "", "^async +bulk +shared::cluster +global +" COMPLETES " +multicast::cluster L2::cache_hint",
      "] ] u32 ] u16 hb64")
    R(cp, "", "^async +bulk +global +shared::cta +bulk_group L2::cache_hint", "] ] u32 hb64")
    R(cp, "", "^async +bulk +global +shared::cta +bulk_group +cp_mask", "] ] u32 u16")
    R(cp, "", "^async +bulk +global +shared::cta +bulk_group +L2::cache_hint +cp_mask",
      "] ] u32 b64 u16")
    R(cp, "", "^async +bulk +prefetch +L2 +global L2::cache_hint", "] u32 hb64")
    R(cp, "", "^async +bulk +commit_group", "")
    R(cp, "", "^async +bulk +wait_group read", "#")
    R(cp, "", "^async +bulk +tensor +" DIMENSIONS " +shared::cluster|shared::cta +global tile +" COMPLETES
      " L2::cache_hint", "] * ] hb64")
    R(cp, "", "^async +bulk +tensor +" DIMENSIONS " +shared::cluster +global tile +" COMPLETES
      " +multicast::cluster L2::cache_hint", "] * ] u16 hb64")
    R(cp, "", "^async +bulk +tensor +" DIMENSIONS " +global +shared::cta tile +bulk_group L2::cache_hint",
      "* ] hb64")
    R(cp, "", "^async +bulk +prefetch +tensor +" DIMENSIONS " +L2 +global tile L2::cache_hint", "* hb64")
    R(cp, "", "^async +bulk +tensor +3d|4d|5d +shared::cluster|shared::cta +global +im2col +" COMPLETES
      " L2::cache_hint", "] * ] * hb64")
    R(cp, "", "^async +bulk +tensor +3d|4d|5d +shared::cluster +global +im2col +" COMPLETES
      " +multicast::cluster L2::cache_hint", "] * ] * u16 hb64")
    R(cp, "", "^async +bulk +tensor +2d +shared::cluster|shared::cta +global +tile::gather4 +" COMPLETES
      " L2::cache_hint", "] * ] hb64")
    R(cp, "", "^async +bulk +tensor +2d +shared::cluster +global +tile::gather4 +" COMPLETES
      " +multicast::cluster L2::cache_hint", "] * ] u16 hb64")
    R(cp, "", "^async +bulk +tensor +3d|4d|5d +global +shared::cta +im2col_no_offs +bulk_group L2::cache_hint",
      "* ] hb64")
    R(cp, "", "^async +bulk +tensor +2d +global +shared::cta +tile::scatter4 +bulk_group L2::cache_hint",
      "* ] hb64")
    R(cp, "*", "^async +bulk +tensor +" MODES " *", "...")
    R(cp, "u32|s32|u64", "^reduce +async +bulk " NEAR "+add", "] ] u32 ]")
    R(cp, "u32", "^reduce +async +bulk " NEAR "+inc|dec", "] ] u32 ]")
    R(cp, I32, "^reduce +async +bulk " NEAR "+min|max", "] ] u32 ]")
    R(cp, "b32", "^reduce +async +bulk " NEAR "+" BOOL, "] ] u32 ]")
    R(cp, "u32|s32|u64|" REALS, "^reduce +async +bulk " FAR "+add", "] ] u32 hb64")
    R(cp, "f16|bf16", "^reduce +async +bulk " FAR "+add +noftz", "] ] u32 hb64")
    R(cp, "u32", "^reduce +async +bulk " FAR "+inc|dec", "] ] u32 hb64")
    R(cp, LONGS "|f16|bf16", "^reduce +async +bulk " FAR "+min|max", "] ] u32 hb64")
    R(cp, "b32|b64", "^reduce +async +bulk " FAR "+" BOOL, "] ] u32 hb64")
    R(cp, "", "^reduce +async +bulk +tensor +" DIMENSIONS " +global +shared::cta +add|min|max|inc|dec|" BOOL
      " tile +bulk_group L2::cache_hint", "* ] hb64")
    R(cp, "*", "^reduce +async +bulk +tensor +" MODES " *", "...")
    R(tensormap, "b1024 b64", "^replace +tile +global_address global|shared::cta", "[ b64")
    R(tensormap, "b1024 b32", "^replace +tile +rank global|shared::cta", "[ b32")
    R(tensormap, "b1024 b32", "^replace +tile +box_dim|global_dim|element_stride global|shared::cta",
      "[ # b32")
    R(tensormap, "b1024 b64", "^replace +tile +global_stride global|shared::cta", "[ # b64")
    R(tensormap, "b1024 b32", "^replace +tile +elemtype|interleave_layout|swizzle_mode"
      "|swizzle_atomicity|fill_mode global|shared::cta", "[ #")
    R(tensormap, "", "^cp_fenceproxy +global +shared::cta +tensormap::generic +release +" SCOPE
      " +sync +aligned", "] ] #")

    /* ---- lanes and blocks */
    R(shfl, "b32", "+sync +up|down|bfly|idx", "=0| 0 0 0 u32")
    R(shfl, "b32", "+up|down|bfly|idx", "=0| 0 0 0")
    R(vote, "pred", "+sync +all|any|uni", "=pred pred u32")
    R(vote, "pred", "+all|any|uni", "=pred pred")
    R(vote, "b32", "+sync +ballot", "=b32 pred u32")
    R(vote, "b32", "+ballot", "=b32 pred")
    R(match, "b32|b64", "+sync +any", "=u32 0 u32")
    R(match, "b32|b64", "+sync +all", "=u32_| 0 u32")
    R(activemask, "b32", "", "=0")
    R(redux, I32, "+sync +add|min|max", "=0 0 u32")
    R(redux, "b32", "+sync +" BOOL, "=0 0 u32")
    R(redux, "f32", "+sync +min|max abs NaN", "=0 0 u32")
    R(elect, "", "+sync", "=b32& u32")
    R(bar, "", "cta +sync", "u32 ?u32")
    R(bar, "", "cta +arrive", "u32 u32")
    R(bar, "u32", "cta +red +popc", "=0 u32 ?u32 pred")
    R(bar, "pred", "cta +red +and|or", "=0 u32 ?u32 pred")
    R(bar, "", "+warp +sync", "u32")
    R(barrier, "", "cta aligned +sync", "u32 ?u32")
    R(barrier, "", "cta aligned +arrive", "u32 u32")
    R(barrier, "u32", "cta aligned +red +popc", "=0 u32 ?u32 pred")
    R(barrier, "pred", "cta aligned +red +and|or", "=0 u32 ?u32 pred")
    R(barrier, "", "+cluster +arrive release|relaxed aligned", "")
    R(barrier, "", "+cluster +wait acquire aligned", "")
    R(membar, "", "+cta|gl|sys", "")
    R(membar, "", "+proxy *", "...")
    R(fence, "", "sc|acq_rel|acquire|release sync_restrict::* +" SCOPE, "")
    R(fence, "", "+proxy|mbarrier_init *", "...")
    R(mbarrier, "b64", "^init " SHARED, "[ u32")
    R(mbarrier, "b64", "^inval " SHARED, "[")
    R(mbarrier, "b64", "^expect_tx|complete_tx relaxed " SCOPE " " SHARED, "[ u32")
    R(mbarrier, "b64", "^arrive|arrive_drop release|relaxed " SCOPE " " SHARED, "=b64_ [ ?u32")
    R(mbarrier, "b64", "^arrive|arrive_drop +noComplete|expect_tx release|relaxed " SCOPE " " SHARED,
      "=b64_ [ u32")
    R(mbarrier, "b64", "^test_wait acquire|relaxed " SCOPE " " SHARED, "=pred [ b64!")
    R(mbarrier, "b64", "^test_wait +parity acquire|relaxed " SCOPE " " SHARED, "=pred [ u32")
    R(mbarrier, "b64", "^try_wait acquire|relaxed " SCOPE " " SHARED, "=pred [ b64! ?u32")
    R(mbarrier, "b64", "^try_wait +parity acquire|relaxed " SCOPE " " SHARED, "=pred [ u32 ?u32")
    R(mbarrier, "b64", "^pending_count", "=b32 b64!")
    R(clusterlaunchcontrol, "b128", "^try_cancel +async shared::cta +" COMPLETES
      " multicast::cluster::all", "] ]")
    R(clusterlaunchcontrol, "pred b128", "^query_cancel +is_canceled", "=pred b128!")
    R(clusterlaunchcontrol, "b32 b128", "^query_cancel +get_first_ctaid +v4", "=b32v b128!")
    R(clusterlaunchcontrol, "b32 b128", "^query_cancel +get_first_ctaid::x|get_first_ctaid::y"
      "|get_first_ctaid::z", "=b32 b128!")
    R(griddepcontrol, "", "+wait|launch_dependents", "")
    R(setmaxnreg, I32, "+inc|dec +sync +aligned", "#")
    R(nanosleep, "u32", "", "0")

    /* ---- control */
    R(bra, "", "uni", "L")
    R(brx, "", "+idx uni", "u32! ?*")
    R(call, "", "uni", "...")
    R(ret, "", "uni", "")
    R(exit, "", "", "")
    R(trap, "", "", "")
    R(brkpt, "", "", "")
    R(pmevent, "", "mask", "#")

    /* ---- video */
    R(vadd, I32 " " I32 " " I32, "sat add|min|max", "=0 1 2 ?u32")
    R(vsub, I32 " " I32 " " I32, "sat add|min|max", "=0 1 2 ?u32")
    R(vabsdiff, I32 " " I32 " " I32, "sat add|min|max", "=0 1 2 ?u32")
    R(vmin, I32 " " I32 " " I32, "sat add|min|max", "=0 1 2 ?u32")
    R(vmax, I32 " " I32 " " I32, "sat add|min|max", "=0 1 2 ?u32")
    R(vshl, I32 " " I32 " u32", "sat +clamp|wrap add|min|max", "=0 1 2 ?u32")
    R(vshr, I32 " " I32 " u32", "sat +clamp|wrap add|min|max", "=0 1 2 ?u32")
    R(vmad, I32 " " I32 " " I32, "sat|po|shr7|shr15 shr7|shr15 sat", "=0 1 2 u32")
    R(vset, I32 " " I32, "+" ORDER "|lo|ls|hi|hs add|min|max", "=u32 0 1 ?u32")
    R(vadd2, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vsub2, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vavrg2, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vabsdiff2, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vmin2, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vmax2, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vset2, I32 " " I32, "+" ORDER "|lo|ls|hi|hs add", "=u32 u32! u32! u32!")
    R(vadd4, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vsub4, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vavrg4, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vabsdiff4, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vmin4, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vmax4, I32 " " I32 " " I32, "sat|add", "=u32 u32! u32! u32!")
    R(vset4, I32 " " I32, "+" ORDER "|lo|ls|hi|hs add", "=u32 u32! u32! u32!")
};

#undef R
/* clang-format on */

/* ---- words ----------------------------------------------------------------------------------- */

struct word {
    const char *at;
    size_t len;
};

/* The next word of `text` up to `end`; NULL behind the last. */
static const char *next_word(const char *text, char end, struct word *w) {
    while (*text == end)
        text++;
    w->at = text;
    w->len = 0;
    while (text[w->len] && text[w->len] != end)
        w->len++;
    return w->len ? text + w->len : NULL;
}

static bool same(struct word a, struct word b) {
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* `w` as one of `list`, alternatives by '|'. */
static bool one_of(struct word list, struct word w) {
    struct word alt = {list.at, 0};
    for (const char *at = list.at, *end = list.at + list.len; at < end; at = alt.at + alt.len + 1) {
        alt.at = at;
        const char *bar = memchr(at, '|', (size_t)(end - at));
        alt.len = (size_t)((bar ? bar : end) - at);
        if (same(alt, w)) return true;
        if (alt.len && at[alt.len - 1] == '*' && w.len >= alt.len - 1 &&
            memcmp(at, w.at, alt.len - 1) == 0)
            return true;
    }
    return false;
}

static bool in_list(const char *list, const char *text, size_t len) {
    struct word w;
    while ((list = next_word(list, ' ', &w)))
        if (same(w, (struct word){text, len})) return true;
    return false;
}

bool ptx_rules_other_op(const char *text, size_t len) {
    return in_list("multimem tcgen05", text, len);
}

bool ptx_rules_other_sreg(const char *text, size_t len) {
    static const char names[] = "%tid %ntid %ctaid %nctaid %clusterid %nclusterid %cluster_ctaid "
                                "%cluster_nctaid %tid.w %ntid.w %ctaid.w %nctaid.w %clusterid.w "
                                "%nclusterid.w %cluster_ctaid.w %cluster_nctaid.w";
    char numbered[16];
    for (int i = 0; i < 32 && len < sizeof(numbered); i++) {
        int n = snprintf(numbered, sizeof(numbered), "%%envreg%d", i);
        if ((size_t)n == len && memcmp(numbered, text, len) == 0) return true;
        n = snprintf(numbered, sizeof(numbered), "%%pm%d%s", i & 7, i & 8 ? "_64" : "");
        if ((size_t)n == len && memcmp(numbered, text, len) == 0) return true;
    }
    return in_list(names, text, len);
}

/* ---- an opcode's words against a rule -------------------------------------------------------- */

#define OPCODE_WORDS 24
#define OPCODE_GROUPS 24

struct opcode {
    struct word types[PTX_OPERANDS], words[OPCODE_WORDS];
    uint32_t type_count, word_count, vec;
    bool hint;       /* has .L2::cache_hint */
    bool word_first; /* words[0] directly behind the operation */
};

/* Each of them ends in a digit, but for one. */
static bool is_type(struct word w) {
    char last = w.at[w.len - 1];
    if ((last < '0' || last > '9') && last != 'd') return false;
    return ptx_type_find(w.at, w.len) ||
           in_list("b1 b4 u4 s4 b1024 b6x16_p32 b4x16_p64 s64x2 s2f6x2 "
                   "e4m3 e5m2 e2m1",
                   w.at, w.len);
}

/* False: more of them than any instruction has. */
static bool split(const char *text, struct opcode *o) {
    struct word w;
    text = next_word(text, '.', &w);
    for (uint32_t i = 0; text && (text = next_word(text, '.', &w)); i++) {
        if (is_type(w)) {
            if (o->type_count == PTX_OPERANDS) return false;
            o->types[o->type_count++] = w;
            continue;
        }
        if (o->word_count == OPCODE_WORDS) return false;
        if (i == 0) o->word_first = true;
        o->hint |= same(w, (struct word){"L2::cache_hint", 14});
        if (w.len == 2 && w.at[0] == 'v') o->vec = (uint32_t)(w.at[1] - '0');
        o->words[o->word_count++] = w;
    }
    return true;
}

static bool types_match(const struct ptx_rule *r, const struct opcode *o) {
    struct word w;
    uint32_t i = 0;
    for (const char *at = r->types; (at = next_word(at, ' ', &w)); i++) {
        if (w.len == 1 && w.at[0] == '*') return true;
        if (i == o->type_count || !one_of(w, o->types[i])) return false;
    }
    return i == o->type_count;
}

/* How far an opcode came; the complaint of the rule where it came farthest is shown. */
enum progress { RULE_TYPES, RULE_WORDS, RULE_MISSING, RULE_MATCH };

static enum progress words_match(const struct ptx_rule *r, const struct opcode *o,
                                 struct word *culprit) {
    struct word groups[OPCODE_GROUPS];
    bool taken[OPCODE_GROUPS] = {false};
    uint32_t count = 0, k;
    for (const char *at = r->words; count < OPCODE_GROUPS; count++)
        if (!(at = next_word(at, ' ', &groups[count]))) break;
    for (uint32_t i = 0; i < o->word_count; i++) {
        for (k = 0; k < count; k++) {
            struct word g = groups[k];
            bool first = g.at[0] == '^', any = g.len == 1 && g.at[0] == '*';
            if (any) break;
            if (g.at[0] == '+' || first) g = (struct word){g.at + 1, g.len - 1};
            bool open = memchr(g.at, '*', g.len); /* L1::..., of which there may be several */
            if ((taken[k] && !open) || !one_of(g, o->words[i])) continue;
            taken[k] = true;
            if (!first || (i == 0 && o->word_first)) break;
        }
        *culprit = o->words[i];
        if (k == count) return RULE_WORDS;
    }
    for (k = 0; k < count; k++) {
        *culprit = (struct word){groups[k].at + 1, groups[k].len - 1};
        if (!taken[k] && (groups[k].at[0] == '+' || groups[k].at[0] == '^')) return RULE_MISSING;
    }
    return RULE_MATCH;
}

/* ---- what its operands may be ---------------------------------------------------------------- */

static uint8_t literals(enum ptx_type t) {
    switch (ptx_type_class(t)) {
    case 'u':
    case 's':
    case 'p': return PTX_WANT_INT;
    case 'b':
        return PTX_WANT_INT | (t == PTX_B32 ? PTX_WANT_FLOAT4 : 0) |
               (t == PTX_B64 ? PTX_WANT_FLOAT8 : 0);
    default: return t == PTX_F32 || t == PTX_F64 ? PTX_WANT_FLOAT4 | PTX_WANT_FLOAT8 : 0;
    }
}

/* "Operand types": bits go with everything of their size, integers with integers, floats with
 * themselves and bits. .f16x2 registers pass for 32 bits of any kind. */
static bool reg_fits(enum ptx_type want, enum ptx_type reg, bool wider) {
    char w = ptx_type_class(want), r = ptx_type_class(reg);
    uint32_t need = ptx_type_bytes(want), have = ptx_type_bytes(reg);
    if (w == 'p' || r == 'p') return w == r;
    if (want == reg) return true;
    if (w == 'f' && want != PTX_F16 && want != PTX_F32 && want != PTX_F64) wider = false;
    if (wider ? have < need : have != need) return false;
    if (w == 'b' || r == 'b') return true;
    bool integers = (w == 'u' || w == 's') && (r == 'u' || r == 's');
    return integers || (reg == PTX_F16X2 && w != 'f');
}

/* ---- what is the same for every module ------------------------------------------------------- */

#define RULES (sizeof(rules) / sizeof(rules[0]))

static struct {
    uint16_t first[PTX_OP_COUNT], next[RULES]; /* by operation: number of a rule + 1, or 0 */
    uint32_t regs[2][PTX_TYPE_COUNT];          /* that fit a type, exactly and with wider ones */
} known;

static void learn(void) {
    for (size_t i = RULES; i-- > 0;) {
        known.next[i] = known.first[rules[i].op];
        known.first[rules[i].op] = (uint16_t)(i + 1);
    }
    for (int t = PTX_NONE + 1; t < PTX_TYPE_COUNT; t++)
        for (int r = PTX_NONE + 1; r <= PTX_PRED; r++)
            for (int wider = 0; wider < 2; wider++)
                if (reg_fits((enum ptx_type)t, (enum ptx_type)r, wider))
                    known.regs[wider][t] |= 1u << r;
}

static pthread_once_t once = PTHREAD_ONCE_INIT; /* learn */

static void want_type(struct ptx_want *want, struct word name, bool wider) {
    enum ptx_type t = ptx_type_find(name.at, name.len);
    if (!t) { /* unknown here, but bits all the same */
        want->regs |= 1u << PTX_B64 | 1u << PTX_B32 | 1u << PTX_B16 | 1u << PTX_B128;
        return;
    }
    want->bytes = (uint8_t)ptx_type_bytes(t);
    want->kinds |= literals(t);
    want->regs |= known.regs[wider][t];
}

static void add_type(struct ptx_want *want, enum ptx_type t, bool wider) {
    pthread_once(&once, learn);
    want->bytes = (uint8_t)ptx_type_bytes(t);
    want->kinds |= literals(t);
    want->regs |= known.regs[wider][t] | 1u << PTX_NONE;
}

void ptx_rules_want(struct ptx_want *want, enum ptx_type t) {
    add_type(want, t, false);
}

void ptx_rules_want_wider(struct ptx_want *want, enum ptx_type t) {
    add_type(want, t, true);
}

static uint16_t suffix_kind(char c) {
    switch (c) {
    case 's': return PTX_WANT_SPECIAL;
    case '@': return PTX_WANT_NAME;
    case '_': return PTX_WANT_SINK;
    case '|': return PTX_WANT_PAIR;
    case '&': return PTX_WANT_PAIR | PTX_WANT_ONLY_PAIR;
    case 'v': return PTX_WANT_ELEMENTS;
    case 'p': return PTX_WANT_PARTS;
    default: return 0;
    }
}

/* The types at the beginning of `spec`; how long they are. */
static size_t want_types(struct ptx_want *want, const struct opcode *o, struct word spec) {
    bool wider = memchr(spec.at, '~', spec.len) != NULL;
    size_t n = 0;
    if (spec.at[0] >= '0' && spec.at[0] < '0' + PTX_OPERANDS) {
        want_type(want, o->types[spec.at[0] - '0'], wider);
        return 1;
    }
    while (n < spec.len) {
        struct word t = {spec.at + n, 0};
        while (n + t.len < spec.len && strchr("bfpreduxs0123456789", t.at[t.len]))
            t.len++;
        want_type(want, t, wider);
        n += t.len;
        if (n + 1 >= spec.len || spec.at[n] != '|') break;
        n++;
    }
    return n;
}

static void want_operand(struct ptx_want *want, const struct opcode *o, struct word spec) {
    want->regs = 1u << PTX_NONE; /* vector registers and their parts are not looked into */
    if (spec.at[0] == '=') {
        want->kinds |= PTX_WANT_RESULT;
        spec = (struct word){spec.at + 1, spec.len - 1};
    }
    switch (spec.at[0]) {
    case '[': want->kinds |= PTX_WANT_ADDRESS; return;
    case ']': want->kinds |= PTX_WANT_ADDRESS | PTX_WANT_ANY_SPACE; return;
    case '#': want->kinds |= PTX_WANT_INT; return;
    case 'L': want->kinds |= PTX_WANT_LABEL; return;
    case '*': want->kinds |= PTX_WANT_ANY; return;
    default: break;
    }
    size_t n = want_types(want, o, spec);
    bool no_literal = memchr(spec.at, '!', spec.len) || want->kinds & PTX_WANT_RESULT;
    if (no_literal) want->kinds &= (uint16_t) ~(PTX_WANT_INT | PTX_WANT_FLOAT4 | PTX_WANT_FLOAT8);
    for (; n < spec.len; n++)
        want->kinds |= suffix_kind(spec.at[n]);
    if (o->vec < 2) want->kinds &= (uint16_t)~PTX_WANT_ELEMENTS;
    if (memchr(spec.at, 'q', spec.len)) {
        want->kinds |= PTX_WANT_ELEMENTS;
        want->count = 4;
    }
}

static void describe(const struct ptx_rule *r, const struct opcode *o, struct ptx_sig *sig) {
    struct word spec;
    *sig = (struct ptx_sig){0};
    for (const char *at = r->operands; (at = next_word(at, ' ', &spec)); sig->most++) {
        if (spec.at[0] == '.') {
            sig->open = true;
            return;
        }
        bool optional = spec.at[0] == '?', hint = spec.at[0] == 'h';
        if (hint && !o->hint) return;
        if (optional || hint) spec = (struct word){spec.at + 1, spec.len - 1};
        want_operand(&sig->wants[sig->most], o, spec);
        sig->least += !optional;
        if (optional) sig->optional = sig->most;
    }
}

/* ---- an opcode ------------------------------------------------------------------------------- */

static void complain(enum progress got, struct word w, char *why, size_t why_bytes) {
    int len = w.len > 60 ? 60 : (int)w.len;
    if (got == RULE_TYPES)
        snprintf(why, why_bytes, "the operation does not exist for these types");
    else if (got == RULE_WORDS)
        snprintf(why, why_bytes, "'.%.*s' does not go with the operation and its types", len, w.at);
    else
        snprintf(why, why_bytes, "one of %.*s is needed", len, w.at);
}

bool ptx_rules_match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                     size_t why_bytes) {
    struct opcode o = {.vec = 1};
    enum progress best = RULE_TYPES;
    struct word culprit = {0};
    pthread_once(&once, learn);
    bool ruled = known.first[op], split_up = split(text, &o);
    for (uint32_t n = known.first[op]; n && split_up; n = known.next[n - 1]) {
        const struct ptx_rule *r = &rules[n - 1];
        struct word w = {0};
        if (!types_match(r, &o)) continue;
        enum progress got = words_match(r, &o, &w);
        if (got == RULE_MATCH) {
            describe(r, &o, sig);
            return true;
        }
        if (got > best && r->types[0] != '*') {
            best = got;
            culprit = w;
        }
    }
    *sig = (struct ptx_sig){.open = true};
    if (ruled) complain(best, culprit, why, why_bytes);
    return !ruled;
}
