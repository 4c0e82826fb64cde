/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer div and rem. PTX leaves a zero divisor undefined; the hardware's answer is all ones for
 * the quotient and the dividend for the remainder. The least value divided by -1 wraps.
 */
#include "daemon/device/soft/isa/isa.h"

#define DIVIDE_UNSIGNED(bits)                                                       \
    ISA_OP2(ISA_EACH, quot_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, \
            y ? x / y : (uint##bits##_t) - 1)                                       \
    ISA_OP2(ISA_EACH, rest_u##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, y ? x % y : x)
#define DIVIDE_SIGNED(bits)                                                       \
    ISA_OP2(ISA_EACH, quot_s##bits, uint##bits##_t, int##bits##_t, int##bits##_t, \
            y == 0    ? -1                                                        \
            : y == -1 ? (int##bits##_t)(0 - (uint##bits##_t)x)                    \
                      : x / y)                                                    \
    ISA_OP2(ISA_EACH, rest_s##bits, uint##bits##_t, int##bits##_t, int##bits##_t, \
            y == 0    ? x                                                         \
            : y == -1 ? 0                                                         \
                      : x % y)
DIVIDE_UNSIGNED(16)
DIVIDE_UNSIGNED(32)
DIVIDE_UNSIGNED(64)
DIVIDE_SIGNED(16)
DIVIDE_SIGNED(32)
DIVIDE_SIGNED(64)

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
