/* SPDX-License-Identifier: Apache-2.0
 *
 * setp and set for integers, f32 and f64. A comparison gives a mask of the warp; setp combines the
 * mask with a predicate, set spreads it over the lanes. Halves are compared as floats.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

/* Returns the lanes for which a comparison holds. The bits of lanes outside the execution mask are
 * ignored. */
typedef uint32_t compare_fn(const void *a, const void *b);

/* setp: p = t op c, q = !t op c, where t is the result of the comparison. */
static uint32_t combine(uint32_t t, uint32_t c, uint8_t op) {
    return op == PTX_SUB_AND ? t & c : op == PTX_SUB_OR ? t | c : op == PTX_SUB_XOR ? t ^ c : t;
}

static inline uint8_t boolop_of(const struct code_inst *i) {
    return i->sub2 != PTX_SUB_NONE ? i->sub2 : i->sub;
}

static inline uint32_t third_operand(const struct warp *w, const struct code_inst *i) {
    if (boolop_of(i) == PTX_SUB_NONE) return 0;
    return code_pred(w, i->c) ^ (i->c_neg ? ISA_FULL : 0);
}

static inline void store_lanes(struct warp *w, int32_t slot, uint32_t v, uint32_t mask) {
    uint32_t *d = SLOT(uint32_t, w, slot);
    *d = (*d & ~mask) | (v & mask);
}

static inline void store_setp(struct warp *w, const struct code_inst *i, uint32_t mask,
                              uint32_t t) {
    if (boolop_of(i) == PTX_SUB_NONE && i->d2 == CODE_NO_SLOT) {
        store_lanes(w, i->d, t, mask);
        return;
    }
    /* Reads the slot before the store, which may be to the same one. */
    const uint32_t c = third_operand(w, i);
    store_lanes(w, i->d, combine(t, c, boolop_of(i)), mask);
    if (i->d2 != CODE_NO_SLOT) store_lanes(w, i->d2, combine(~t, c, boolop_of(i)), mask);
}

#define COMPARE(name, type, expr)                                                                  \
    static inline uint32_t mask_##name(const void *a, const void *b) {                             \
        uint32_t v = 0;                                                                            \
        for (unsigned l = 0; l < WARP_LANES; l++) {                                                \
            const type x = ((const type *)a)[l], y = ((const type *)b)[l];                         \
            v |= (uint32_t)(expr) << l;                                                            \
        }                                                                                          \
        return v;                                                                                  \
    }                                                                                              \
    ISA_HANDLER(setp_##name) {                                                                     \
        store_setp(w, i, mask, mask_##name(SLOT(const type, w, i->a), SLOT(const type, w, i->b))); \
    }
#define COMPARE_EQUAL(name, type)    \
    COMPARE(eq_##name, type, x == y) \
    COMPARE(ne_##name, type, x != y)
#define COMPARE_INTEGER(name, type)  \
    COMPARE_EQUAL(name, type)        \
    COMPARE(lt_##name, type, x < y)  \
    COMPARE(le_##name, type, x <= y) \
    COMPARE(gt_##name, type, x > y)  \
    COMPARE(ge_##name, type, x >= y)
COMPARE_INTEGER(u16, uint16_t)
COMPARE_INTEGER(s16, int16_t)
COMPARE_INTEGER(u32, uint32_t)
COMPARE_INTEGER(s32, int32_t)
COMPARE_INTEGER(u64, uint64_t)
COMPARE_INTEGER(s64, int64_t)

/* Ordered comparisons, including ne, are false when a side is NaN; unordered ones are true. With
 * .ftz (z) both sides are flushed first. */
#define COMPARE_REAL(name, type, in)                                \
    COMPARE(eq_##name, type, in(x) == in(y))                        \
    COMPARE(ne_##name, type, (in(x) < in(y)) | (in(x) > in(y)))     \
    COMPARE(lt_##name, type, in(x) < in(y))                         \
    COMPARE(le_##name, type, in(x) <= in(y))                        \
    COMPARE(gt_##name, type, in(x) > in(y))                         \
    COMPARE(ge_##name, type, in(x) >= in(y))                        \
    COMPARE(equ_##name, type, !((in(x) < in(y)) | (in(x) > in(y)))) \
    COMPARE(neu_##name, type, in(x) != in(y))                       \
    COMPARE(ltu_##name, type, !(in(x) >= in(y)))                    \
    COMPARE(leu_##name, type, !(in(x) > in(y)))                     \
    COMPARE(gtu_##name, type, !(in(x) <= in(y)))                    \
    COMPARE(geu_##name, type, !(in(x) < in(y)))                     \
    COMPARE(num_##name, type, (x == x) & (y == y))                  \
    COMPARE(nan_##name, type, (x != x) | (y != y))
#define COMPARE_SAME(x) (x)
COMPARE_REAL(f32, float, COMPARE_SAME)
COMPARE_REAL(f32z, float, real_flush)
COMPARE_REAL(f64, double, COMPARE_SAME)

struct compare_entry {
    compare_fn *mask;
    code_handler *setp;
};
#define COMPARE_ENTRY(cmp, name) [cmp] = {mask_##name, setp_##name}
#define COMPARE_ROW_INTEGER(name)                                           \
    COMPARE_ENTRY(PTX_EQ, eq_##name), COMPARE_ENTRY(PTX_NE, ne_##name),     \
        COMPARE_ENTRY(PTX_LT, lt_##name), COMPARE_ENTRY(PTX_LE, le_##name), \
        COMPARE_ENTRY(PTX_GT, gt_##name), COMPARE_ENTRY(PTX_GE, ge_##name)
#define COMPARE_ROW_UNSIGNED(name)                                                                 \
    COMPARE_ROW_INTEGER(name), COMPARE_ENTRY(PTX_LO, lt_##name), COMPARE_ENTRY(PTX_LS, le_##name), \
        COMPARE_ENTRY(PTX_HI, gt_##name), COMPARE_ENTRY(PTX_HS, ge_##name)
#define COMPARE_ROW_REAL(name)                                                  \
    COMPARE_ROW_INTEGER(name), COMPARE_ENTRY(PTX_EQU, equ_##name),              \
        COMPARE_ENTRY(PTX_NEU, neu_##name), COMPARE_ENTRY(PTX_LTU, ltu_##name), \
        COMPARE_ENTRY(PTX_LEU, leu_##name), COMPARE_ENTRY(PTX_GTU, gtu_##name), \
        COMPARE_ENTRY(PTX_GEU, geu_##name), COMPARE_ENTRY(PTX_NUM, num_##name), \
        COMPARE_ENTRY(PTX_NAN, nan_##name)

enum { COMPARE_CMPS = PTX_NAN + 1 };
static const struct compare_entry compare_u16[COMPARE_CMPS] = {COMPARE_ROW_UNSIGNED(u16)};
static const struct compare_entry compare_s16[COMPARE_CMPS] = {COMPARE_ROW_INTEGER(s16)};
static const struct compare_entry compare_u32[COMPARE_CMPS] = {COMPARE_ROW_UNSIGNED(u32)};
static const struct compare_entry compare_s32[COMPARE_CMPS] = {COMPARE_ROW_INTEGER(s32)};
static const struct compare_entry compare_u64[COMPARE_CMPS] = {COMPARE_ROW_UNSIGNED(u64)};
static const struct compare_entry compare_s64[COMPARE_CMPS] = {COMPARE_ROW_INTEGER(s64)};
static const struct compare_entry compare_f32[COMPARE_CMPS] = {COMPARE_ROW_REAL(f32)};
static const struct compare_entry compare_f32z[COMPARE_CMPS] = {COMPARE_ROW_REAL(f32z)};
static const struct compare_entry compare_f64[COMPARE_CMPS] = {COMPARE_ROW_REAL(f64)};

/* Returns NULL when PTX has no such comparison. Halves are looked up as f32. */
static const struct compare_entry *find_entry(const struct code_inst *i, uint8_t type) {
    const struct compare_entry *row;
    switch (type) {
    case PTX_B16:
    case PTX_U16: row = compare_u16; break;
    case PTX_S16: row = compare_s16; break;
    case PTX_B32:
    case PTX_U32: row = compare_u32; break;
    case PTX_S32: row = compare_s32; break;
    case PTX_B64:
    case PTX_U64: row = compare_u64; break;
    case PTX_S64: row = compare_s64; break;
    case PTX_F64: row = compare_f64; break;
    case PTX_F32: row = i->mods & PTX_MOD_FTZ ? compare_f32z : compare_f32; break;
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: row = compare_f32; break;
    default: return NULL;
    }
    return i->cmp < COMPARE_CMPS && row[i->cmp].mask ? &row[i->cmp] : NULL;
}

static bool is_pair(uint8_t type) {
    return type == PTX_F16X2 || type == PTX_BF16X2;
}
static bool is_half(uint8_t type) {
    return type == PTX_F16 || type == PTX_BF16 || is_pair(type);
}

/* Converts one half (0 lower, 1 upper) of each lane to float. */
static void widen_halves(const struct warp *w, const struct code_inst *i, int32_t slot,
                         uint8_t type, unsigned half, float *out) {
    const bool pair = is_pair(type), f16 = type == PTX_F16 || type == PTX_F16X2;
    const uint16_t *a = SLOT(const uint16_t, w, slot);
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const uint16_t h = pair ? a[2 * l + half] : a[l];
        out[l] =
            !f16 ? half_from_bf16(h) : half_from_f16(i->mods & PTX_MOD_FTZ ? half_flush(h) : h);
    }
}

static uint32_t mask_of_halves(const struct warp *w, const struct code_inst *i, uint8_t type,
                               unsigned half) {
    float a[WARP_LANES], b[WARP_LANES];
    widen_halves(w, i, i->a, type, half, a);
    widen_halves(w, i, i->b, type, half, b);
    return find_entry(i, type)->mask(a, b);
}

/* setp for halves. A pair sets p by its lower and q by its upper half; a single half is like any
 * other number. */
ISA_HANDLER(setp_half) {
    const uint32_t t = mask_of_halves(w, i, i->type, 0);
    if (!is_pair(i->type)) {
        store_setp(w, i, mask, t);
        return;
    }
    const uint32_t u = mask_of_halves(w, i, i->type, 1), c = third_operand(w, i);
    store_lanes(w, i->d, combine(t, c, boolop_of(i)), mask);
    if (i->d2 != CODE_NO_SLOT) store_lanes(w, i->d2, combine(u, c, boolop_of(i)), mask);
}

/* Returns the value that set writes for true. */
static uint32_t true_value(uint8_t type) {
    switch (type) {
    case PTX_F32: return 0x3f800000;
    case PTX_F16:
    case PTX_F16X2: return 0x3c00;
    case PTX_BF16:
    case PTX_BF16X2: return 0x3f80;
    default: return ISA_FULL;
    }
}

ISA_HANDLER(spread_set) {
    const bool half = is_half(i->type2), pair = is_pair(i->type2);
    const uint32_t c = third_operand(w, i), yes = true_value(i->type);
    uint32_t t =
        half ? mask_of_halves(w, i, i->type2, 0)
             : find_entry(i, i->type2)->mask(SLOT(const void, w, i->a), SLOT(const void, w, i->b));
    t = combine(t, c, boolop_of(i));
    if (pair) {
        uint32_t *d = SLOT(uint32_t, w, i->d);
        const uint32_t u = combine(mask_of_halves(w, i, i->type2, 1), c, boolop_of(i));
        ISA_LANES(mask, uint32_t, d,
                  v = (t >> l & 1 ? yes & 0xffff : 0) | (u >> l & 1 ? yes << 16 : 0););
    } else if (ptx_type_bytes(i->type) == 2) {
        uint16_t *d = SLOT(uint16_t, w, i->d);
        ISA_LANES(mask, uint16_t, d, v = t >> l & 1 ? (uint16_t)yes : 0;);
    } else {
        uint32_t *d = SLOT(uint32_t, w, i->d);
        ISA_LANES(mask, uint32_t, d, v = t >> l & 1 ? yes : 0;);
    }
}

ISA_FAMILY(compare_select) {
    const bool set = i->op == PTX_OP_set;
    const struct compare_entry *entry = find_entry(i, set ? i->type2 : i->type);
    const uint8_t op = boolop_of(i);
    if (!entry) return NULL;
    if (op != PTX_SUB_NONE && op != PTX_SUB_AND && op != PTX_SUB_OR && op != PTX_SUB_XOR)
        return NULL;
    if ((op != PTX_SUB_NONE) != (i->c != CODE_NO_SLOT)) return NULL;
    if (!set) return is_half(i->type) ? setp_half : entry->setp;
    const uint32_t bytes = ptx_type_bytes(i->type);
    return bytes == 2 || (bytes == 4 && i->type != PTX_PRED) ? spread_set : NULL;
}
