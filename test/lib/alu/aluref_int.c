/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference for integers: arithmetic, carries, bits.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "test/lib/alu/aluref.h"

static aluref_int least_of(uint32_t bits, bool sign) {
    return sign ? -((aluref_int)1 << (bits - 1)) : 0;
}
static aluref_int most_of(uint32_t bits, bool sign) {
    return ((aluref_int)1 << (bits - sign)) - 1;
}
static aluref_int clamp(aluref_int v, uint32_t bits, bool sign) {
    if (v < least_of(bits, sign)) return least_of(bits, sign);
    return v > most_of(bits, sign) ? most_of(bits, sign) : v;
}

static aluref_int field(uint64_t x, uint32_t pos, uint32_t bits, bool sign) {
    aluref_int v = x >> pos & aluref_ones(bits);
    return sign && v >> (bits - 1) ? v - ((aluref_int)1 << bits) : v;
}

/* min, max or add for each element of a pair. */
static bool pairs(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const bool sign = i->types[0] == PTX_S16X2;
    r->d = 0;
    for (uint32_t pos = 0; pos < 32; pos += 16) {
        const aluref_int x = field(r->src[0], pos, 16, sign), y = field(r->src[1], pos, 16, sign);
        aluref_int v;
        switch (i->op) {
        case PTX_OP_add: v = x + y; break;
        case PTX_OP_min: v = x < y ? x : y; break;
        case PTX_OP_max: v = x < y ? y : x; break;
        default: return false;
        }
        if (i->mods & PTX_MOD_RELU && v < 0) v = 0;
        r->d |= ((uint64_t)v & 0xffff) << pos;
    }
    return true;
}

/* The part of the product that mul, mad, mul24 and mad24 select, before c is added. */
static aluref_int product(const struct ptx_inst *i, uint32_t bits, aluref_int x, aluref_int y) {
    const bool sign = ptx_type_class(i->types[0]) == 's';
    if (i->op == PTX_OP_mul24 || i->op == PTX_OP_mad24) {
        const aluref_int p = field((uint64_t)x, 0, 24, sign) * field((uint64_t)y, 0, 24, sign);
        return i->mods & PTX_MOD_HI ? p >> 16 : p;
    }
    if (i->mods & PTX_MOD_HI && !sign) return (aluref_int)((aluref_uint)x * (aluref_uint)y >> bits);
    if (i->mods & PTX_MOD_HI) return x * y >> bits;
    /* the lower half of the product suffices */
    return (aluref_int)((aluref_uint)x * (aluref_uint)y);
}

bool aluref_integer(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const enum ptx_type t = i->types[0];
    const uint32_t bits = 8 * ptx_type_bytes(t);
    const bool sign = ptx_type_class(t) == 's', wide = i->mods & PTX_MOD_WIDE;
    if (t == PTX_U16X2 || t == PTX_S16X2) return pairs(r);
    if (ptx_type_class(t) != 'u' && !sign) return false;
    const aluref_int x = aluref_value(r->src[0], t), y = aluref_value(r->src[1], t);
    const aluref_int z =
        (aluref_int)r->src[2]; /* sums wrap, so the sign of this operand does not matter */
    aluref_int v;
    switch (i->op) {
    case PTX_OP_add: v = x + y; break;
    case PTX_OP_sub: v = x - y; break;
    case PTX_OP_mul:
    case PTX_OP_mul24: v = product(i, bits, x, y); break;
    case PTX_OP_mad:
    case PTX_OP_mad24:
        v = product(i, bits, x, y);
        v = i->mods & PTX_MOD_SAT ? v + aluref_value(r->src[2], t)
                                  : (aluref_int)((aluref_uint)v + (aluref_uint)z);
        break;
    case PTX_OP_div: v = y == 0 ? -1 : x / y; break;
    case PTX_OP_rem: v = y == 0 ? -1 : x % y; break;
    case PTX_OP_sad: v = (x < y ? y - x : x - y) + z; break;
    case PTX_OP_min: v = x < y ? x : y; break;
    case PTX_OP_max: v = x < y ? y : x; break;
    case PTX_OP_abs: v = x < 0 ? -x : x; break;
    case PTX_OP_neg: v = -x; break;
    default: return false;
    }
    if (i->mods & PTX_MOD_SAT) v = clamp(v, bits, sign);
    if (i->mods & PTX_MOD_RELU && v < 0) v = 0;
    r->d = (uint64_t)(aluref_uint)v & aluref_ones(wide ? 2 * bits : bits);
    return true;
}

bool aluref_carry(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const enum ptx_type t = i->types[0];
    const uint32_t bits = 8 * ptx_type_bytes(t);
    const uint64_t a = r->src[0] & aluref_ones(bits), b = r->src[1] & aluref_ones(bits);
    const uint64_t c = r->src[2] & aluref_ones(bits);
    const bool hi = i->mods & PTX_MOD_HI;
    aluref_uint sum;
    switch (i->op) {
    case PTX_OP_add: sum = (aluref_uint)a + b; break;
    case PTX_OP_addc: sum = (aluref_uint)a + b + r->carry; break;
    case PTX_OP_sub: /* the carry of a - b means "no borrow" */
        sum = ((aluref_uint)(a >= b) << bits) + ((a - b) & aluref_ones(bits));
        break;
    case PTX_OP_subc: {
        const aluref_int v = (aluref_int)a - (aluref_int)b - !r->carry;
        sum = ((aluref_uint)(v >= 0) << bits) + ((uint64_t)v & aluref_ones(bits));
        break;
    }
    case PTX_OP_mad:
    case PTX_OP_madc: {
        const aluref_int x = aluref_value(a, t), y = aluref_value(b, t);
        const aluref_uint p = (aluref_uint)x * (aluref_uint)y;
        sum = (aluref_uint)((uint64_t)(hi ? p >> bits : p) & aluref_ones(bits)) + c;
        if (i->op == PTX_OP_madc) sum += r->carry;
        break;
    }
    default: return false;
    }
    if (i->mods & PTX_MOD_CC) r->carry = sum >> bits & 1;
    r->d = (uint64_t)sum & aluref_ones(bits);
    return true;
}

static bool bit(uint64_t x, uint32_t n) {
    return n < 64 && x >> n & 1;
}
static void put(uint64_t *d, uint32_t n, bool v) {
    if (n < 64) *d = (*d & ~(1ull << n)) | (uint64_t)v << n;
}

/* A bit position or length: the operand's low byte in fields of 32 bits; in fields of 64 bits its
 * low 32 bits, at most 64. */
static uint32_t place(uint64_t v, uint32_t bits) {
    if (bits == 32) return v & 0xff;
    return (v & 0xffffffff) < 64 ? (uint32_t)v : 64;
}

static uint64_t extract(const struct aluref *r, uint32_t bits, bool sign) {
    const uint32_t pos = place(r->src[1], bits), len = place(r->src[2], bits), msb = bits - 1;
    uint64_t d = 0;
    const bool fill = sign && len && bit(r->src[0], pos + len - 1 < msb ? pos + len - 1 : msb);
    for (uint32_t k = 0; k <= msb; k++)
        put(&d, k, k < len && pos + k <= msb ? bit(r->src[0], pos + k) : fill);
    return d;
}

static uint64_t insert(const struct aluref *r, uint32_t bits) {
    const uint32_t pos = place(r->src[2], bits), len = place(r->src[3], bits);
    uint64_t d = r->src[1];
    for (uint32_t k = 0; k < len && pos + k < bits; k++)
        put(&d, pos + k, bit(r->src[0], k));
    return d;
}

static uint64_t find(const struct aluref *r, uint32_t bits, bool sign) {
    const bool skip = sign && bit(r->src[0], bits - 1);
    for (uint32_t k = bits; k-- > 0;)
        if (bit(r->src[0], k) != skip) return r->inst->mods & PTX_MOD_SHIFTAMT ? bits - 1 - k : k;
    return 0xffffffff;
}

static uint64_t permute(const struct aluref *r) {
    static const uint8_t modes[6][4][4] = {
        /* d.b3 first, as the table of the ISA prints it */
        {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}},
        {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}},
        {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
        {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}},
        {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}},
        {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}},
    };
    uint64_t d = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t sel = r->src[2] >> 4 * k & 15;
        if (r->inst->sub != PTX_SUB_NONE)
            sel = modes[r->inst->sub - PTX_SUB_F4E][r->src[2] & 3][3 - k];
        uint64_t byte = (sel & 4 ? r->src[1] : r->src[0]) >> 8 * (sel & 3) & 0xff;
        if (sel & 8) byte = byte & 0x80 ? 0xff : 0;
        d |= byte << 8 * k;
    }
    return d;
}

static uint64_t shift(uint64_t x, uint64_t n, uint32_t bits, bool left, bool fill) {
    for (uint64_t k = 0; k < n && k < bits; k++)
        x = left ? (x << 1 | fill) & aluref_ones(bits) : x >> 1 | (uint64_t)fill << (bits - 1);
    return x;
}

static uint64_t funnel(const struct aluref *r) {
    const bool wrap = r->inst->mods & PTX_MOD_WRAP, left = r->inst->mods & PTX_MOD_LEFT;
    const uint64_t n = wrap ? r->src[2] % 32 : r->src[2] < 32 ? r->src[2] : 32;
    const uint64_t pair = r->src[1] << 32 | r->src[0];
    return left ? shift(pair, n, 64, true, false) >> 32
                : shift(pair, n, 64, false, false) & 0xffffffff;
}

static uint64_t mask_or_extend(const struct aluref *r) {
    const bool wrap = r->inst->mods & PTX_MOD_WRAP;
    const uint64_t a = r->src[0], b = r->src[1];
    uint64_t d = 0;
    if (r->inst->op == PTX_OP_bmsk) {
        const uint64_t pos = wrap ? a % 32 : a, len = wrap ? b % 32 : b;
        for (uint32_t k = 0; k < 32; k++)
            put(&d, k, k >= pos && k - pos < len);
        return d;
    }
    const uint64_t len = wrap ? b % 32 : b;
    const bool fill = r->inst->types[0] == PTX_S32 && len && len < 32 && bit(a, (uint32_t)len - 1);
    for (uint32_t k = 0; k < 32; k++)
        put(&d, k, k < len ? bit(a, k) : fill);
    return d;
}

bool aluref_bits(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const enum ptx_type t = i->types[0];
    const uint32_t bits = t == PTX_PRED ? 1 : 8 * ptx_type_bytes(t);
    const bool sign = ptx_type_class(t) == 's';
    const uint64_t a = r->src[0], b = r->src[1], c = r->src[2];
    uint64_t d = 0;
    switch (i->op) {
    case PTX_OP_and: d = a & b; break;
    case PTX_OP_or: d = a | b; break;
    case PTX_OP_xor: d = a ^ b; break;
    case PTX_OP_not: d = ~a; break;
    case PTX_OP_cnot: d = a == 0; break;
    case PTX_OP_mov: d = a; break;
    case PTX_OP_selp: d = c ? a : b; break;
    case PTX_OP_slct:
        if (i->types[1] == PTX_S32)
            d = (int32_t)c >= 0 ? a : b;
        else {
            aluref_real z = aluref_decode(c, PTX_F32);
            if (i->mods & PTX_MOD_FTZ) z = aluref_flush(z, PTX_F32);
            d = z >= 0 ? a : b;
        }
        break;
    case PTX_OP_shl: d = shift(a, b, bits, true, false); break;
    case PTX_OP_shr: d = shift(a, b, bits, false, sign && bit(a, bits - 1)); break;
    case PTX_OP_brev:
        for (uint32_t k = 0; k < bits; k++)
            put(&d, bits - 1 - k, bit(a, k));
        break;
    case PTX_OP_popc:
        for (uint32_t k = 0; k < bits; k++)
            d += bit(a, k);
        break;
    case PTX_OP_clz:
        while (d < bits && !bit(a, bits - 1 - (uint32_t)d))
            d++;
        break;
    case PTX_OP_bfe: d = extract(r, bits, sign); break;
    case PTX_OP_bfi: d = insert(r, bits); break;
    case PTX_OP_bfind: d = find(r, bits, sign); break;
    case PTX_OP_lop3:
        for (uint32_t k = 0; k < 32; k++)
            put(&d, k, bit(r->src[3], bit(a, k) * 4u + bit(b, k) * 2u + bit(c, k)));
        break;
    case PTX_OP_shf: d = funnel(r); break;
    case PTX_OP_bmsk:
    case PTX_OP_szext: d = mask_or_extend(r); break;
    case PTX_OP_prmt: d = permute(r); break;
    default: return false;
    }
    r->d = d & aluref_ones(bits);
    return true;
}

/* ---- dp4a, dp2a, v*, v*2, v*4 ---- */

static bool dot(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    const bool bytes = i->op == PTX_OP_dp4a;
    aluref_int v = (aluref_int)r->src[2];
    for (uint32_t k = 0; k < (bytes ? 4 : 2); k++) {
        const uint32_t b = !bytes && i->mods & PTX_MOD_HI ? k + 2 : k;
        v += field(r->src[0], k * (bytes ? 8 : 16), bytes ? 8 : 16, i->types[0] == PTX_S32) *
             field(r->src[1], b * 8, 8, i->types[1] == PTX_S32);
    }
    r->d = (uint64_t)v & 0xffffffff;
    return true;
}

static bool holds(enum ptx_cmp cmp, aluref_int x, aluref_int y) {
    return cmp == PTX_EQ   ? x == y
           : cmp == PTX_NE ? x != y
           : cmp == PTX_LT ? x < y
           : cmp == PTX_LE ? x <= y
           : cmp == PTX_GT ? x > y
                           : x >= y;
}

/* The name is v, then the operation, then 2, 4 or nothing. */
bool aluref_video(struct aluref *r) {
    const struct ptx_inst *i = r->inst;
    if (i->op == PTX_OP_dp4a || i->op == PTX_OP_dp2a) return dot(r);
    const char *name = ptx_op_name(i->op);
    if (name[0] != 'v') return false;
    uint32_t width = 32;
    for (const char *p = name; *p; p++)
        width = *p == '2' ? 16 : *p == '4' ? 8 : width;
    const bool set = name[1] == 's' && name[2] == 'e';
    const bool sa = i->types[!set] == PTX_S32, sb = i->types[2 - set] == PTX_S32;
    const bool sd = !set && i->types[0] == PTX_S32;
    aluref_int sum = (aluref_int)r->src[2];
    r->d = 0;
    for (uint32_t pos = 0; pos < 32; pos += width) {
        const aluref_int x = field(r->src[0], pos, width, sa), y = field(r->src[1], pos, width, sb);
        aluref_int v;
        if (set)
            v = holds(i->cmp, x, y);
        else if (name[1] == 'a' && name[2] == 'd')
            v = x + y;
        else if (name[1] == 's' && name[2] == 'u')
            v = x - y;
        else if (name[1] == 'a' && name[2] == 'v')
            v = x + y < 0 ? (x + y) >> 1 : (x + y + 1) >> 1;
        else if (name[1] == 'a' && name[2] == 'b')
            v = x < y ? y - x : x - y;
        else if (name[1] == 'm' && name[2] == 'i')
            v = x < y ? x : y;
        else if (name[1] == 'm' && name[2] == 'a')
            v = x < y ? y : x;
        else if (name[1] == 's' && name[2] == 'h') {
            const aluref_int n = i->mods & PTX_MOD_WRAP ? y % 32 : y > 32 ? 32 : y;
            v = name[3] == 'l' ? x * ((aluref_int)1 << n) : x >> n;
        } else
            return false;
        if (i->mods & PTX_MOD_SAT) v = clamp(v, width, sd);
        sum += v;
        r->d |= ((uint64_t)v & aluref_ones(width)) << pos;
    }
    if (i->sub == PTX_SUB_ADD) r->d = (uint64_t)sum & 0xffffffff;
    return true;
}
