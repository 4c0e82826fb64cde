/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference for setp, set and cvt.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "test/lib/alu/aluref.h"

static bool is_real(enum ptx_type t) {
    return ptx_type_class(t) == 'f';
}

static bool compared(enum ptx_cmp cmp, bool less, bool equal, bool greater) {
    const bool nan = !less && !equal && !greater;
    switch (cmp) {
    case PTX_EQ: return equal;
    case PTX_NE: return less || greater;
    case PTX_LT:
    case PTX_LO: return less;
    case PTX_LE:
    case PTX_LS: return less || equal;
    case PTX_GT:
    case PTX_HI: return greater;
    case PTX_GE:
    case PTX_HS: return greater || equal;
    case PTX_EQU: return nan || equal;
    case PTX_NEU: return nan || less || greater;
    case PTX_LTU: return nan || less;
    case PTX_LEU: return nan || less || equal;
    case PTX_GTU: return nan || greater;
    case PTX_GEU: return nan || greater || equal;
    case PTX_NUM: return !nan;
    default: return nan;
    }
}

static bool compare_one(const struct ptx_inst *i, uint64_t a, uint64_t b, enum ptx_type t) {
    const uint32_t bits = 8 * ptx_type_bytes(t);
    a &= aluref_ones(bits);
    b &= aluref_ones(bits);
    if (!is_real(t)) {
        const aluref_int x = aluref_value(a, t), y = aluref_value(b, t);
        return compared(i->cmp, x<y, x == y, x> y);
    }
    aluref_real x = aluref_decode(a, t), y = aluref_decode(b, t);
    if (i->mods & PTX_MOD_FTZ) x = aluref_flush(x, t), y = aluref_flush(y, t);
    return compared(i->cmp, x<y, x == y, x> y);
}

static bool combined(const struct ptx_inst *i, bool t, bool c) {
    switch (i->sub2 ? i->sub2 : i->sub) {
    case PTX_SUB_AND: return t && c;
    case PTX_SUB_OR: return t || c;
    case PTX_SUB_XOR: return t != c;
    default: return t;
    }
}

bool aluref_compare(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const bool set = i->op == PTX_OP_set;
    const enum ptx_type s = i->types[set], d = i->types[0];
    const bool pair = s == PTX_F16X2 || s == PTX_BF16X2;
    const enum ptx_type one = s == PTX_F16X2 ? PTX_F16 : s == PTX_BF16X2 ? PTX_BF16 : s;
    const bool c = r->src[2] & 1;
    const bool t = compare_one(i, r->src[0], r->src[1], one);
    const bool u = pair && compare_one(i, r->src[0] >> 16, r->src[1] >> 16, one);
    if (!set) {
        r->d = combined(i, t, c);
        r->d2 = combined(i, pair ? u : !t, c);
        return true;
    }
    const uint64_t yes = d == PTX_F32                       ? 0x3f800000
                         : d == PTX_F16 || d == PTX_F16X2   ? 0x3c00
                         : d == PTX_BF16 || d == PTX_BF16X2 ? 0x3f80
                         : pair                             ? 0xffff
                                                            : aluref_ones(8 * ptx_type_bytes(d));
    r->d = combined(i, t, c) ? yes : 0;
    if (pair && combined(i, u, c)) r->d |= yes << 16;
    return true;
}

/* ---- cvt ---- */

static aluref_int most_of(enum ptx_type t) {
    return ((aluref_int)1 << (8 * ptx_type_bytes(t) - (ptx_type_class(t) == 's'))) - 1;
}
static aluref_int least_of(enum ptx_type t) {
    return ptx_type_class(t) == 's' ? -most_of(t) - 1 : 0;
}

/* Rounds to an integral value; `v` is finite and fits in 128 bits. */
static aluref_int integral(aluref_real v, enum ptx_round mode) {
    aluref_int n = (aluref_int)v;
    const aluref_real rest = v - (aluref_real)n; /* has the sign of v */
    const aluref_real half = rest < 0 ? -2 * rest : 2 * rest;
    switch (mode) {
    case PTX_RMI: return rest < 0 ? n - 1 : n;
    case PTX_RPI: return rest > 0 ? n + 1 : n;
    case PTX_RNI:
        if (half > 1 || (half == 1 && n & 1)) n += v < 0 ? -1 : 1;
        return n;
    default: return n;
    }
}

static aluref_int real_to_integer(const struct ptx_inst *i, aluref_real v) {
    const enum ptx_type d = i->types[0];
    const uint32_t bits = 8 * ptx_type_bytes(d);
    if (v != v) return i->types[1] == PTX_F64 || bits == 64 ? (aluref_int)1 << (bits - 1) : 0;
    if (v > (aluref_real)1e30) return most_of(d);
    if (v < (aluref_real)-1e30) return least_of(d);
    const aluref_int n = integral(v, i->round);
    return n > most_of(d) ? most_of(d) : n < least_of(d) ? least_of(d) : n;
}

static uint64_t to_real(const struct ptx_inst *i, aluref_real v, enum ptx_type d) {
    if (i->round >= PTX_RNI && i->round <= PTX_RPI && v - v == 0 && v < 1e30 && v > -1e30) {
        const bool negative = aluref_negative(v);
        v = (aluref_real)integral(v, i->round);
        if (v == 0 && negative) v = -v;
    }
    if (i->mods & PTX_MOD_SAT) v = v > 1 ? 1 : v > 0 ? v : 0;
    if (i->mods & PTX_MOD_RELU && !(v > 0) && v == v) v = 0;
    uint64_t bits = aluref_round(v, 0, d, i->round);
    const uint64_t pattern = bits & aluref_ones(8 * ptx_type_bytes(d));
    const aluref_real back = aluref_decode(d == PTX_TF32 ? pattern >> 13 : pattern, d);
    /* greatest finite value instead of infinity */
    if (i->mods & PTX_MOD_SATFINITE && back == back && back - back != 0)
        bits -= d == PTX_TF32 ? 0x2000 : 1;
    if (i->mods & PTX_MOD_FTZ && d == PTX_F32 && !(bits & 0x7f800000)) return bits & 0x80000000;
    return bits;
}

static bool pack(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const uint32_t bits = 8 * ptx_type_bytes(i->types[0]);
    uint64_t part[2];
    for (int k = 0; k < 2; k++) {
        aluref_int v = aluref_value(r->src[k], PTX_S32);
        v = v > most_of(i->types[0]) ? most_of(i->types[0]) : v;
        v = v < least_of(i->types[0]) ? least_of(i->types[0]) : v;
        part[k] = (uint64_t)v & aluref_ones(bits);
    }
    r->d = part[0] << bits | part[1];
    if (bits == 8) r->d |= r->src[2] << 16;
    r->d &= 0xffffffff;
    return true;
}

/* ---- formats of 8 bits and fewer: looked up among patterns sorted by value ---- */

static const struct format {
    enum ptx_type type;
    int bits, mantissa, bias;
    uint32_t most, nan; /* patterns: of the greatest value, and of a NaN's conversion */
} formats[] = {{PTX_E4M3X2, 8, 3, 7, 0x7e, 0x7f},
               {PTX_E5M2X2, 8, 2, 15, 0x7b, 0x7f},
               {PTX_E2M3X2, 6, 3, 1, 0x1f, 0x1f},
               {PTX_E3M2X2, 6, 2, 3, 0x1f, 0x1f},
               {PTX_E2M1X2, 4, 1, 1, 7, 7}};

static const struct format *format_of(enum ptx_type t) {
    for (size_t k = 0; k < sizeof(formats) / sizeof(formats[0]); k++)
        if (formats[k].type == t) return &formats[k];
    return NULL;
}

static aluref_real power_of_two(int exponent) {
    aluref_real v = 1;
    for (int k = exponent; k; k += k < 0 ? 1 : -1)
        v = k < 0 ? v / 2 : v * 2;
    return v;
}

static aluref_real small_value(const struct format *f, uint32_t magnitude) {
    const int exponent = (int)magnitude >> f->mantissa;
    const uint32_t rest = magnitude & ((1u << f->mantissa) - 1);
    const aluref_real v = exponent ? (1 << f->mantissa) + rest : rest;
    return v * power_of_two((exponent ? exponent : 1) - f->bias - f->mantissa);
}

static uint64_t small_of(const struct ptx_inst *i, const struct format *f, aluref_real v) {
    if (v != v) return f->nan;
    if (i->mods & PTX_MOD_RELU && !(v > 0)) v = 0;
    const bool negative = aluref_negative(v);
    const aluref_real size = negative ? -v : v;
    uint32_t at = 0;
    while (at < f->most && small_value(f, at + 1) <= size)
        at++;
    if (at < f->most) {
        const aluref_real below = size - small_value(f, at), above = small_value(f, at + 1) - size;
        if (above < below || (above == below && at & 1)) at++;
    }
    return at | (uint32_t)negative << (f->bits - 1);
}

static uint64_t half_of_small(const struct ptx_inst *i, const struct format *f, uint32_t pattern) {
    const uint32_t top = 1u << (f->bits - 1), magnitude = pattern & (top - 1);
    const bool relu = i->mods & PTX_MOD_RELU, negative = pattern & top;
    if (f->type == PTX_E5M2X2 && magnitude == 0x7c) return negative ? (relu ? 0 : 0xfc00) : 0x7c00;
    if (magnitude > f->most) return aluref_nan(PTX_F16);
    aluref_real v = small_value(f, magnitude);
    if (negative) v = relu ? 0 : -v;
    return aluref_round(v, 0, PTX_F16, PTX_RN);
}

static bool convert_small(struct aluref *r, const struct format *to, const struct format *from) {
    const struct ptx_inst *i = r->inst;
    const uint64_t a = r->src[0];
    const int step = (to ? to : from)->bits == 4 ? 4 : 8;
    if (from)
        r->d =
            half_of_small(i, from, (uint32_t)a >> step) << 16 | half_of_small(i, from, (uint32_t)a);
    else if (i->types[1] == PTX_F32)
        r->d = small_of(i, to, aluref_decode(a, PTX_F32)) << step |
               small_of(i, to, aluref_decode(r->src[1], PTX_F32));
    else
        r->d = small_of(i, to, aluref_decode(a >> 16 & 0xffff, PTX_F16)) << step |
               small_of(i, to, aluref_decode(a & 0xffff, PTX_F16));
    return true;
}

/* ---- powers of two, 2^-127 to 2^127 and NaN ---- */

static uint64_t scale_of(const struct ptx_inst *i, aluref_real v) {
    if (v != v) return 255;
    if (v < 0) v = -v;
    aluref_real power = power_of_two(-127); /* 2^(k - 127) */
    int k = 0;
    for (; k < 254 && 2 * power <= v; k++)
        power *= 2;
    const bool beyond = v >= 2 * power && k == 254;
    if (!beyond && i->round == PTX_RP && v > power) k++;
    if (k == 255) return i->mods & PTX_MOD_SATFINITE ? 254 : 255;
    return !beyond ? (uint64_t)k : i->mods & PTX_MOD_SATFINITE ? 254 : 255;
}

static bool convert_scale(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const uint64_t a = r->src[0];
    if (i->types[0] == PTX_BF16X2) {
        for (int k = 0; k < 2; k++) {
            const int v = a >> 8 * k & 255;
            const uint64_t brain = v == 255
                                       ? aluref_nan(PTX_BF16)
                                       : aluref_round(power_of_two(v - 127), 0, PTX_BF16, PTX_RN);
            r->d |= brain << 16 * k;
        }
    } else if (i->types[1] == PTX_F32) {
        r->d = scale_of(i, aluref_decode(a, PTX_F32)) << 8 |
               scale_of(i, aluref_decode(r->src[1], PTX_F32));
    } else {
        r->d = scale_of(i, aluref_decode(a >> 16 & 0xffff, PTX_BF16)) << 8 |
               scale_of(i, aluref_decode(a & 0xffff, PTX_BF16));
    }
    return true;
}

bool aluref_convert(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const enum ptx_type d = i->types[0], s = i->types[1];
    if (i->sub == PTX_SUB_PACK) return pack(r);
    if (format_of(d) || format_of(s)) return convert_small(r, format_of(d), format_of(s));
    if (d == PTX_UE8M0X2 || s == PTX_UE8M0X2) return convert_scale(r);
    if (d == PTX_F16X2 || d == PTX_BF16X2) {
        const enum ptx_type half = d == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        r->d = to_real(i, aluref_decode(r->src[0], s), half) << 16 |
               to_real(i, aluref_decode(r->src[1], s), half);
        return true;
    }
    const uint64_t source = r->src[0] & aluref_ones(8 * ptx_type_bytes(s));
    aluref_real v = 0;
    aluref_int n = 0;
    if (is_real(s))
        v = aluref_decode(source, s);
    else
        n = aluref_value(source, s);
    if (i->mods & PTX_MOD_FTZ && s == PTX_F32 && d != PTX_F16) v = aluref_flush(v, s);
    if (is_real(d)) {
        r->d = to_real(i, is_real(s) ? v : (aluref_real)n, d);
        return true;
    }
    if (is_real(s))
        n = real_to_integer(i, v);
    else if (i->mods & PTX_MOD_SAT)
        n = n > most_of(d) ? most_of(d) : n < least_of(d) ? least_of(d) : n;
    n = aluref_value((uint64_t)n & aluref_ones(8 * ptx_type_bytes(d)), d);
    r->d = (uint64_t)n & aluref_ones(8 * r->d_bytes); /* extended to the register */
    return true;
}
