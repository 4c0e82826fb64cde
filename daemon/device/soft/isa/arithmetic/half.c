/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on f16, bf16 and pairs of them. A register of pairs is seen as 64 elements instead of
 * 32. Results are computed in double and rounded once. For f16 they are exact in double; for bf16
 * the sums keep a sticky last bit where needed.
 */
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

/* Modifiers and type of an instruction, as far as they apply to every operation. */
struct half_form {
    bool pair, bf16, ftz, sat, relu;
};

static inline struct half_form form_of(const struct code_inst *i) {
    return (struct half_form){
        .pair = i->type == PTX_F16X2 || i->type == PTX_BF16X2,
        .bf16 = i->type == PTX_BF16 || i->type == PTX_BF16X2,
        .ftz = i->mods & PTX_MOD_FTZ,
        .sat = i->mods & PTX_MOD_SAT,
        .relu = i->mods & PTX_MOD_RELU,
    };
}

static inline double from_half(uint16_t h, struct half_form f) {
    if (f.bf16) return (double)half_from_bf16(h);
    return (double)half_from_f16(f.ftz ? half_flush(h) : h);
}

static inline uint16_t to_half(double v, struct half_form f) {
    if (f.sat) v = real_sat64(v);
    if (f.relu) v = v > 0 || v != v ? v : 0;
    if (f.bf16) return half_to_bf16(v);
    return half_to_f16(f.ftz ? half_flush_tiny(v) : v);
}

/* Returns p + c; the part that does not fit a double is recorded in the last place (rounding to
 * odd), so that a second rounding is correct. The error of a sum of doubles is itself a double. */
static inline double exact_sum(double p, double c) {
    const double s = p + c, t = s - p;
    const double error = (p - (s - t)) + (c - t);
    uint64_t bits = half_bits_of_double(s);
    if (!(error == 0) && s == s && __builtin_fabs(s) < 0x1p900 && !(bits & 1))
        bits += (error > 0) == (s > 0) ? 1 : -1ull;
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* Computes `expr` from the sources x, y, z of one element, in the loop that the form asks for. */
#define HALF_LOOP(expr)                                                   \
    const unsigned shift = f.pair, count = WARP_LANES << f.pair;          \
    if (mask == ISA_FULL) {                                               \
        ISA_INDEPENDENT for (unsigned e = 0; e < count; e++) d[e] = expr; \
    } else {                                                              \
        for (unsigned e = 0; e < count; e++)                              \
            if (mask >> (e >> shift) & 1) d[e] = expr;                    \
    }

#define HALF_HANDLER(name, expr)                                                              \
    static inline __attribute__((always_inline)) void run_##name(                             \
        struct warp *w, const struct code_inst *i, uint32_t mask, const struct half_form f) { \
        uint16_t *d = SLOT(uint16_t, w, i->d);                                                \
        HALF_SOURCES;                                                                         \
        HALF_LOOP(expr)                                                                       \
    }
#define HALF_A from_half(a[e], f)
#define HALF_B from_half(b[e], f)
#define HALF_C from_half(c[e], f)

#define HALF_SOURCES \
    const uint16_t *a = SLOT(const uint16_t, w, i->a), *b = SLOT(const uint16_t, w, i->b)
HALF_HANDLER(add, to_half(HALF_A + HALF_B, f))
HALF_HANDLER(sub, to_half(HALF_A - HALF_B, f))
HALF_HANDLER(mul, to_half(HALF_A *HALF_B, f))
HALF_HANDLER(min, to_half(real_choose32((float)HALF_A, (float)HALF_B, false, i->mods), f))
HALF_HANDLER(max, to_half(real_choose32((float)HALF_A, (float)HALF_B, true, i->mods), f))
#undef HALF_SOURCES
#define HALF_SOURCES                                                                       \
    const uint16_t *a = SLOT(const uint16_t, w, i->a), *b = SLOT(const uint16_t, w, i->b); \
    const uint16_t *c = SLOT(const uint16_t, w, i->c)
HALF_HANDLER(fma, to_half(f.bf16 ? exact_sum(HALF_A *HALF_B, HALF_C) : HALF_A *HALF_B + HALF_C, f))
#undef HALF_SOURCES

/* abs and neg change only the sign, also for NaN. */
#define HALF_SOURCES const uint16_t *a = SLOT(const uint16_t, w, i->a)
HALF_HANDLER(abs, (f.ftz ? half_flush(a[e]) : a[e]) & 0x7fff)
HALF_HANDLER(neg, (f.ftz ? half_flush(a[e]) : a[e]) ^ 0x8000)

/* The plain forms are compiled with a constant form; the general one determines its form at run
 * time. */
#define HALF_FORMS(name)                                                            \
    ISA_HANDLER(name##_any) {                                                       \
        run_##name(w, i, mask, form_of(i));                                         \
    }                                                                               \
    ISA_HANDLER(name##_f16) {                                                       \
        run_##name(w, i, mask, (struct half_form){0});                              \
    }                                                                               \
    ISA_HANDLER(name##_f16x2) {                                                     \
        run_##name(w, i, mask, (struct half_form){.pair = true});                   \
    }                                                                               \
    ISA_HANDLER(name##_bf16x2) {                                                    \
        run_##name(w, i, mask, (struct half_form){.pair = true, .bf16 = true});     \
    }                                                                               \
    static code_handler *pick_##name(const struct code_inst *i) {                   \
        const bool plain = !(i->mods & (PTX_MOD_FTZ | PTX_MOD_SAT | PTX_MOD_RELU)); \
        return !plain || i->type == PTX_BF16 ? name##_any                           \
               : i->type == PTX_F16          ? name##_f16                           \
               : i->type == PTX_F16X2        ? name##_f16x2                         \
                                             : name##_bf16x2;                              \
    }
HALF_FORMS(add)
HALF_FORMS(sub)
HALF_FORMS(mul)
HALF_FORMS(fma)
HALF_FORMS(min)
HALF_FORMS(max)
HALF_FORMS(abs)
HALF_FORMS(neg)

ISA_FAMILY(half_select) {
    switch (i->op) {
    case PTX_OP_add: return pick_add(i);
    case PTX_OP_sub: return pick_sub(i);
    case PTX_OP_mul: return pick_mul(i);
    case PTX_OP_fma: return pick_fma(i);
    case PTX_OP_min: return pick_min(i);
    case PTX_OP_max: return pick_max(i);
    case PTX_OP_abs: return pick_abs(i);
    case PTX_OP_neg: return pick_neg(i);
    default: return NULL;
    }
}
