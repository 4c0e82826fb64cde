/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended precision: add.cc addc sub.cc subc mad.cc madc. CC.CF is a bit of w->carry in each lane.
 * A subtraction is a + ~b + 1, and its carry is the carry of this sum: 1 means *no* borrow. subc
 * therefore adds the carry: a + ~b + CC.CF.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

typedef __int128 i128;
typedef unsigned __int128 u128;

/* `in` is the carry into the sum: 0, 1 or the lane's bit of CC. With .cc the carry out is
 * stored. */
#define CARRY_LOOP(type, wide, bits, p, q, in)                                     \
    const bool keep = i->mods & PTX_MOD_CC;                                        \
    uint32_t carry = w->carry;                                                     \
    ISA_EACH(mask, type, d, {                                                      \
        const wide sum = (wide)(p) + (wide)(q) + (wide)(in);                       \
        v = (type)sum;                                                             \
        if (keep) carry = (carry & ~(1u << l)) | (uint32_t)(sum >> bits & 1) << l; \
    })                                                                             \
    w->carry = carry

#define CARRY_SUMS(bits, wide)                                                             \
    ISA_HANDLER(add##bits) {                                                               \
        uint##bits##_t *d = SLOT(uint##bits##_t, w, i->d);                                 \
        const uint##bits##_t *a = SLOT(const uint##bits##_t, w, i->a);                     \
        const uint##bits##_t *b = SLOT(const uint##bits##_t, w, i->b);                     \
        const uint32_t in = i->op == PTX_OP_addc ? w->carry : 0;                           \
        CARRY_LOOP(uint##bits##_t, wide, bits, a[l], b[l], in >> l & 1);                   \
    }                                                                                      \
    ISA_HANDLER(sub##bits) {                                                               \
        uint##bits##_t *d = SLOT(uint##bits##_t, w, i->d);                                 \
        const uint##bits##_t *a = SLOT(const uint##bits##_t, w, i->a);                     \
        const uint##bits##_t *b = SLOT(const uint##bits##_t, w, i->b);                     \
        const uint32_t in = i->op == PTX_OP_subc ? w->carry : ISA_FULL;                    \
        CARRY_LOOP(uint##bits##_t, wide, bits, a[l], (uint##bits##_t) ~b[l], in >> l & 1); \
    }
CARRY_SUMS(32, uint64_t)
CARRY_SUMS(64, u128)

/* mad: adds one half of the product to the sum. `expr` computes this half from the sources x and
 * y. */
#define CARRY_PRODUCT(name, type, wide, bits, expr)                               \
    ISA_HANDLER(name) {                                                           \
        type *d = SLOT(type, w, i->d);                                            \
        const type *a = SLOT(const type, w, i->a);                                \
        const type *b = SLOT(const type, w, i->b);                                \
        const type *c = SLOT(const type, w, i->c);                                \
        const uint32_t in = i->op == PTX_OP_madc ? w->carry : 0;                  \
        CARRY_LOOP(type, wide, bits, part_##expr(a[l], b[l]), c[l], in >> l & 1); \
    }

static inline uint32_t part_lo32(uint32_t x, uint32_t y) {
    return x * y;
}
static inline uint32_t part_hiu32(uint32_t x, uint32_t y) {
    return (uint32_t)((uint64_t)x * y >> 32);
}
static inline uint32_t part_his32(uint32_t x, uint32_t y) {
    return (uint32_t)((uint64_t)((int64_t)(int32_t)x * (int32_t)y) >> 32);
}
static inline uint64_t part_lo64(uint64_t x, uint64_t y) {
    return x * y;
}
static inline uint64_t part_hiu64(uint64_t x, uint64_t y) {
    return (uint64_t)((u128)x * y >> 64);
}
static inline uint64_t part_his64(uint64_t x, uint64_t y) {
    return (uint64_t)((u128)((i128)(int64_t)x * (int64_t)y) >> 64);
}
CARRY_PRODUCT(mad_lo32, uint32_t, uint64_t, 32, lo32)
CARRY_PRODUCT(mad_hiu32, uint32_t, uint64_t, 32, hiu32)
CARRY_PRODUCT(mad_his32, uint32_t, uint64_t, 32, his32)
CARRY_PRODUCT(mad_lo64, uint64_t, u128, 64, lo64)
CARRY_PRODUCT(mad_hiu64, uint64_t, u128, 64, hiu64)
CARRY_PRODUCT(mad_his64, uint64_t, u128, 64, his64)

static code_handler *pick_product(const struct code_inst *i) {
    const bool hi = i->mods & PTX_MOD_HI;
    switch (i->type) {
    case PTX_U32: return hi ? mad_hiu32 : mad_lo32;
    case PTX_S32: return hi ? mad_his32 : mad_lo32;
    case PTX_U64: return hi ? mad_hiu64 : mad_lo64;
    case PTX_S64: return hi ? mad_his64 : mad_lo64;
    default: return NULL;
    }
}

ISA_FAMILY(carry_select) {
    const uint32_t bytes = ptx_type_bytes(i->type);
    const char class = ptx_type_class(i->type);
    if ((class != 'u' && class != 's' && class != 'b') || bytes < 4 || bytes > 8) return NULL;
    switch (i->op) {
    case PTX_OP_add:
    case PTX_OP_addc: return bytes == 4 ? add32 : add64;
    case PTX_OP_sub:
    case PTX_OP_subc: return bytes == 4 ? sub32 : sub64;
    case PTX_OP_mad:
    case PTX_OP_madc: return pick_product(i);
    default: return NULL;
    }
}
