/* SPDX-License-Identifier: Apache-2.0
 *
 * The approximate functions: rsqrt ex2 lg2 sin cos tanh, and rcp and sqrt with .approx. They are
 * more accurate than PTX demands and not bit-exact with hardware. Functions that are not computed
 * here call the C library; all builds call the same one, so that their results agree.
 */
#include <math.h>

#include "daemon/device/soft/isa/arithmetic/circle.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/power.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

static inline float rsqrt_float(float x) {
    return (float)(1.0 / __builtin_sqrt((double)x));
}
static float tanh_float(float x) {
    return (float)tanh((double)x);
}
static float sin_float(float x) {
    return (float)sin((double)x);
}
static float cos_float(float x) {
    return (float)cos((double)x);
}
static inline float lg2_float(float x) {
    const uint32_t v = half_bits_of_float(power_lg2(x));
    return half_float_of_bits(half_choose(x < 0, half_bits_of_float(REAL_NAN32), v));
}

#define APPROX_F32(loop, name, fn)                             \
    ISA_OP1(loop, name##_f32, float, float, real_nan32(fn(x))) \
    ISA_OP1(loop, name##_f32z, float, float, real_flush(real_nan32(fn(real_flush(x)))))
APPROX_F32(ISA_LANES, rsqrt, rsqrt_float)
APPROX_F32(ISA_LANES, ex2, power_ex2)
APPROX_F32(ISA_LANES, lg2, lg2_float)
APPROX_F32(ISA_EACH, tanh, tanh_float)

/* Returns the lanes whose angle is too large for circle.h. */
static inline uint32_t far_lanes(const float *x) {
    uint32_t far = 0;
    for (unsigned l = 0; l < WARP_LANES; l++)
        far |= (uint32_t) !(__builtin_fabsf(x[l]) < CIRCLE_NEAR) << l;
    return far;
}

/* Computes each lane in the same way, whatever the other lanes' angles are. */
#define APPROX_ANGLE(name, near, distant, flush)                         \
    ISA_HANDLER(name) {                                                  \
        float *d = SLOT(float, w, i->d);                                 \
        const float *a = SLOT(const float, w, i->a);                     \
        const uint32_t far = far_lanes(a) & mask;                        \
        ISA_EACH(far, float, d, v = flush(real_nan32(distant(a[l])));)   \
        ISA_LANES(mask & ~far, float, d, v = flush(near(flush(a[l])));); \
    }
APPROX_ANGLE(sin_f32, circle_sin, sin_float, )
APPROX_ANGLE(sin_f32z, circle_sin, sin_float, real_flush)
APPROX_ANGLE(cos_f32, circle_cos, cos_float, )
APPROX_ANGLE(cos_f32z, circle_cos, cos_float, real_flush)

/* Halves: one per lane or, in the x2 forms, two in a lane of 32 bits. */
#define APPROX_HALF(name, fn, from, to)                          \
    ISA_OP1(ISA_EACH, name, uint16_t, uint16_t, to(fn(from(x)))) \
    ISA_OP1(ISA_EACH, name##x2, uint32_t, uint32_t,              \
            to(fn(from((uint16_t)x))) | (uint32_t)to(fn(from((uint16_t)(x >> 16)))) << 16)
static inline float from_f16z(uint16_t h) {
    return half_from_f16(half_flush(h));
}
static inline uint16_t to_f16z(float x) {
    return half_flush(half_to_f16(x));
}
static inline float from_bf16z(uint16_t h) {
    return real_flush(half_from_bf16(h));
}
static inline uint16_t to_bf16z(float x) {
    return half_to_bf16(real_flush(x));
}
APPROX_HALF(ex2_f16, power_ex2, half_from_f16, half_to_f16)
APPROX_HALF(ex2_f16z, power_ex2, from_f16z, to_f16z)
APPROX_HALF(tanh_f16, tanh_float, half_from_f16, half_to_f16)
APPROX_HALF(ex2_bf16z, power_ex2, from_bf16z, to_bf16z)
APPROX_HALF(tanh_bf16, tanh_float, half_from_bf16, half_to_bf16)

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and produce only the upper 32 bits of a
 * double. */
static inline double upper_word(double x) {
    uint64_t bits = half_bits_of_double(x);
    double v;
    if (__builtin_fabs(x) < 0x1p-1022) bits &= 1ull << 63;
    bits &= 0xffffffff00000000;
    memcpy(&v, &bits, sizeof(v));
    return x == x ? v : x;
}
static inline double rsqrt_double(double x) {
    return 1.0 / __builtin_sqrt(x);
}
ISA_OP1(ISA_LANES, rcp_f64, double, double, upper_word(real_nan64(1.0 / upper_word(x))))
ISA_OP1(ISA_LANES, rsqrt_f64z, double, double, upper_word(real_nan64(rsqrt_double(upper_word(x)))))
ISA_OP1(ISA_LANES, rsqrt_f64, double, double, real_nan64(rsqrt_double(x)))

#define APPROX_PICK(stem) (i->mods & PTX_MOD_FTZ ? stem##_f32z : stem##_f32)

static code_handler *pick_half(const struct code_inst *i) {
    const bool ftz = i->mods & PTX_MOD_FTZ;
    if (i->op == PTX_OP_tanh) {
        return i->type == PTX_F16      ? tanh_f16
               : i->type == PTX_F16X2  ? tanh_f16x2
               : i->type == PTX_BF16   ? tanh_bf16
               : i->type == PTX_BF16X2 ? tanh_bf16x2
                                       : NULL;
    }
    if (i->op != PTX_OP_ex2) return NULL;
    switch (i->type) {
    case PTX_F16: return ftz ? ex2_f16z : ex2_f16;
    case PTX_F16X2: return ftz ? ex2_f16zx2 : ex2_f16x2;
    case PTX_BF16: return ex2_bf16z;
    case PTX_BF16X2: return ex2_bf16zx2;
    default: return NULL;
    }
}

static code_handler *pick_double(const struct code_inst *i) {
    const bool ftz = i->mods & PTX_MOD_FTZ;
    if (i->op == PTX_OP_rcp) return ftz ? rcp_f64 : NULL;
    if (i->op == PTX_OP_rsqrt) return ftz ? rsqrt_f64z : rsqrt_f64;
    return NULL;
}

ISA_FAMILY(approx_select) {
    if (i->type == PTX_F64) return pick_double(i);
    if (i->type != PTX_F32) return pick_half(i);
    switch (i->op) {
    case PTX_OP_rsqrt: return APPROX_PICK(rsqrt);
    case PTX_OP_ex2: return APPROX_PICK(ex2);
    case PTX_OP_lg2: return APPROX_PICK(lg2);
    case PTX_OP_sin: return APPROX_PICK(sin);
    case PTX_OP_cos: return APPROX_PICK(cos);
    case PTX_OP_tanh: return APPROX_PICK(tanh);
    default: return ISA_FN(real_select)(i); /* rcp, sqrt: the exact handlers serve */
    }
}
