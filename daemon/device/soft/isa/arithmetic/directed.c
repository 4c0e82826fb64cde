/* SPDX-License-Identifier: Apache-2.0
 *
 * f32 and f64 arithmetic rounded towards zero, down or up. Built with -frounding-math (see
 * scripts/mk/product/isa.mk). Operands are loaded after fesetround and results stored before the
 * mode is restored, so that the operations stay in between. Otherwise threads always round to
 * nearest.
 */
#include <fenv.h>
#include <math.h>

#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

/* Without FMA instructions fma is a function call, which obeys the rounding mode as well. */
#ifdef __FMA__
#define DIRECTED_FMA_LOOP ISA_LANES
#else
#define DIRECTED_FMA_LOOP ISA_EACH
#endif

static inline float flush_in(float x, bool ftz) {
    return ftz ? real_flush(x) : x;
}
static inline float flush_out(float v, float scaled, bool ftz, bool sat) {
    v = ftz ? real_flush_tiny(v, scaled) : v;
    return sat ? real_sat(v) : real_nan32(v);
}

/* `expr` computes the result from the sources x, y, z that the operation has. `in` reads one of
 * them from lane l. `scaled` is the same result REAL_UP times as large. */
#define DIRECTED_F32(loop, name, expr, scaled, ...)                          \
    ISA_HANDLER(name##_f32) {                                                \
        float *d = SLOT(float, w, i->d);                                     \
        const bool ftz = i->mods & PTX_MOD_FTZ, sat = i->mods & PTX_MOD_SAT; \
        DIRECTED_SOURCES_##__VA_ARGS__(float);                               \
        fesetround(real_mode(i->round));                                     \
        loop(mask, float, d, DIRECTED_READ_##__VA_ARGS__(float, in32);       \
             v = flush_out(expr, scaled, ftz, sat););                        \
        fesetround(FE_TONEAREST);                                            \
    }
#define DIRECTED_F64(loop, name, expr, ...)                                                      \
    ISA_HANDLER(name##_f64) {                                                                    \
        double *d = SLOT(double, w, i->d);                                                       \
        DIRECTED_SOURCES_##__VA_ARGS__(double);                                                  \
        fesetround(real_mode(i->round));                                                         \
        loop(mask, double, d, DIRECTED_READ_##__VA_ARGS__(double, in64); v = real_nan64(expr);); \
        fesetround(FE_TONEAREST);                                                                \
    }
#define in32(x) flush_in(x, ftz)
#define in64(x) (x)
#define DIRECTED_SOURCES_1(type) const type *a = SLOT(const type, w, i->a)
#define DIRECTED_SOURCES_2(type) \
    DIRECTED_SOURCES_1(type);    \
    const type *b = SLOT(const type, w, i->b)
#define DIRECTED_SOURCES_3(type) \
    DIRECTED_SOURCES_2(type);    \
    const type *c = SLOT(const type, w, i->c)
#define DIRECTED_READ_1(type, in) const type x = in(a[l])
#define DIRECTED_READ_2(type, in) \
    DIRECTED_READ_1(type, in);    \
    const type y = in(b[l])
#define DIRECTED_READ_3(type, in) \
    DIRECTED_READ_2(type, in);    \
    const type z = in(c[l])

#define DIRECTED(loop, name, expr32, scaled, expr64, count) \
    DIRECTED_F32(loop, name, expr32, scaled, count)         \
    DIRECTED_F64(loop, name, expr64, count)
DIRECTED(ISA_LANES, add, x + y, (x + y) * REAL_UP, x + y, 2)
DIRECTED(ISA_LANES, sub, x - y, (x - y) * REAL_UP, x - y, 2)
DIRECTED(ISA_LANES, mul, x *y, x *REAL_UP *y, x *y, 2)
DIRECTED(ISA_LANES, div, x / y, x *REAL_UP / y, x / y, 2)
DIRECTED(ISA_LANES, rcp, 1.0f / x, REAL_UP / x, 1.0 / x, 1)
DIRECTED(ISA_LANES, sqrt, x < 0 ? REAL_NAN32 : sqrtf(x), 1, x < 0 ? REAL_NAN64 : sqrt(x), 1)
DIRECTED(DIRECTED_FMA_LOOP, fma, fmaf(x, y, z), fmaf(x *REAL_UP, y, z *REAL_UP), fma(x, y, z), 3)

#define DIRECTED_PICK(stem) (i->type == PTX_F64 ? stem##_f64 : stem##_f32)

ISA_FAMILY(directed_select) {
    if (i->round != PTX_RZ && i->round != PTX_RM && i->round != PTX_RP) return NULL;
    if (i->type != PTX_F32 && i->type != PTX_F64) return NULL;
    switch (i->op) {
    case PTX_OP_add: return DIRECTED_PICK(add);
    case PTX_OP_sub: return DIRECTED_PICK(sub);
    case PTX_OP_mul: return DIRECTED_PICK(mul);
    case PTX_OP_div: return DIRECTED_PICK(div);
    case PTX_OP_rcp: return DIRECTED_PICK(rcp);
    case PTX_OP_sqrt: return DIRECTED_PICK(sqrt);
    case PTX_OP_mad:
    case PTX_OP_fma: return DIRECTED_PICK(fma);
    default: return NULL;
    }
}
