/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of numbers on a circle. After Navas and others, "Signedness-agnostic program analysis:
 * precise integer bounds for low-level code" (2012).
 */
#include "daemon/device/touch/touch_value.h"

typedef __int128 wide;

/* ---- making and reading ---------------------------------------------------------------------- */

struct touch_value touch_any(uint32_t bits) {
    return (struct touch_value){.len = touch_mask(bits)};
}

struct touch_value touch_number(uint64_t number, uint32_t bits) {
    return (struct touch_value){.lo = number & touch_mask(bits)};
}

struct touch_value touch_range(wide lo, wide hi, uint32_t bits) {
    uint64_t mask = touch_mask(bits);
    if (hi < lo || hi - lo >= (wide)mask) return touch_any(bits);
    return (struct touch_value){.lo = (uint64_t)lo & mask, .len = (uint64_t)(hi - lo)};
}

static struct touch_value tainted(struct touch_value v, const struct touch_value *a,
                                  const struct touch_value *b) {
    bool generic = a->generic || b->generic;
    v.generic = v.var && generic;
    v.tainted = a->tainted || b->tainted || (generic && !v.var);
    return v;
}

struct touch_unsigned touch_as_unsigned(const struct touch_value *v, uint32_t bits) {
    uint64_t mask = touch_mask(bits);
    if (v->var || v->len > mask - v->lo) return (struct touch_unsigned){0, mask};
    return (struct touch_unsigned){v->lo, v->lo + v->len};
}

struct touch_signed touch_as_signed(const struct touch_value *v, uint32_t bits) {
    uint64_t mask = touch_mask(bits), half = mask / 2 + 1;
    uint64_t lo = (v->lo + half) & mask; /* counted from the smallest number */
    bool whole = v->var || v->len > mask - lo;
    wide from = whole ? 0 : lo, to = whole ? mask : (wide)lo + v->len;
    return (struct touch_signed){(int64_t)(from - half), (int64_t)(to - half)};
}

struct touch_value touch_low(const struct touch_value *v, uint32_t bits) {
    struct touch_value low = *v;
    if (v->var || v->len >= touch_mask(bits))
        low = touch_any(bits);
    else
        low.lo &= touch_mask(bits);
    low.id = 0;
    return tainted(low, v, v);
}

struct touch_value touch_extend(const struct touch_value *v, uint32_t from, uint32_t to,
                                bool is_signed) {
    if (to < from) return touch_low(v, to);
    struct touch_signed s = touch_as_signed(v, from);
    struct touch_unsigned u = touch_as_unsigned(v, from);
    struct touch_value r =
        is_signed ? touch_range(s.lo, s.hi, to) : touch_range(u.lo, (wide)u.hi, to);
    return tainted(r, v, v);
}

/* ---- sums ------------------------------------------------------------------------------------ */

struct touch_value touch_add(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits) {
    uint64_t mask = touch_mask(bits);
    struct touch_value r = touch_any(bits);
    if (a->var && b->var) return tainted(r, a, b);
    if (b->len < mask - a->len) {
        r.lo = (a->lo + b->lo) & mask;
        r.len = a->len + b->len;
        r.var = a->var ? a->var : b->var;
    }
    return tainted(r, a, b);
}

struct touch_value touch_sub(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits) {
    if (b->var) return tainted(touch_any(bits), a, b);
    struct touch_value minus = *b;
    minus.lo = (0 - (b->lo + b->len)) & touch_mask(bits);
    return touch_add(a, &minus, bits);
}

/* ---- products -------------------------------------------------------------------------------- */

struct product {
    wide lo, hi;
};

static struct product unsigned_product(const struct touch_value *a, const struct touch_value *b,
                                       uint32_t bits) {
    struct touch_unsigned x = touch_as_unsigned(a, bits), y = touch_as_unsigned(b, bits);
    return (struct product){(wide)x.lo * y.lo, (wide)((unsigned __int128)x.hi * y.hi)};
}

static struct product signed_product(const struct touch_value *a, const struct touch_value *b,
                                     uint32_t bits) {
    struct touch_signed x = touch_as_signed(a, bits), y = touch_as_signed(b, bits);
    wide p[4] = {(wide)x.lo * y.lo, (wide)x.lo * y.hi, (wide)x.hi * y.lo, (wide)x.hi * y.hi};
    struct product r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        if (p[i] < r.lo) r.lo = p[i];
        if (p[i] > r.hi) r.hi = p[i];
    }
    return r;
}

/* The low half is the same in either signedness, so the shorter range is used. Unsigned products of
 * 64 bits may not fit into the wide type; then only the signed range is used. */
struct touch_value touch_mul(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits) {
    struct product s = signed_product(a, b, bits), u;
    struct touch_value r = touch_range(s.lo, s.hi, bits);
    struct touch_unsigned x = touch_as_unsigned(a, bits), y = touch_as_unsigned(b, bits);
    if ((x.hi | y.hi) >> 63 == 0) {
        u = unsigned_product(a, b, bits);
        struct touch_value other = touch_range(u.lo, u.hi, bits);
        if (other.len < r.len) r = other;
    }
    return tainted(r, a, b);
}

struct touch_value touch_mul_wide(const struct touch_value *a, const struct touch_value *b,
                                  uint32_t bits, bool is_signed) {
    struct product p = is_signed ? signed_product(a, b, bits) : unsigned_product(a, b, bits);
    return tainted(touch_range(p.lo, p.hi, 2 * bits), a, b);
}

struct touch_value touch_mul_high(const struct touch_value *a, const struct touch_value *b,
                                  uint32_t bits, bool is_signed) {
    if (bits > 32) return tainted(touch_any(bits), a, b);
    struct product p = is_signed ? signed_product(a, b, bits) : unsigned_product(a, b, bits);
    return tainted(touch_range(p.lo >> bits, p.hi >> bits, bits), a, b);
}

/* ---- bits ------------------------------------------------------------------------------------ */

struct touch_value touch_shl(const struct touch_value *a, const struct touch_value *by,
                             uint32_t bits) {
    if (!touch_is_number(by)) return tainted(touch_any(bits), a, by);
    if (by->lo >= bits) return tainted(touch_number(0, bits), a, by);
    struct touch_value factor = touch_number((uint64_t)1 << by->lo, bits);
    return tainted(touch_mul(a, &factor, bits), a, by);
}

struct touch_value touch_shr(const struct touch_value *a, const struct touch_value *by,
                             uint32_t bits, bool is_signed) {
    struct touch_signed s = touch_as_signed(a, bits);
    struct touch_unsigned u = touch_as_unsigned(a, bits);
    uint64_t n = by->lo < bits ? by->lo : bits - 1;
    struct touch_value r = touch_any(bits);
    if (touch_is_number(by) && is_signed)
        r = touch_range(s.lo >> n, s.hi >> n, bits);
    else if (touch_is_number(by))
        r = by->lo >= bits ? touch_number(0, bits)
                           : touch_range(u.lo >> n, (wide)(u.hi >> n), bits);
    else if (!is_signed)
        r = touch_range(0, (wide)u.hi, bits);
    return tainted(r, a, by);
}

/* True for a number whose low bits are cleared, and no others. */
static bool rounds_down(const struct touch_value *v, uint32_t bits) {
    uint64_t rest = ~v->lo & touch_mask(bits);
    return touch_is_number(v) && (rest & (rest + 1)) == 0;
}

struct touch_value touch_and(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits) {
    struct touch_unsigned x = touch_as_unsigned(a, bits), y = touch_as_unsigned(b, bits);
    struct touch_value r = touch_range(0, (wide)(x.hi < y.hi ? x.hi : y.hi), bits);
    if (touch_is_number(a) && touch_is_number(b))
        r = touch_number(a->lo & b->lo, bits);
    else if (rounds_down(b, bits))
        r = touch_range((wide)(x.lo & b->lo), (wide)(x.hi & b->lo), bits);
    else if (rounds_down(a, bits))
        r = touch_range((wide)(y.lo & a->lo), (wide)(y.hi & a->lo), bits);
    return tainted(r, a, b);
}

/* The highest number with no higher bit than these. */
static uint64_t full(uint64_t a, uint64_t b) {
    return a | b ? UINT64_MAX >> __builtin_clzll(a | b) : 0;
}

struct touch_value touch_or(const struct touch_value *a, const struct touch_value *b,
                            uint32_t bits) {
    struct touch_unsigned x = touch_as_unsigned(a, bits), y = touch_as_unsigned(b, bits);
    struct touch_value r =
        touch_range((wide)(x.lo > y.lo ? x.lo : y.lo), (wide)full(x.hi, y.hi), bits);
    if (touch_is_number(a) && touch_is_number(b)) r = touch_number(a->lo | b->lo, bits);
    return tainted(r, a, b);
}

struct touch_value touch_xor(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits) {
    struct touch_unsigned x = touch_as_unsigned(a, bits), y = touch_as_unsigned(b, bits);
    struct touch_value r = touch_range(0, (wide)full(x.hi, y.hi), bits);
    if (touch_is_number(a) && touch_is_number(b)) r = touch_number(a->lo ^ b->lo, bits);
    return tainted(r, a, b);
}

/* ---- order and division ---------------------------------------------------------------------- */

static wide least(wide a, wide b) {
    return a < b ? a : b;
}

static wide most(wide a, wide b) {
    return a > b ? a : b;
}

struct bounds {
    wide lo, hi;
};

static struct bounds bounds_of(const struct touch_value *v, uint32_t bits, bool is_signed) {
    struct touch_signed s = touch_as_signed(v, bits);
    struct touch_unsigned u = touch_as_unsigned(v, bits);
    return is_signed ? (struct bounds){s.lo, s.hi} : (struct bounds){(wide)u.lo, (wide)u.hi};
}

struct touch_value touch_min(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed) {
    struct bounds x = bounds_of(a, bits, is_signed), y = bounds_of(b, bits, is_signed);
    return tainted(touch_range(least(x.lo, y.lo), least(x.hi, y.hi), bits), a, b);
}

struct touch_value touch_max(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed) {
    struct bounds x = bounds_of(a, bits, is_signed), y = bounds_of(b, bits, is_signed);
    return tainted(touch_range(most(x.lo, y.lo), most(x.hi, y.hi), bits), a, b);
}

/* Divides by positive numbers; division by 0 may give any number. */
struct touch_value touch_div(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed) {
    struct bounds x = bounds_of(a, bits, is_signed), y = bounds_of(b, bits, is_signed);
    if (y.lo <= 0) return tainted(touch_any(bits), a, b);
    wide lo = x.lo < 0 ? x.lo / y.lo : x.lo / y.hi, hi = x.hi < 0 ? x.hi / y.hi : x.hi / y.lo;
    return tainted(touch_range(lo, hi, bits), a, b);
}

struct touch_value touch_rem(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed) {
    struct bounds x = bounds_of(a, bits, is_signed), y = bounds_of(b, bits, is_signed);
    if (y.lo <= 0) return tainted(touch_any(bits), a, b);
    wide lo = x.lo < 0 ? most(x.lo, 1 - y.hi) : 0, hi = x.hi < 0 ? 0 : least(x.hi, y.hi - 1);
    if (x.lo >= 0 && x.hi < y.lo) lo = x.lo;
    return tainted(touch_range(lo, hi, bits), a, b);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static bool holds(const struct touch_value *a, uint64_t lo, uint64_t len, uint64_t mask) {
    uint64_t from = (lo - a->lo) & mask;
    return from <= a->len && len <= a->len - from;
}

bool touch_holds(const struct touch_value *a, const struct touch_value *b, uint32_t bits) {
    uint64_t mask = touch_mask(bits);
    if ((!a->tainted && b->tainted) || (!a->generic && b->generic)) return false;
    if (a->len == mask && !a->var) return true;
    return a->var == b->var && holds(a, b->lo, b->len, mask);
}

/* Length of the range from the beginning of a to the end of b, which does not lie in a. */
static uint64_t both_from(const struct touch_value *a, const struct touch_value *b, uint64_t mask) {
    uint64_t from = (b->lo - a->lo) & mask;
    return b->len > mask - from ? mask : from + b->len;
}

struct touch_value touch_either(const struct touch_value *a, const struct touch_value *b,
                                uint32_t bits) {
    uint64_t mask = touch_mask(bits);
    struct touch_value r = *a;
    if (a->var != b->var)
        r = touch_any(bits);
    else if (holds(b, a->lo, a->len, mask))
        r = *b;
    else if (!holds(a, b->lo, b->len, mask)) {
        uint64_t first = both_from(a, b, mask), second = both_from(b, a, mask);
        r.lo = first <= second ? a->lo : b->lo;
        r.len = first <= second ? first : second;
        if (r.len == mask) r = touch_any(bits);
    }
    r.id = a->id == b->id ? a->id : 0;
    return tainted(r, a, b);
}

bool touch_meet(struct touch_value *v, uint64_t lo, uint64_t len, uint32_t bits) {
    uint64_t mask = touch_mask(bits);
    if (v->var || len == mask) return true;
    uint64_t to = (lo - v->lo) & mask, back = (v->lo - lo) & mask;
    if (v->len == mask || (to <= v->len && back > len)) {
        uint64_t left = v->len == mask ? len : v->len - to;
        v->lo = lo;
        v->len = len < left ? len : left;
        return true;
    }
    if (back <= len && (to > v->len || !to)) { /* the beginning of v is in the range */
        if (v->len > len - back) v->len = len - back;
        return true;
    }
    if (to > v->len) return false;
    if (len < v->len) { /* two pieces at the ends of both: the shorter range contains them */
        v->lo = lo;
        v->len = len;
    }
    return true;
}
