/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of 16-bit integers in a register: add, min, max on u16x2 and s16x2.
 */
#include "daemon/device/soft/isa/arithmetic/isa.h"

/* x and y are the halves at one position. `relu` turns a negative result into 0. */
#define PACKED(name, type, expr)                                                                  \
    static inline uint16_t one_##name(type x, type y, bool relu) {                                \
        const type v = (type)(expr);                                                              \
        return (uint16_t)(relu && v < 0 ? 0 : v);                                                 \
    }                                                                                             \
    ISA_HANDLER(name) {                                                                           \
        uint32_t *d = SLOT(uint32_t, w, i->d);                                                    \
        const uint32_t *a = SLOT(const uint32_t, w, i->a), *b = SLOT(const uint32_t, w, i->b);    \
        const bool relu = i->mods & PTX_MOD_RELU;                                                 \
        ISA_LANES(mask, uint32_t, d,                                                              \
                  v = one_##name((type)a[l], (type)b[l], relu) |                                  \
                      (uint32_t)one_##name((type)(a[l] >> 16), (type)(b[l] >> 16), relu) << 16;); \
    }
PACKED(add, int16_t, (uint16_t)x + (uint16_t)y)
PACKED(min_s, int16_t, x < y ? x : y)
PACKED(max_s, int16_t, x > y ? x : y)
PACKED(min_u, int32_t, (uint16_t)x < (uint16_t)y ? x : y)
PACKED(max_u, int32_t, (uint16_t)x > (uint16_t)y ? x : y)

ISA_FAMILY(packed_select) {
    const bool sign = i->type == PTX_S16X2;
    if (i->mods & PTX_MOD_SAT || (i->mods & PTX_MOD_RELU && !(sign && i->op != PTX_OP_add)))
        return NULL;
    switch (i->op) {
    case PTX_OP_add: return add;
    case PTX_OP_min: return sign ? min_s : min_u;
    case PTX_OP_max: return sign ? max_s : max_u;
    default: return NULL;
    }
}
