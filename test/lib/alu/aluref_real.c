/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference for f32, f64, f16, bf16 and pairs: exact results with their error, rounded once.
 */
#include <math.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "test/lib/alu/aluref.h"

/* Clears the low 112 - keep bits of v's mantissa, so that products with the result are exact. */
static aluref_real truncated(aluref_real v, int keep) {
    aluref_uint bits;
    memcpy(&bits, &v, sizeof(bits));
    bits = bits >> (112 - keep) << (112 - keep);
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static bool ordinary(aluref_real v) {
    return v - v == 0 && v != 0;
}

static aluref_real quotient(aluref_real a, aluref_real b, aluref_real *error) {
    aluref_real q = a / b;
    if (!ordinary(q) || !ordinary(b)) return q;
    q = truncated(q, 57);
    const aluref_real rest = a - q * b;
    *error = rest == 0 ? 0 : (rest > 0) == (b > 0) ? 1 : -1; /* only the error's sign is used */
    return q;
}

static aluref_real root(aluref_real a, aluref_real *error) {
    if (a < 0) return (aluref_real)NAN;
    if (!ordinary(a)) return a;
    aluref_real s = sqrtl((long double)a);
    s = truncated((s + a / s) / 2, 55);
    const aluref_real rest = a - s * s;
    *error = rest == 0 ? 0 : rest > 0 ? 1 : -1;
    return s;
}

/* An exact zero that results from nonzero numbers, or from zeros of both signs, is -0 only when
 * rounding down. */
static aluref_real zero_rule(aluref_real s, aluref_real a, aluref_real b, enum ptx_round mode) {
    if (s != 0) return s;
    if (aluref_negative(a) == aluref_negative(b)) return aluref_negative(a) ? -(aluref_real)0 : 0;
    return mode == PTX_RM ? -(aluref_real)0 : (aluref_real)0;
}

/* `sign`: whether the sign bits of the operands differ, including NaN operands. */
static aluref_real choose(const struct ptx_inst *i, aluref_real a, aluref_real b, bool sign) {
    if (i->mods & PTX_MOD_XORSIGN) {
        if (aluref_negative(a)) a = -a;
        if (aluref_negative(b)) b = -b;
    }
    aluref_real v;
    if (a != a && b != b) return a;
    if (i->mods & PTX_MOD_NAN && (a != a || b != b)) return (aluref_real)NAN;
    if (a != a)
        v = b;
    else if (b != b)
        v = a;
    else {
        bool less = a < b || (a == b && aluref_negative(a) && !aluref_negative(b));
        v = (i->op == PTX_OP_min) == less ? a : b;
    }
    if (i->mods & PTX_MOD_XORSIGN && aluref_negative(v) != sign) v = -v;
    return v;
}

/* Computed with long double functions: accurate to a unit in the last place of long double. */
static aluref_real approximate(enum ptx_op op, aluref_real x) {
    const long double v = (long double)x;
    switch (op) {
    case PTX_OP_ex2: return exp2l(v);
    case PTX_OP_lg2: return log2l(v);
    case PTX_OP_sin: return sinl(v);
    case PTX_OP_cos: return cosl(v);
    case PTX_OP_tanh: return tanhl(v);
    case PTX_OP_rsqrt: return 1 / sqrtl(v);
    default: return NAN;
    }
}

static bool is_approximate(enum ptx_op op) {
    return op == PTX_OP_ex2 || op == PTX_OP_lg2 || op == PTX_OP_sin || op == PTX_OP_cos ||
           op == PTX_OP_tanh || op == PTX_OP_rsqrt;
}

/* Computes the value that is then rounded to the type. */
static bool exact(struct aluref *r, aluref_real a, aluref_real b, aluref_real c, aluref_real *v,
                  aluref_real *error) {
    const struct ptx_inst *i = r->inst;
    const enum ptx_round mode = i->round;
    *error = 0;
    switch (i->op) {
    case PTX_OP_sub: b = -b; /* fall through */
    case PTX_OP_add: *v = zero_rule(aluref_sum(a, b, error), a, b, mode); return true;
    case PTX_OP_mul: *v = a * b; return true;
    case PTX_OP_mad:
    case PTX_OP_fma: *v = zero_rule(aluref_sum(a * b, c, error), a * b, c, mode); return true;
    case PTX_OP_div:
        *v = quotient(a, b, error);
        if (!(i->mods & PTX_MOD_APPROX) || b - b != 0 || (b <= 0x1p126 && b >= -0x1p126))
            return true;
        *error = 0; /* the reciprocal of such a large number is 0 */
        *v = a * (aluref_negative(b) ? -(aluref_real)0 : (aluref_real)0);
        return true;
    case PTX_OP_rcp: *v = quotient(1, a, error); return true;
    case PTX_OP_sqrt: *v = root(a, error); return true;
    case PTX_OP_min:
    case PTX_OP_max:
        if (i->operand_count > 3 && i->mods & PTX_MOD_ABS) {
            a = aluref_negative(a) ? -a : a;
            b = aluref_negative(b) ? -b : b;
            c = aluref_negative(c) ? -c : c;
        }
        *v = choose(i, a, b, r->signs);
        if (i->operand_count > 3) *v = choose(i, *v, c, false);
        return true;
    default: break;
    }
    if (!is_approximate(i->op)) return false;
    *v = approximate(i->op, a);
    r->ulps = i->types[0] == PTX_F32 ? 2 : 1;
    return true;
}

static uint64_t clamp_pattern(const struct ptx_inst *i, uint64_t bits, enum ptx_type t) {
    const aluref_real v = aluref_decode(bits, t);
    if (i->mods & PTX_MOD_SAT) {
        if (!(v > 0)) return 0;
        if (v > 1) return aluref_round(1, 0, t, PTX_RN);
    }
    if (i->mods & PTX_MOD_RELU && !(v > 0) && v == v) return 0;
    return bits;
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write only the upper halves. */
static bool coarse(struct aluref *r) {
    const aluref_real x =
        aluref_flush(aluref_decode(r->src[0] & 0xffffffff00000000, PTX_F64), PTX_F64);
    aluref_real error = 0;
    const aluref_real v =
        r->inst->op == PTX_OP_rcp ? quotient(1, x, &error) : approximate(PTX_OP_rsqrt, x);
    const bool nan = aluref_decode(r->src[0], PTX_F64) != aluref_decode(r->src[0], PTX_F64);
    r->d =
        nan ? aluref_nan(PTX_F64) : aluref_round(aluref_flush(v, PTX_F64), error, PTX_F64, PTX_RN);
    r->ulps = 1ull << 33;
    return true;
}

/* testp, copysign, abs and neg, which work on bits. */
static bool patterns(struct aluref *r, uint64_t a, uint64_t b, enum ptx_type t, uint32_t bits) {
    const struct ptx_inst *i = r->inst;
    const uint64_t sign = 1ull << (bits - 1);
    const aluref_real v = aluref_decode(a, t);
    const bool subnormal = v != 0 && aluref_flush(v, t) == 0;
    if ((i->op == PTX_OP_abs || i->op == PTX_OP_neg) && i->mods & PTX_MOD_FTZ && subnormal)
        a &= sign;
    switch (i->op) {
    case PTX_OP_abs: r->d = a & ~sign; return true;
    case PTX_OP_neg: r->d = a ^ sign; return true;
    case PTX_OP_copysign: r->d = (b & ~sign) | (a & sign); return true;
    case PTX_OP_testp: break;
    default: return false;
    }
    const bool nan = v != v, infinite = !nan && v - v != 0;
    switch (i->sub) {
    case PTX_SUB_FINITE: r->d = !nan && !infinite; break;
    case PTX_SUB_INFINITE: r->d = infinite; break;
    case PTX_SUB_NUMBER: r->d = !nan; break;
    case PTX_SUB_NOTANUMBER: r->d = nan; break;
    case PTX_SUB_NORMAL: r->d = v - v == 0 && !subnormal; break;
    case PTX_SUB_SUBNORMAL: r->d = subnormal; break;
    default: return false;
    }
    return true;
}

/* True if a result is flushed to zero: it is below the least normal number when rounded with the
 * precision of normal numbers, not of subnormals. So v is scaled far above the subnormals before
 * it is rounded. */
static bool flushed(aluref_real v, aluref_real error, enum ptx_type t, enum ptx_round mode) {
    const int up = t == PTX_F16 ? 8 : 60; /* scaling of the exponent: f16 has a small range */
    const aluref_real most = ldexpl(1, up - (t == PTX_F16 ? 14 : t == PTX_F64 ? 1022 : 126));
    const aluref_real scale = ldexpl(1, up), limit = ldexpl(1, t == PTX_F16 ? 0 : -64);
    if (!ordinary(v) || v > limit || v < -limit) return false;
    const aluref_real rounded = aluref_decode(aluref_round(v * scale, error * scale, t, mode), t);
    return rounded < most && rounded > -most;
}

static bool one(struct aluref *r, const uint64_t src[3], enum ptx_type t) {
    const struct ptx_inst *i = r->inst;
    const uint32_t bits = 8 * ptx_type_bytes(t);
    const bool ftz =
        /* ex2 on bf16 always has .ftz */
        i->mods & PTX_MOD_FTZ || (t == PTX_BF16 && i->op == PTX_OP_ex2);
    if (patterns(r, src[0], src[1], t, bits)) return true;
    if (t == PTX_F64 && ftz) return coarse(r);
    aluref_real v[3], result, error;
    r->signs = (src[0] ^ src[1]) >> (bits - 1) & 1;
    for (int k = 0; k < 3; k++) {
        v[k] = aluref_decode(src[k], t);
        if (ftz) v[k] = aluref_flush(v[k], t);
    }
    if (!exact(r, v[0], v[1], v[2], &result, &error)) return false;
    r->d = aluref_round(result, error, t, (enum ptx_round)i->round);
    if (ftz && flushed(result, error, t, (enum ptx_round)i->round)) r->d &= 1ull << (bits - 1);
    r->d = clamp_pattern(i, r->d, t);
    return true;
}

bool aluref_arithmetic(struct aluref *r) {
    const enum ptx_type t = r->inst->types[0];
    if (t != PTX_F16X2 && t != PTX_BF16X2 && t != PTX_F32X2) return one(r, r->src, t);
    const enum ptx_type half = t == PTX_F16X2 ? PTX_F16 : t == PTX_F32X2 ? PTX_F32 : PTX_BF16;
    const int bits = t == PTX_F32X2 ? 32 : 16;
    uint64_t d = 0;
    for (int pos = 0; pos < 2 * bits; pos += bits) {
        uint64_t src[3];
        for (int k = 0; k < 3; k++)
            src[k] = r->src[k] >> pos & aluref_ones((uint32_t)bits);
        if (!one(r, src, half)) return false;
        d |= (r->d & aluref_ones((uint32_t)bits)) << pos;
    }
    r->d = d;
    return true;
}
