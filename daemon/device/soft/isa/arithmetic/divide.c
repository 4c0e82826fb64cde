/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer div and rem. PTX leaves division by zero undefined; hardware gives all ones for both
 * results, and so does this. The least value divided by -1 wraps.
 */
#include "daemon/device/soft/isa/arithmetic/isa.h"

#define DIVIDE_UNSIGNED(bits)                                                       \
    ISA_OP2(ISA_EACH, quot_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, \
            y ? x / y : (uint##bits##_t) - 1)                                       \
    ISA_OP2(ISA_EACH, rest_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, \
            y ? x % y : (uint##bits##_t) - 1)
#define DIVIDE_SIGNED(bits)                                                       \
    ISA_OP2(ISA_EACH, quot_s##bits, uint##bits##_t, int##bits##_t, int##bits##_t, \
            y == 0    ? -1                                                        \
            : y == -1 ? (int##bits##_t)(0 - (uint##bits##_t)x)                    \
                      : x / y)                                                    \
    ISA_OP2(ISA_EACH, rest_s##bits, uint##bits##_t, int##bits##_t, int##bits##_t, \
            y == 0    ? -1                                                        \
            : y == -1 ? 0                                                         \
                      : x % y)
DIVIDE_UNSIGNED(16)
DIVIDE_UNSIGNED(64)
DIVIDE_SIGNED(16)
DIVIDE_SIGNED(64)

/* 32-bit quotients computed in doubles, for the vectoriser. This is exact: a quotient that is no
 * integer lies 1 / y or more below the next one, and rounding adds less than x / y / 2^52. A zero
 * divisor is replaced by 1, and its result is overwritten. Without vector conversions to 64 bits
 * only the lanes of the mask are divided. */
#ifdef __AVX512DQ__
#define DIVIDE_LOOP ISA_LANES
#else
#define DIVIDE_LOOP ISA_EACH
#endif
#define DIVIDE_WORDS(sign, type)                                                    \
    static inline uint32_t quotient_##sign(type x, type y, uint32_t none) {         \
        const double q = (double)x / (double)(type)((uint32_t)y | (none & 1));      \
        return (uint32_t)(int64_t)q;                                                \
    }                                                                               \
    static inline uint32_t whole_##sign(type x, type y) {                           \
        const uint32_t none = 0 - (uint32_t)(y == 0);                               \
        return quotient_##sign(x, y, none) | none;                                  \
    }                                                                               \
    static inline uint32_t remainder_##sign(type x, type y) {                       \
        const uint32_t none = 0 - (uint32_t)(y == 0);                               \
        return ((uint32_t)x - quotient_##sign(x, y, none) * (uint32_t)y) | none;    \
    }                                                                               \
    ISA_OP2(DIVIDE_LOOP, quot_##sign##32, uint32_t, type, type, whole_##sign(x, y)) \
    ISA_OP2(DIVIDE_LOOP, rest_##sign##32, uint32_t, type, type, remainder_##sign(x, y))
DIVIDE_WORDS(u, uint32_t)
DIVIDE_WORDS(s, int32_t)

ISA_FAMILY(divide_select) {
    const bool quot = i->op == PTX_OP_div;
    switch (i->type) {
    case PTX_U16: return quot ? quot_u16 : rest_u16;
    case PTX_S16: return quot ? quot_s16 : rest_s16;
    case PTX_U32: return quot ? quot_u32 : rest_u32;
    case PTX_S32: return quot ? quot_s32 : rest_s32;
    case PTX_U64: return quot ? quot_u64 : rest_u64;
    case PTX_S64: return quot ? quot_s64 : rest_s64;
    default: return NULL;
    }
}
