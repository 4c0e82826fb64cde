/* SPDX-License-Identifier: Apache-2.0
 *
 * Bit fields and permutations: lop3 shf brev bfe bfi bfind bmsk clz fns popc prmt szext.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

/* lop3: returns the bit of the table that x, y, z select, for all bits at once, from the eight
 * minterms. */
static inline uint32_t lop3(uint32_t x, uint32_t y, uint32_t z, uint32_t lut) {
    uint32_t v = 0;
    for (unsigned k = 0; k < 8; k++) {
        const uint32_t term = (k & 4 ? x : ~x) & (k & 2 ? y : ~y) & (k & 1 ? z : ~z);
        v |= term & (0 - (lut >> k & 1));
    }
    return v;
}

ISA_HANDLER(lop3_b32) {
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    const uint32_t *c = SLOT(const uint32_t, w, i->c);
    const uint32_t lut = *SLOT(const uint32_t, w, i->e); /* always an immediate */
    ISA_LANES(mask, uint32_t, d, v = lop3(a[l], b[l], c[l], lut););
}

/* shf: shifts the pair {b, a} by c; l keeps the upper half and r the lower. */
#define BITS_SHF(name, shift, expr)                                                            \
    ISA_HANDLER(name) {                                                                        \
        uint32_t *d = SLOT(uint32_t, w, i->d);                                                 \
        const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b); \
        const uint32_t *c = SLOT(const uint32_t, w, i->c);                                     \
        ISA_LANES(mask, uint32_t, d, const uint64_t pair = (uint64_t)b[l] << 32 | a[l];        \
                  const uint32_t n = shift; v = (uint32_t)(expr););                            \
    }
BITS_SHF(shf_l_wrap, c[l] & 31, pair << n >> 32)
BITS_SHF(shf_r_wrap, c[l] & 31, pair >> n)
BITS_SHF(shf_l_clamp, c[l] < 32 ? c[l] : 32, pair << n >> 32)
BITS_SHF(shf_r_clamp, c[l] < 32 ? c[l] : 32, pair >> n)

static inline uint64_t reverse_bits(uint64_t x) {
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(x);
}
ISA_OP1(ISA_LANES, brev32, uint32_t, uint32_t, reverse_bits(x) >> 32)
ISA_OP1(ISA_LANES, brev64, uint64_t, uint64_t, reverse_bits(x))

/* Counts bits without branches, so that loops vectorise. To find the top bit, bit_length first
 * spreads it down. */
static inline uint32_t count_ones(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (uint32_t)(x * 0x0101010101010101 >> 56);
}
static inline uint32_t bit_length(uint64_t x) { /* bits of the number; 0 for 0 */
    for (unsigned n = 1; n < 64; n *= 2)
        x |= x >> n;
    return count_ones(x);
}
ISA_OP1(ISA_LANES, popc32, uint32_t, uint32_t, count_ones(x))
ISA_OP1(ISA_LANES, popc64, uint32_t, uint64_t, count_ones(x))
ISA_OP1(ISA_LANES, clz32, uint32_t, uint32_t, 32 - bit_length(x))
ISA_OP1(ISA_LANES, clz64, uint32_t, uint64_t, 64 - bit_length(x))

/* bfind: the position of the most significant bit that differs from the sign; all ones if there is
 * none. With .shiftamt: the left shift that moves this bit to the top. */
static inline uint32_t find_top(uint64_t x, unsigned bits, bool amount) {
    const uint32_t length = bit_length(x);
    return !length ? ISA_FULL : amount ? bits - length : length - 1;
}
#define BITS_FIND(bits)                                                                    \
    ISA_HANDLER(find_u##bits) {                                                            \
        uint32_t *d = SLOT(uint32_t, w, i->d);                                             \
        const uint##bits##_t *a = SLOT(const uint##bits##_t, w, i->a);                     \
        const bool amount = i->mods & PTX_MOD_SHIFTAMT;                                    \
        ISA_LANES(mask, uint32_t, d, v = find_top(a[l], bits, amount););                   \
    }                                                                                      \
    ISA_HANDLER(find_s##bits) {                                                            \
        uint32_t *d = SLOT(uint32_t, w, i->d);                                             \
        const int##bits##_t *a = SLOT(const int##bits##_t, w, i->a);                       \
        const bool amount = i->mods & PTX_MOD_SHIFTAMT;                                    \
        ISA_LANES(mask, uint32_t, d,                                                       \
                  v = find_top((uint##bits##_t)(a[l] < 0 ? ~a[l] : a[l]), bits, amount);); \
    }
BITS_FIND(32)
BITS_FIND(64)

/* Position and length are the low 8 bits of their operands, as in PTX. For 64-bit fields, which
 * hardware builds from shifts, they are the whole operands. The sign of an extracted field is its
 * top bit, or the source's when the field reaches beyond the source; an empty field is 0. */
static inline uint64_t low_ones(uint32_t n) { /* the n low bits */
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}
static inline uint64_t extract_field(uint64_t x, uint32_t pos, uint32_t len, uint32_t bits,
                                     bool sign) {
    const uint32_t top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
    const uint64_t field = (pos < bits ? x >> (pos & 63) : 0) & low_ones(len);
    const bool fill = sign && len && x >> top & 1;
    /* The sign fills all bits of the result above the `have` bits that come from x: at most len,
     * and no more than x has above pos. */
    const uint32_t have = pos >= bits ? 0 : bits - pos < len ? bits - pos : len;
    return fill ? field | ~low_ones(have) : field;
}
#define BITS_PLACE_32(v) ((v)&255)
#define BITS_PLACE_64(v) ((v) < 255 ? (v) : 255)
#define BITS_FIELD(bits)                                                                          \
    ISA_OP3(ISA_LANES, bfe_u##bits, uint##bits##_t, uint##bits##_t, uint32_t, uint32_t,           \
            extract_field(x, BITS_PLACE_##bits(y), BITS_PLACE_##bits(z), bits, false))            \
    ISA_OP3(ISA_LANES, bfe_s##bits, uint##bits##_t, uint##bits##_t, uint32_t, uint32_t,           \
            extract_field(x, BITS_PLACE_##bits(y), BITS_PLACE_##bits(z), bits, true))             \
    ISA_HANDLER(bfi##bits) { /* inserts a into b at c for e bits */                               \
        uint##bits##_t *d = SLOT(uint##bits##_t, w, i->d);                                        \
        const uint##bits##_t *a = SLOT(const uint##bits##_t, w, i->a);                            \
        const uint##bits##_t *b = SLOT(const uint##bits##_t, w, i->b);                            \
        const uint32_t *c = SLOT(const uint32_t, w, i->c), *e = SLOT(const uint32_t, w, i->e);    \
        ISA_LANES(mask, uint##bits##_t, d, const uint32_t pos = BITS_PLACE_##bits(c[l]);          \
                  const uint64_t hole =                                                           \
                      pos < bits ? low_ones(BITS_PLACE_##bits(e[l])) << (pos & 63) : 0;           \
                  v = (uint##bits##_t)((b[l] & ~hole) | ((uint64_t)a[l] << (pos & 63) & hole));); \
    }
BITS_FIELD(32)
BITS_FIELD(64)

/* bmsk and szext: .clamp limits the operand to 32, .wrap takes the low five bits. */
ISA_HANDLER(bmsk) { /* b ones from bit a up */
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    const bool wrap = i->mods & PTX_MOD_WRAP;
    ISA_LANES(mask, uint32_t, d,
              const uint32_t pos = wrap        ? a[l] & 31
                                   : a[l] < 32 ? a[l]
                                               : 32;
              const uint32_t len = wrap        ? b[l] & 31
                                   : b[l] < 32 ? b[l]
                                               : 32;
              v = (uint32_t)(low_ones(len) << pos););
}
ISA_HANDLER(szext) { /* a's low b bits, extended by zero or sign */
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);
    const bool wrap = i->mods & PTX_MOD_WRAP, sign = i->type == PTX_S32;
    ISA_LANES(mask, uint32_t, d,
              const uint32_t len = wrap        ? b[l] & 31
                                   : b[l] < 32 ? b[l]
                                               : 32;
              const bool fill = sign && len && a[l] >> ((len - 1) & 31) & 1;
              v = (uint32_t)((a[l] & low_ones(len)) | (fill ? ~low_ones(len) : 0)););
}

/* prmt: four bytes out of eight. A selector's bit 3 replicates the sign of its byte; the special
 * modes derive the four selectors from the two low bits of c and do not replicate. */
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t sel) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t v = 0;
    for (unsigned k = 0; k < 4; k++) {
        const uint32_t s = sel >> 4 * k & 15;
        const uint32_t byte = bytes >> 8 * (s & 7) & 255;
        v |= (s & 8 ? (byte & 128 ? 255u : 0) : byte) << 8 * k;
    }
    return v;
}
static const uint16_t bits_selectors[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
    {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
    {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
    {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
    {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
    {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
};
ISA_OP3(ISA_LANES, prmt_b32, uint32_t, uint32_t, uint32_t, uint32_t, permute(x, y, z))
ISA_OP3(ISA_LANES, prmt_mode, uint32_t, uint32_t, uint32_t, uint32_t,
        permute(x, y, bits_selectors[i->sub - PTX_SUB_F4E][z & 3]))

/* fns: the position of the nth set bit of x, counted from y up (n > 0) or down (n < 0); all ones if
 * there is none. With n = 0: y itself, if that bit is set. */
static inline uint32_t find_nth_set(uint32_t x, uint32_t y, int32_t n) {
    const int step = n < 0 ? -1 : 1;
    int64_t count = n < 0 ? -(int64_t)n : n;
    if (!n) return y < 32 && (x >> y & 1) ? y : UINT32_MAX;
    for (int64_t at = y; at >= 0 && at < 32; at += step)
        if ((x >> at & 1) && !--count) return (uint32_t)at;
    return UINT32_MAX;
}
ISA_OP3(ISA_EACH, fns_b32, uint32_t, uint32_t, uint32_t, int32_t, find_nth_set(x, y, z))

static code_handler *pick_shf(const struct code_inst *i) {
    const bool wrap = i->mods & PTX_MOD_WRAP;
    if (i->mods & PTX_MOD_LEFT) return wrap ? shf_l_wrap : shf_l_clamp;
    return wrap ? shf_r_wrap : shf_r_clamp;
}

static code_handler *pick_prmt(const struct code_inst *i) {
    if (i->sub == PTX_SUB_NONE) return prmt_b32;
    return i->sub >= PTX_SUB_F4E && i->sub <= PTX_SUB_RC16 ? prmt_mode : NULL;
}

ISA_FAMILY(bits_select) {
    const uint32_t bytes = ptx_type_bytes(i->type);
    const bool sign = ptx_type_class(i->type) == 's', wide = bytes == 8;
    if (bytes != 4 && bytes != 8) return NULL;
    switch (i->op) {
    case PTX_OP_brev: return wide ? brev64 : brev32;
    case PTX_OP_popc: return wide ? popc64 : popc32;
    case PTX_OP_clz: return wide ? clz64 : clz32;
    case PTX_OP_bfe:
        if (sign) return wide ? bfe_s64 : bfe_s32;
        return wide ? bfe_u64 : bfe_u32;
    case PTX_OP_bfi: return wide ? bfi64 : bfi32;
    case PTX_OP_bfind:
        if (sign) return wide ? find_s64 : find_s32;
        return wide ? find_u64 : find_u32;
    case PTX_OP_lop3: return wide || i->e == CODE_NO_SLOT ? NULL : lop3_b32;
    case PTX_OP_shf: return wide ? NULL : pick_shf(i);
    case PTX_OP_bmsk: return wide ? NULL : bmsk;
    case PTX_OP_fns: return wide ? NULL : fns_b32;
    case PTX_OP_szext: return wide ? NULL : szext;
    case PTX_OP_prmt: return wide ? NULL : pick_prmt(i);
    default: return NULL;
    }
}
