/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer add, sub, mul, mad, mul24, mad24, sad, min, max, abs, neg. Arithmetic is done on unsigned
 * types, where overflow wraps as PTX demands.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

typedef __int128 i128;
typedef unsigned __int128 u128;

/* The wrapping operations give the same bits for signed and unsigned. 16-bit products are computed
 * in 32 unsigned bits, since C would promote them to a signed int. */
#define INTEGER_WRAPPING(bits, wide)                                                              \
    ISA_OP2(ISA_LANES, add##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x + y)          \
    ISA_OP2(ISA_LANES, sub##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, x - y)          \
    ISA_OP2(ISA_LANES, mul##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, (wide)x *y)     \
    ISA_OP3(ISA_LANES, mad##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, uint##bits##_t, \
            (wide)x *y + z)                                                                       \
    ISA_OP1(ISA_LANES, neg##bits, uint##bits##_t, uint##bits##_t, 0 - (wide)x)                    \
    ISA_OP1(ISA_LANES, abs##bits, uint##bits##_t, int##bits##_t, x < 0 ? 0 - (wide)x : (wide)x)
INTEGER_WRAPPING(16, uint32_t)
INTEGER_WRAPPING(32, uint32_t)
INTEGER_WRAPPING(64, uint64_t)

/* The upper half of a product, and operations that depend on the sign. `wide` holds a full
 * product. */
#define INTEGER_SIGNED(name, bits, type, wide, uwide)                            \
    ISA_OP2(ISA_LANES, mulhi_##name, uint##bits##_t, type, type,                 \
            (uwide)((wide)x * (wide)y) >> bits)                                  \
    ISA_OP3(ISA_LANES, madhi_##name, uint##bits##_t, type, type, uint##bits##_t, \
            ((uwide)((wide)x * (wide)y) >> bits) + z)                            \
    ISA_OP2(ISA_LANES, min_##name, type, type, type, x < y ? x : y)              \
    ISA_OP2(ISA_LANES, max_##name, type, type, type, x > y ? x : y)              \
    ISA_OP3(ISA_LANES, sad_##name, uint##bits##_t, type, type, uint##bits##_t,   \
            (x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x) + z)
INTEGER_SIGNED(u16, 16, uint16_t, uint32_t, uint32_t)
INTEGER_SIGNED(s16, 16, int16_t, int32_t, uint32_t)
INTEGER_SIGNED(u32, 32, uint32_t, uint64_t, uint64_t)
INTEGER_SIGNED(s32, 32, int32_t, int64_t, uint64_t)
INTEGER_SIGNED(u64, 64, uint64_t, u128, u128)
INTEGER_SIGNED(s64, 64, int64_t, i128, u128)

#define INTEGER_WIDE(name, type, wide, uwide)                         \
    ISA_OP2(ISA_LANES, mulwide_##name, uwide, type, type, (wide)x *y) \
    ISA_OP3(ISA_LANES, madwide_##name, uwide, type, type, uwide, (uwide)((wide)x * (wide)y) + z)
INTEGER_WIDE(u16, uint16_t, uint32_t, uint32_t)
INTEGER_WIDE(s16, int16_t, int32_t, uint32_t)
INTEGER_WIDE(u32, uint32_t, uint64_t, uint64_t)
INTEGER_WIDE(s32, int32_t, int64_t, uint64_t)

static inline int32_t saturate(int64_t v) {
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

ISA_OP2(ISA_LANES, addsat, int32_t, int32_t, int32_t, saturate((int64_t)x + y))
ISA_OP2(ISA_LANES, subsat, int32_t, int32_t, int32_t, saturate((int64_t)x - y))
ISA_OP1(ISA_LANES, negsat, int32_t, int32_t, saturate(-(int64_t)x))
/* mad.hi.sat.s32 and mad24.hi.sat.s32 are the only saturating products. */
ISA_OP3(ISA_LANES, madhisat, int32_t, int32_t, int32_t, int32_t,
        saturate((((int64_t)x * y) >> 32) + z))

/* .relu: a negative result becomes 0. */
ISA_OP2(ISA_LANES, minrelu, int32_t, int32_t, int32_t, x < 0 || y < 0 ? 0 : x < y ? x : y)
ISA_OP2(ISA_LANES, maxrelu, int32_t, int32_t, int32_t, x < 0 && y < 0 ? 0 : x > y ? x : y)

/* Sources of 24 bits. lo and hi are bits 31..0 and 47..16 of the product. */
static inline int64_t product24_s32(uint32_t x, uint32_t y) {
    return (int64_t)((int32_t)(x << 8) >> 8) * ((int32_t)(y << 8) >> 8);
}
static inline int64_t product24_u32(uint32_t x, uint32_t y) {
    return (int64_t)((uint64_t)(x & 0xffffff) * (y & 0xffffff));
}
#define INTEGER_24(name)                                                                           \
    ISA_OP2(ISA_LANES, mul24lo_##name, uint32_t, uint32_t, uint32_t, product24_##name(x, y))       \
    ISA_OP2(ISA_LANES, mul24hi_##name, uint32_t, uint32_t, uint32_t, product24_##name(x, y) >> 16) \
    ISA_OP3(ISA_LANES, mad24lo_##name, uint32_t, uint32_t, uint32_t, uint32_t,                     \
            product24_##name(x, y) + z)                                                            \
    ISA_OP3(ISA_LANES, mad24hi_##name, uint32_t, uint32_t, uint32_t, uint32_t,                     \
            (product24_##name(x, y) >> 16) + z)
INTEGER_24(u32)
INTEGER_24(s32)
ISA_OP3(ISA_LANES, mad24hisat, int32_t, uint32_t, uint32_t, int32_t,
        saturate((product24_s32(x, y) >> 16) + z))

/* Picks a handler by width, for operations that wrap. */
#define INTEGER_BY_WIDTH(bytes, stem) \
    ((bytes) == 2 ? stem##16 : (bytes) == 4 ? stem##32 : (bytes) == 8 ? stem##64 : NULL)

#define INTEGER_BY_TYPE(type, stem)  \
    ((type) == PTX_U16   ? stem##u16 \
     : (type) == PTX_S16 ? stem##s16 \
     : (type) == PTX_U32 ? stem##u32 \
     : (type) == PTX_S32 ? stem##s32 \
     : (type) == PTX_U64 ? stem##u64 \
     : (type) == PTX_S64 ? stem##s64 \
                         : NULL)

#define INTEGER_BY_NARROW(type, stem) \
    ((type) == PTX_U16   ? stem##u16  \
     : (type) == PTX_S16 ? stem##s16  \
     : (type) == PTX_U32 ? stem##u32  \
     : (type) == PTX_S32 ? stem##s32  \
                         : NULL)

#define INTEGER_BY_SIGN(type, stem) \
    ((type) == PTX_U32 ? stem##u32 : (type) == PTX_S32 ? stem##s32 : NULL)

static code_handler *pick_product(const struct code_inst *i, uint32_t bytes) {
    const bool hi = i->mods & PTX_MOD_HI, wide = i->mods & PTX_MOD_WIDE;
    if (i->op == PTX_OP_mul) {
        if (wide) return INTEGER_BY_NARROW(i->type, mulwide_);
        return hi ? INTEGER_BY_TYPE(i->type, mulhi_) : INTEGER_BY_WIDTH(bytes, mul);
    }
    if (i->mods & PTX_MOD_SAT) return hi && i->type == PTX_S32 ? madhisat : NULL;
    if (wide) return INTEGER_BY_NARROW(i->type, madwide_);
    return hi ? INTEGER_BY_TYPE(i->type, madhi_) : INTEGER_BY_WIDTH(bytes, mad);
}

static code_handler *pick_product24(const struct code_inst *i) {
    const bool hi = i->mods & PTX_MOD_HI;
    if (i->op == PTX_OP_mul24)
        return hi ? INTEGER_BY_SIGN(i->type, mul24hi_) : INTEGER_BY_SIGN(i->type, mul24lo_);
    if (i->mods & PTX_MOD_SAT) return hi && i->type == PTX_S32 ? mad24hisat : NULL;
    return hi ? INTEGER_BY_SIGN(i->type, mad24hi_) : INTEGER_BY_SIGN(i->type, mad24lo_);
}

ISA_FAMILY(integer_select) {
    const uint32_t bytes = ptx_type_bytes(i->type);
    const char class = ptx_type_class(i->type);
    const bool sat = i->mods & PTX_MOD_SAT;
    if (class != 'u' && class != 's') return NULL;
    if (sat && i->type != PTX_S32) return NULL;
    if (i->mods & PTX_MOD_RELU) {
        if (i->type != PTX_S32) return NULL;
        return i->op == PTX_OP_min ? minrelu : i->op == PTX_OP_max ? maxrelu : NULL;
    }
    switch (i->op) {
    case PTX_OP_add: return sat ? addsat : INTEGER_BY_WIDTH(bytes, add);
    case PTX_OP_sub: return sat ? subsat : INTEGER_BY_WIDTH(bytes, sub);
    case PTX_OP_mul:
    case PTX_OP_mad: return pick_product(i, bytes);
    case PTX_OP_mul24:
    case PTX_OP_mad24: return pick_product24(i);
    case PTX_OP_sad: return INTEGER_BY_TYPE(i->type, sad_);
    case PTX_OP_min: return INTEGER_BY_TYPE(i->type, min_);
    case PTX_OP_max: return INTEGER_BY_TYPE(i->type, max_);
    case PTX_OP_abs: return class == 's' ? INTEGER_BY_WIDTH(bytes, abs) : NULL;
    case PTX_OP_neg:
        if (class != 's') return NULL;
        return sat ? negsat : INTEGER_BY_WIDTH(bytes, neg);
    default: return NULL;
    }
}
