/* SPDX-License-Identifier: Apache-2.0
 *
 * mma and wmma.mma, for the whole warp at once: the fragments are laid out as plain matrices,
 * multiplied, and the sum is dealt back to the lanes.
 *
 * PTX leaves order and precision of the sums open. Here each begins with its element of c and takes
 * the products in ascending k, rounded to nearest at each step: in f32 for f16, bf16, tf32 and fp8
 * (whose products f32 holds exactly, unless they leave its range), fused in f64 for f64; a sum of
 * f16 is rounded to it once, at the end. Hardware adds several products at once with fewer places,
 * and cuts them off. Integers are exact.
 */
#include "daemon/device/soft/isa/matrix.h"

#include <fenv.h>
#include <limits.h>
#include <string.h>

#include "daemon/device/soft/code/fragment.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/isa/half.h"
#include "daemon/device/soft/isa/isa.h"
#include "daemon/device/soft/isa/real.h"
#include "daemon/device/soft/isa/small.h"

#define FACTOR_MOST 1024 /* elements: 16 x 64 */
#define SUM_MOST 256

/* Matrices by rows, so that b and the sums have columns side by side. */
#define FACTORS(type)                                       \
    struct {                                                \
        type a[FACTOR_MOST], b[FACTOR_MOST], sum[SUM_MOST]; \
    }

static const struct code_extra *extra_of(const struct code_inst *i) {
    return i->extra;
}

static const uint32_t *words(const struct warp *w, const struct code_elem *e) {
    return SLOT(const uint32_t, w, e->slot);
}

/* ---- elements of a register, of all lanes ---------------------------------------------------- */

#define EACH(expr)                              \
    for (unsigned l = 0; l < WARP_LANES; l++) { \
        const uint32_t x = r[l] >> shift;       \
        out[l] = expr;                          \
    }                                           \
    break

static void reals(const uint32_t *r, uint8_t element, unsigned shift, float *out) {
    switch (element) {
    case PTX_ELEMENT_F16: EACH(half_from_f16((uint16_t)x));
    case PTX_ELEMENT_BF16: EACH(half_from_bf16((uint16_t)x));
    case PTX_ELEMENT_TF32: EACH(half_float_of_bits(x & ~0x1fffu)); /* its last bits say nothing */
    case PTX_ELEMENT_E4M3: EACH(small_value(&small_e4m3, x));
    case PTX_ELEMENT_E5M2: EACH(half_from_f16((uint16_t)(x << 8)));
    default: EACH(half_float_of_bits(x));
    }
}

static void integers(const uint32_t *r, uint8_t element, unsigned shift, int32_t *out) {
    switch (element) {
    case PTX_ELEMENT_S8: EACH((int8_t)x);
    case PTX_ELEMENT_U8: EACH((uint8_t)x);
    case PTX_ELEMENT_S4: EACH((int32_t)(x << 28) >> 28);
    case PTX_ELEMENT_U4: EACH((int32_t)(x & 15));
    default: EACH((int32_t)x);
    }
}

/* ---- fragments and matrices ------------------------------------------------------------------ */

/* `to` of a factor: element (outer, inner) at outer * by_outer + inner * by_inner. */
#define TAKE_FACTOR(name, type, expand)                                                           \
    static void name(const struct warp *w, const struct code_elem *e, const struct ptx_matrix *m, \
                     char part, struct ptx_fragment f, uint32_t by_outer, uint32_t by_inner,      \
                     type *to) {                                                                  \
        const struct fragment_factor shape = fragment_factor(m, part, f);                         \
        const uint32_t packed = fragment_packed(f), bits = 32 / packed;                           \
        for (uint32_t r = 0; r < shape.unique; r++)                                               \
            for (uint32_t k = 0; k < packed; k++) {                                               \
                uint32_t outer, inner;                                                            \
                type lanes[WARP_LANES];                                                           \
                expand(words(w, &e[r]), f.element, k *bits, lanes);                               \
                fragment_factor_at(&shape, packed, r, &outer, &inner);                            \
                for (uint32_t l = 0; l < WARP_LANES; l++)                                         \
                    to[(outer + l / 4) * by_outer + (inner + l % 4 * packed + k) * by_inner] =    \
                        lanes[l];                                                                 \
            }                                                                                     \
    }
TAKE_FACTOR(take_reals, float, reals)
TAKE_FACTOR(take_integers, int32_t, integers)

static void doubles(const uint32_t *r, uint8_t element, unsigned shift, double *out) {
    (void)element;
    (void)shift;
    memcpy(out, r, WARP_LANES * sizeof(*out));
}
TAKE_FACTOR(take_doubles, double, doubles)

#define TAKE_SUM(name, type, expand)                                                              \
    static void name(const struct warp *w, const struct code_elem *e, const struct ptx_matrix *m, \
                     type *to) {                                                                  \
        const uint32_t packed = fragment_packed(m->c);                                            \
        for (uint32_t k = 0; k < m->c.regs * packed; k++) {                                       \
            uint32_t row, col;                                                                    \
            type lanes[WARP_LANES];                                                               \
            expand(words(w, &e[k / packed]), m->c.element, k % packed * 16, lanes);               \
            fragment_sum_at(m, k, &row, &col);                                                    \
            for (uint32_t l = 0; l < WARP_LANES; l++)                                             \
                to[(row + l / 4) * m->n + col + l % 4 * 2] = lanes[l];                            \
        }                                                                                         \
    }
TAKE_SUM(take_real_sum, float, reals)
TAKE_SUM(take_integer_sum, int32_t, integers)
TAKE_SUM(take_double_sum, double, doubles)

#define GIVE_SUM(name, type)                                                                      \
    static void name(const struct warp *w, const struct code_elem *e, const struct ptx_matrix *m, \
                     const type *from) {                                                          \
        for (uint32_t k = 0; k < m->d.regs; k++) {                                                \
            uint32_t row, col;                                                                    \
            type *to = SLOT(type, w, e[k].slot);                                                  \
            fragment_sum_at(m, k, &row, &col);                                                    \
            for (uint32_t l = 0; l < WARP_LANES; l++)                                             \
                to[l] = from[(row + l / 4) * m->n + col + l % 4 * 2];                             \
        }                                                                                         \
    }
GIVE_SUM(give_words, uint32_t)
GIVE_SUM(give_doubles, double)

static uint32_t pair_of(float low, float high) {
    return (uint32_t)half_to_f16(low) | (uint32_t)half_to_f16(high) << 16;
}

static void give_halves(const struct warp *w, const struct code_elem *e, const struct ptx_matrix *m,
                        const float *from) {
    for (uint32_t k = 0; k < m->d.regs; k++) {
        uint32_t row, col, *to = SLOT(uint32_t, w, e[k].slot);
        fragment_sum_at(m, 2 * k, &row, &col);
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            const float *x = &from[(row + l / 4) * m->n + col + l % 4 * 2];
            to[l] = pair_of(x[0], x[1]);
        }
    }
}

static void canonical(float *v, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        v[k] = real_nan32(v[k]);
}

/* ---- products -------------------------------------------------------------------------------- */

/* sum += a * b, eight columns at a time. */
#define PRODUCT(name, type, step)                                                       \
    static __attribute__((noinline)) void name(type *sum, const type *a, const type *b, \
                                               uint32_t m, uint32_t n, uint32_t k) {    \
        for (uint32_t row = 0; row < m; row++)                                          \
            for (uint32_t col = 0; col < n; col += 8) {                                 \
                type s[8];                                                              \
                memcpy(s, &sum[row * n + col], sizeof(s));                              \
                for (uint32_t at = 0; at < k; at++) {                                   \
                    const type x = a[row * k + at];                                     \
                    const type *y = &b[at * n + col];                                   \
                    for (unsigned j = 0; j < 8; j++)                                    \
                        s[j] = step;                                                    \
                }                                                                       \
                memcpy(&sum[row * n + col], s, sizeof(s));                              \
            }                                                                           \
    }
PRODUCT(product_reals, float, s[j] + x * y[j])
PRODUCT(product_doubles, double, __builtin_fma(x, y[j], s[j]))
PRODUCT(product_integers, int32_t, s[j] + x * y[j])
PRODUCT(product_xor, int32_t, s[j] + __builtin_popcount((uint32_t)(x ^ y[j])))
PRODUCT(product_and, int32_t, s[j] + __builtin_popcount((uint32_t)(x & y[j])))

ISA_HANDLER(multiply_reals) {
    const struct code_extra *x = extra_of(i);
    const struct ptx_matrix *m = x->matrix;
    FACTORS(float) v;
    (void)mask;
    take_reals(w, x->uses, m, 'a', m->a, m->k, 1, v.a);
    take_reals(w, x->uses + m->a.regs, m, 'b', m->b, 1, m->n, v.b);
    take_real_sum(w, x->uses + m->a.regs + m->b.regs, m, v.sum);
    product_reals(v.sum, v.a, v.b, m->m, m->n, m->k);
    canonical(v.sum, (uint32_t)m->m * m->n);
    if (m->d.element == PTX_ELEMENT_F16)
        give_halves(w, x->defs, m, v.sum);
    else
        give_words(w, x->defs, m, (const void *)v.sum);
}

ISA_HANDLER(multiply_doubles) {
    static const int modes[] = {[PTX_ROUND_NONE] = FE_TONEAREST,
                                [PTX_RN] = FE_TONEAREST,
                                [PTX_RZ] = FE_TOWARDZERO,
                                [PTX_RM] = FE_DOWNWARD,
                                [PTX_RP] = FE_UPWARD};
    const struct code_extra *x = extra_of(i);
    const struct ptx_matrix *m = x->matrix;
    FACTORS(double) v;
    (void)mask;
    take_doubles(w, x->uses, m, 'a', m->a, m->k, 1, v.a);
    take_doubles(w, x->uses + m->a.regs, m, 'b', m->b, 1, m->n, v.b);
    take_double_sum(w, x->uses + m->a.regs + m->b.regs, m, v.sum);
    fesetround(modes[m->round]);
    product_doubles(v.sum, v.a, v.b, m->m, m->n, m->k);
    fesetround(FE_TONEAREST);
    for (uint32_t k = 0; k < (uint32_t)m->m * m->n; k++)
        v.sum[k] = real_nan64(v.sum[k]);
    give_doubles(w, x->defs, m, v.sum);
}

/* The products are summed first: they fit 32 bits, and only c can take the sum beyond them. */
static void add_sums(int32_t *sum, const int32_t *c, uint32_t count, bool satfinite) {
    for (uint32_t k = 0; k < count; k++) {
        const int64_t exact = (int64_t)sum[k] + c[k];
        const int64_t bound = exact > INT32_MAX ? INT32_MAX : exact < INT32_MIN ? INT32_MIN : exact;
        sum[k] = (int32_t)(uint32_t)(satfinite ? bound : exact);
    }
}

ISA_HANDLER(multiply_integers) {
    const struct code_extra *x = extra_of(i);
    const struct ptx_matrix *m = x->matrix;
    const bool bits = m->a.element == PTX_ELEMENT_B1;
    const uint32_t k = bits ? m->k / 32u : m->k, count = (uint32_t)m->m * m->n;
    FACTORS(int32_t) v;
    int32_t c[SUM_MOST];
    (void)mask;
    take_integers(w, x->uses, m, 'a', m->a, k, 1, v.a);
    take_integers(w, x->uses + m->a.regs, m, 'b', m->b, 1, m->n, v.b);
    take_integer_sum(w, x->uses + m->a.regs + m->b.regs, m, c);
    memset(v.sum, 0, count * sizeof(v.sum[0]));
    (bits ? m->conjunction ? product_and : product_xor : product_integers)(v.sum, v.a, v.b, m->m,
                                                                           m->n, k);
    add_sums(v.sum, c, count, m->satfinite);
    give_words(w, x->defs, m, (const void *)v.sum);
}

/* ---- m8n8k4 of f16: four products at once, each of four lanes and the four 16 lanes on ---------
 */

/* Where element `k` of a lane lies in its product's c or d. */
static uint32_t quad_sum(uint8_t element, uint32_t lane, uint32_t k) {
    const uint32_t low = lane >> 4 << 2;
    if (element == PTX_ELEMENT_F16) return (low + (lane & 3)) * 8 + k;
    return (low + (lane & 1) + (k & 2)) * 8 + (k & 4) + (lane & 2) + (k & 1);
}

/* A factor's, of 8 by 4: one of the two is the lane's place, the other counts its elements. */
static uint32_t quad_factor(bool by_lane, uint32_t lane, uint32_t k) {
    const uint32_t low = lane >> 4 << 2;
    return by_lane ? (low + (lane & 3)) * 4 + k : (low + k) * 4 + (lane & 3);
}

struct quad {
    float a[8 * 4], b[4 * 8], sum[8 * 8];
};

static void take_quads(const struct warp *w, const struct code_inst *i, struct quad *quads) {
    const struct code_extra *x = extra_of(i);
    const struct ptx_matrix *m = x->matrix;
    const struct code_elem *b = x->uses + m->a.regs, *c = b + m->b.regs;
    float lanes[WARP_LANES];
    for (uint32_t k = 0; k < 4; k++) {
        reals(words(w, &x->uses[k / 2]), PTX_ELEMENT_F16, k % 2 * 16, lanes);
        for (uint32_t l = 0; l < WARP_LANES; l++)
            quads[l / 4 % 4].a[quad_factor(!m->a_col, l, k)] = lanes[l];
        reals(words(w, &b[k / 2]), PTX_ELEMENT_F16, k % 2 * 16, lanes);
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            const uint32_t at = quad_factor(m->b_col, l, k);
            quads[l / 4 % 4].b[at % 4 * 8 + at / 4] = lanes[l];
        }
    }
    const uint32_t packed = fragment_packed(m->c);
    for (uint32_t k = 0; k < 8; k++) {
        reals(words(w, &c[k / packed]), m->c.element, k % packed * 16, lanes);
        for (uint32_t l = 0; l < WARP_LANES; l++)
            quads[l / 4 % 4].sum[quad_sum(m->c.element, l, k)] = lanes[l];
    }
}

ISA_HANDLER(multiply_quads) {
    const struct code_extra *x = extra_of(i);
    const uint8_t type = x->matrix->d.element;
    struct quad quads[4];
    (void)mask;
    take_quads(w, i, quads);
    for (unsigned q = 0; q < 4; q++) {
        product_reals(quads[q].sum, quads[q].a, quads[q].b, 8, 8, 4);
        canonical(quads[q].sum, 64);
    }
    for (uint32_t r = 0; r < x->def_count; r++) {
        uint32_t *to = SLOT(uint32_t, w, x->defs[r].slot);
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            const float *sum = quads[l / 4 % 4].sum;
            to[l] = type == PTX_ELEMENT_F16
                        ? pair_of(sum[quad_sum(type, l, 2 * r)], sum[quad_sum(type, l, 2 * r + 1)])
                        : half_bits_of_float(sum[quad_sum(type, l, r)]);
        }
    }
}

ISA_FAMILY(matrix_select) {
    const struct ptx_matrix *m = extra_of(i)->matrix;
    switch (m->a.element) {
    case PTX_ELEMENT_F64: return multiply_doubles;
    case PTX_ELEMENT_S8:
    case PTX_ELEMENT_U8:
    case PTX_ELEMENT_S4:
    case PTX_ELEMENT_U4:
    case PTX_ELEMENT_B1: return multiply_integers;
    case PTX_ELEMENT_F16: return m->k == 4 ? multiply_quads : multiply_reals;
    default: return multiply_reals;
    }
}
