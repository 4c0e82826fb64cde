/* SPDX-License-Identifier: Apache-2.0
 *
 * f32 and f64 arithmetic rounded to nearest, min, max, sign operations, testp. Directed roundings
 * are in directed.c. The approximate divisions and square roots of PTX are rounded correctly here,
 * so they are not bit-exact with hardware.
 */
#include <math.h>

#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

#define REAL_ADD(x, y) ((x) + (y))
#define REAL_SUB(x, y) ((x) - (y))
#define REAL_MUL(x, y) ((x) * (y))
#define REAL_DIV(x, y) ((x) / (y))

/* Operations on flushed sources. Subnormal sums are exact; products and quotients may have been
 * rounded. */
static inline float flushed_add(float x, float y) {
    return real_flush(x + y);
}
static inline float flushed_sub(float x, float y) {
    return real_flush(x - y);
}
static inline float flushed_mul(float x, float y) {
    return real_flush_tiny(x * y, x * REAL_UP * y);
}
static inline float flushed_div(float x, float y) {
    return real_flush_tiny(x / y, x * REAL_UP / y);
}
static inline float flushed_fma(float x, float y, float z) {
    return real_flush_tiny(fmaf(x, y, z), fmaf(x * REAL_UP, y, z * REAL_UP));
}

/* div.approx multiplies by the reciprocal, which is 0 for divisors beyond 2^126. */
static inline float approx_div(float x, float y, float v) {
    const float size = __builtin_fabsf(y);
    const float none = x * __builtin_copysignf(0.0f, y);
    return size > 0x1p126f && size <= __FLT_MAX__ ? none : v;
}

/* Variants: plain, z (.ftz), s (.sat), zs. */
#define REAL_BINARY(loop, name, expr)                                      \
    ISA_OP2(loop, name##_f32, float, float, float, real_nan32(expr(x, y))) \
    ISA_OP2(loop, name##_f32z, float, float, float,                        \
            real_nan32(flushed_##name(real_flush(x), real_flush(y))))      \
    ISA_OP2(loop, name##_f64, double, double, double, real_nan64(expr(x, y)))
#define REAL_BINARY_SAT(name, expr)                                            \
    ISA_OP2(ISA_LANES, name##_f32s, float, float, float, real_sat(expr(x, y))) \
    ISA_OP2(ISA_LANES, name##_f32zs, float, float, float,                      \
            real_sat(flushed_##name(real_flush(x), real_flush(y))))
REAL_BINARY(ISA_LANES, add, REAL_ADD)
REAL_BINARY(ISA_LANES, sub, REAL_SUB)
REAL_BINARY(ISA_LANES, mul, REAL_MUL)
REAL_BINARY(ISA_LANES, div, REAL_DIV)
ISA_OP2(ISA_LANES, approx_div_f32, float, float, float, real_nan32(approx_div(x, y, x / y)))
ISA_OP2(ISA_LANES, approx_div_f32z, float, float, float,
        real_nan32(approx_div(real_flush(x), y, flushed_div(real_flush(x), real_flush(y)))))
REAL_BINARY_SAT(add, REAL_ADD)
REAL_BINARY_SAT(sub, REAL_SUB)
REAL_BINARY_SAT(mul, REAL_MUL)

/* Without FMA instructions this calls a function for each lane, and visiting only the mask's lanes
 * saves most calls. */
#ifdef __FMA__
#define REAL_FMA_LOOP ISA_LANES
#else
#define REAL_FMA_LOOP ISA_EACH
#endif
ISA_OP3(REAL_FMA_LOOP, fma_f32, float, float, float, float, real_nan32(fmaf(x, y, z)))
ISA_OP3(REAL_FMA_LOOP, fma_f32z, float, float, float, float,
        real_nan32(flushed_fma(real_flush(x), real_flush(y), real_flush(z))))
ISA_OP3(REAL_FMA_LOOP, fma_f32s, float, float, float, float, real_sat(fmaf(x, y, z)))
ISA_OP3(REAL_FMA_LOOP, fma_f32zs, float, float, float, float,
        real_sat(flushed_fma(real_flush(x), real_flush(y), real_flush(z))))
ISA_OP3(REAL_FMA_LOOP, fma_f64, double, double, double, double, real_nan64(fma(x, y, z)))

/* sqrtf must not set errno here, so negative arguments are tested first. */
static inline float sqrt_float(float x) {
    return x < 0 ? REAL_NAN32 : sqrtf(x);
}
static inline double sqrt_double(double x) {
    return x < 0 ? REAL_NAN64 : sqrt(x);
}

#define REAL_UNARY(name, expr32, expr64)                                                         \
    ISA_OP1(ISA_LANES, name##_f32, float, float, real_nan32(expr32(x)))                          \
    ISA_OP1(ISA_LANES, name##_f32z, float, float, real_flush(real_nan32(expr32(real_flush(x))))) \
    ISA_OP1(ISA_LANES, name##_f64, double, double, real_nan64(expr64(x)))
#define REAL_RCP32(x) (1.0f / (x))
#define REAL_RCP64(x) (1.0 / (x))
REAL_UNARY(rcp, REAL_RCP32, REAL_RCP64)
REAL_UNARY(sqrt, sqrt_float, sqrt_double)

/* abs and neg change only the sign, also for NaN. */
ISA_OP1(ISA_LANES, abs_f32, uint32_t, uint32_t, x & 0x7fffffff)
ISA_OP1(ISA_LANES, abs_f32z, float, float, __builtin_fabsf(real_flush(x)))
ISA_OP1(ISA_LANES, abs_f64, uint64_t, uint64_t, x &INT64_MAX)
ISA_OP1(ISA_LANES, neg_f32, uint32_t, uint32_t, x ^ 0x80000000)
ISA_OP1(ISA_LANES, neg_f32z, float, float, -real_flush(x))
ISA_OP1(ISA_LANES, neg_f64, uint64_t, uint64_t, x ^ 1ull << 63)
ISA_OP2(ISA_LANES, copysign_f32, uint32_t, uint32_t, uint32_t, (x & 0x80000000) | (y & 0x7fffffff))
ISA_OP2(ISA_LANES, copysign_f64, uint64_t, uint64_t, uint64_t, (x & 1ull << 63) | (y & INT64_MAX))

/* min and max: plain, and with any modifiers. */
ISA_OP2(ISA_LANES, min_f32, float, float, float, real_nan32(real_min32(x, y)))
ISA_OP2(ISA_LANES, max_f32, float, float, float, real_nan32(-real_min32(-x, -y)))
ISA_OP2(ISA_LANES, min_f64, double, double, double, real_nan64(real_min64(x, y)))
ISA_OP2(ISA_LANES, max_f64, double, double, double, real_nan64(-real_min64(-x, -y)))
ISA_HANDLER(choose_f32) {
    float *d = SLOT(float, w, i->d);
    const float *a = SLOT(const float, w, i->a), *b = SLOT(const float, w, i->b);
    const uint32_t mods = i->mods;
    const bool max = i->op == PTX_OP_max, ftz = mods & PTX_MOD_FTZ;
    ISA_LANES(mask, float, d, const float x = ftz ? real_flush(a[l]) : a[l];
              const float y = ftz ? real_flush(b[l]) : b[l]; v = real_choose32(x, y, max, mods););
}

/* min and max of three numbers, or of their absolute values. */
ISA_HANDLER(choose3_f32) {
    float *d = SLOT(float, w, i->d);
    const float *a = SLOT(const float, w, i->a), *b = SLOT(const float, w, i->b);
    const float *c = SLOT(const float, w, i->c);
    const uint32_t mods = i->mods;
    const bool max = i->op == PTX_OP_max, ftz = mods & PTX_MOD_FTZ, abs = mods & PTX_MOD_ABS;
    ISA_LANES(mask, float, d, float x = a[l]; float y = b[l]; float z = c[l];
              if (abs) x = __builtin_fabsf(x), y = __builtin_fabsf(y), z = __builtin_fabsf(z);
              if (ftz) x = real_flush(x), y = real_flush(y), z = real_flush(z);
              v = real_choose32(real_choose32(x, y, max, mods), z, max, mods););
}

/* testp: tests the class of a number and gives a predicate. Zeros count as normal. */
static inline bool test_class(uint64_t bits, unsigned width, unsigned mantissa, unsigned what) {
    const uint64_t sign = 1ull << (width - 1), magnitude = bits & (sign - 1);
    const uint64_t least = 1ull << mantissa, infinity = sign - least;
    switch (what) {
    case PTX_SUB_FINITE: return magnitude < infinity;
    case PTX_SUB_INFINITE: return magnitude == infinity;
    case PTX_SUB_NUMBER: return magnitude <= infinity;
    case PTX_SUB_NOTANUMBER: return magnitude > infinity;
    case PTX_SUB_NORMAL: return !magnitude || (magnitude >= least && magnitude < infinity);
    default: return magnitude && magnitude < least; /* subnormal */
    }
}
#define REAL_TESTP(bits, mantissa)                                        \
    ISA_HANDLER(testp_f##bits) {                                          \
        uint32_t *d = SLOT(uint32_t, w, i->d), v = 0;                     \
        const uint##bits##_t *a = SLOT(const uint##bits##_t, w, i->a);    \
        for (unsigned l = 0; l < WARP_LANES; l++)                         \
            v |= (uint32_t)test_class(a[l], bits, mantissa, i->sub) << l; \
        *d = (*d & ~mask) | (v & mask);                                   \
    }
REAL_TESTP(32, 23)
REAL_TESTP(64, 52)

#define REAL_PICK(i, stem) \
    ((i)->type == PTX_F64 ? stem##_f64 : (i)->mods & PTX_MOD_FTZ ? stem##_f32z : stem##_f32)
#define REAL_PICK_SAT(i, stem)                                               \
    ((i)->type != PTX_F32 || !((i)->mods & PTX_MOD_SAT) ? REAL_PICK(i, stem) \
     : (i)->mods & PTX_MOD_FTZ                          ? stem##_f32zs       \
                                                        : stem##_f32s)

static code_handler *pick_min_max(const struct code_inst *i) {
    const bool max = i->op == PTX_OP_max;
    const bool three = i->src && i->src->operand_count > 3;
    if (i->type == PTX_F64) return three ? NULL : max ? max_f64 : min_f64;
    if (three) return i->c == CODE_NO_SLOT || i->mods & PTX_MOD_XORSIGN ? NULL : choose3_f32;
    if (i->mods & (PTX_MOD_FTZ | PTX_MOD_NAN | PTX_MOD_XORSIGN)) return choose_f32;
    return max ? max_f32 : min_f32;
}

ISA_FAMILY(real_select) {
    if (i->type != PTX_F32 && i->type != PTX_F64) return NULL;
    const bool wide = i->type == PTX_F64;
    switch (i->op) {
    case PTX_OP_add: return REAL_PICK_SAT(i, add);
    case PTX_OP_sub: return REAL_PICK_SAT(i, sub);
    case PTX_OP_mul: return REAL_PICK_SAT(i, mul);
    case PTX_OP_mad: /* mad of f32 and f64 also rounds once */
    case PTX_OP_fma: return REAL_PICK_SAT(i, fma);
    case PTX_OP_div:
        if (!wide && i->mods & PTX_MOD_APPROX)
            return i->mods & PTX_MOD_FTZ ? approx_div_f32z : approx_div_f32;
        return REAL_PICK(i, div);
    case PTX_OP_rcp: return REAL_PICK(i, rcp);
    case PTX_OP_sqrt: return REAL_PICK(i, sqrt);
    case PTX_OP_abs: return REAL_PICK(i, abs);
    case PTX_OP_neg: return REAL_PICK(i, neg);
    case PTX_OP_copysign: return wide ? copysign_f64 : copysign_f32;
    case PTX_OP_testp: /* ptxas accepts a testp that tests for nothing */
        return i->sub == PTX_SUB_NONE ? NULL : wide ? testp_f64 : testp_f32;
    case PTX_OP_min:
    case PTX_OP_max: return pick_min_max(i);
    default: return NULL;
    }
}
