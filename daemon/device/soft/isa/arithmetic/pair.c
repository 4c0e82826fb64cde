/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of f32 in a register of 64 bits, in every rounding: add, sub, mul, fma. A register of pairs
 * is seen as 64 elements. Built with -frounding-math, as directed.c is.
 */
#include <fenv.h>
#include <math.h>

#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

#define ELEMENTS (2 * WARP_LANES)

static inline float flushed(float v, bool ftz) {
    return ftz ? real_flush(v) : v;
}

/* `expr` computes the result from the elements x, y and z. `scaled` is the same result REAL_UP
 * times as large. */
#define PAIR(name, expr, scaled)                                                      \
    static inline float one_##name(float x, float y, float z, bool ftz) {             \
        x = flushed(x, ftz);                                                          \
        y = flushed(y, ftz);                                                          \
        z = flushed(z, ftz);                                                          \
        (void)z;                                                                      \
        return real_nan32(ftz ? real_flush_tiny(expr, scaled) : expr);                \
    }                                                                                 \
    static inline __attribute__((always_inline)) void run_##name(                     \
        struct warp *w, const struct code_inst *i, uint32_t mask, bool ftz) {         \
        float *d = SLOT(float, w, i->d);                                              \
        const float *a = SLOT(const float, w, i->a), *b = SLOT(const float, w, i->b); \
        const float *c = i->c == CODE_NO_SLOT ? a : SLOT(const float, w, i->c);       \
        if (mask == ISA_FULL) {                                                       \
            ISA_INDEPENDENT for (unsigned e = 0; e < ELEMENTS; e++) d[e] =            \
                one_##name(a[e], b[e], c[e], ftz);                                    \
        } else {                                                                      \
            for (unsigned e = 0; e < ELEMENTS; e++)                                   \
                if (mask >> e / 2 & 1) d[e] = one_##name(a[e], b[e], c[e], ftz);      \
        }                                                                             \
    }                                                                                 \
    ISA_HANDLER(name##_plain) {                                                       \
        run_##name(w, i, mask, false);                                                \
    }                                                                                 \
    ISA_HANDLER(name##_any) {                                                         \
        fesetround(real_mode(i->round));                                              \
        run_##name(w, i, mask, i->mods &PTX_MOD_FTZ);                                 \
        fesetround(FE_TONEAREST);                                                     \
    }
PAIR(add, x + y, (x + y) * REAL_UP)
PAIR(sub, x - y, (x - y) * REAL_UP)
PAIR(mul, x *y, x *REAL_UP *y)
PAIR(fma, fmaf(x, y, z), fmaf(x *REAL_UP, y, z *REAL_UP))

ISA_FAMILY(pair_select) {
    const bool plain = i->round <= PTX_RN && !(i->mods & PTX_MOD_FTZ);
    switch (i->op) {
    case PTX_OP_add: return plain ? add_plain : add_any;
    case PTX_OP_sub: return plain ? sub_plain : sub_any;
    case PTX_OP_mul: return plain ? mul_plain : mul_any;
    case PTX_OP_fma: return plain ? fma_plain : fma_any;
    default: return NULL;
    }
}
