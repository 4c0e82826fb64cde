/* SPDX-License-Identifier: Apache-2.0
 *
 * mma and wmma.mma for the whole warp at once. This file has the products of f64 and of bits, and
 * m8n8k4, which is four products at once. For these the fragments are laid out as plain matrices
 * and multiplied, and the sums are distributed to the lanes again. All other products are in
 * tile.c.
 *
 * PTX leaves the order and precision of the sums open. Sums of f16, bf16, tf32 and fp8 are computed
 * as sm_90 does (fused.h). Exceptions are m8n8k4 of f16 and types that sm_90 lacks: their sums
 * begin with c and add the products in ascending k, rounded to nearest in f32 at each step. f64 is
 * fused and rounded step by step, as on hardware. Integers are exact.
 */
#include "daemon/device/soft/isa/matrix/matrix.h"

#include <fenv.h>
#include <immintrin.h>
#include <string.h>

#include "daemon/device/soft/code/fragment.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"

#define FACTOR_MOST 256 /* elements: 16 x 16; for bits, words of 32 */
#define SUM_MOST 128

/* Matrices in row order, so that b and the sums have their columns side by side. */
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

/* ---- fragments and matrices, a register an element ------------------------------------------- */

/* Writes a factor to `to`: element (outer, inner) at outer * by_outer + inner * by_inner. */
#define TAKE_FACTOR(name, type)                                                                   \
    static void name(const struct warp *w, const struct code_elem *e, const struct ptx_matrix *m, \
                     char part, struct ptx_fragment f, uint32_t by_outer, uint32_t by_inner,      \
                     type *to) {                                                                  \
        const struct fragment_factor shape = fragment_factor(m, part, f);                         \
        for (uint32_t r = 0; r < shape.unique; r++) {                                             \
            const type *lanes = SLOT(const type, w, e[r].slot);                                   \
            uint32_t outer, inner;                                                                \
            fragment_factor_at(&shape, 1, r, &outer, &inner);                                     \
            for (uint32_t l = 0; l < WARP_LANES; l++)                                             \
                to[(outer + l / 4) * by_outer + (inner + l % 4) * by_inner] = lanes[l];           \
        }                                                                                         \
    }
TAKE_FACTOR(take_words, uint32_t)
TAKE_FACTOR(take_doubles, double)

#define TAKE_SUM(name, type)                                                                      \
    static void name(const struct warp *w, const struct code_elem *e, const struct ptx_matrix *m, \
                     type *to) {                                                                  \
        for (uint32_t k = 0; k < m->c.regs; k++) {                                                \
            const type *lanes = SLOT(const type, w, e[k].slot);                                   \
            uint32_t row, col;                                                                    \
            fragment_sum_at(m, k, &row, &col);                                                    \
            for (uint32_t l = 0; l < WARP_LANES; l++)                                             \
                to[(row + l / 4) * m->n + col + l % 4 * 2] = lanes[l];                            \
        }                                                                                         \
    }
TAKE_SUM(take_word_sum, uint32_t)
TAKE_SUM(take_double_sum, double)

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
PRODUCT(product_xor, uint32_t, s[j] + (uint32_t)__builtin_popcount(x ^ y[j]))
PRODUCT(product_and, uint32_t, s[j] + (uint32_t)__builtin_popcount(x & y[j]))

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

#ifdef __AVX512F__

/* Distributes the columns of b: for each k the even ones, or the odd ones, twice. Lane 4 * n + k of
 * the registers has column n. */
static inline void deal_square(const double *b, __m512d even[4], __m512d odd[4]) {
    const __m512i evens = _mm512_set_epi64(9, 8, 1, 0, 9, 8, 1, 0);
    const __m512i steps = _mm512_set1_epi64(2),
                  odds = _mm512_add_epi64(evens, _mm512_set1_epi64(4));
    const __m512d x = _mm512_load_pd(b), y = _mm512_load_pd(b + 8);
    const __m512d z = _mm512_load_pd(b + 16), u = _mm512_load_pd(b + 24);
    const __m512d left[2] = {_mm512_unpacklo_pd(x, y), _mm512_unpackhi_pd(x, y)};
    const __m512d right[2] = {_mm512_unpacklo_pd(z, u), _mm512_unpackhi_pd(z, u)};
    for (unsigned k = 0; k < 2; k++) {
        even[k] = _mm512_permutex2var_pd(left[k], evens, right[k]);
        odd[k] = _mm512_permutex2var_pd(left[k], odds, right[k]);
        even[k + 2] = _mm512_permutex2var_pd(left[k], _mm512_add_epi64(evens, steps), right[k]);
        odd[k + 2] = _mm512_permutex2var_pd(left[k], _mm512_add_epi64(odds, steps), right[k]);
    }
}

static inline __m512d one_nan(__m512d x) {
    const __mmask8 nan = _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_pd(x, nan, _mm512_set1_pd(REAL_NAN64));
}

/* m8n8k4 of f64, computed in the layout of the lanes. A group of four lanes has a row of a, whose
 * values rotate among them. One register holds the even columns of a row of the sums, another the
 * odd ones. */
ISA_HANDLER(multiply_squares) {
    const struct code_extra *x = extra_of(i);
    const double *a = SLOT(const double, w, x->uses[0].slot);
    const double *c = SLOT(const double, w, x->uses[2].slot);
    const double *c_odd = SLOT(const double, w, x->uses[3].slot);
    __m512d even[4], odd[4], sum[8];
    (void)mask;
    deal_square(SLOT(const double, w, x->uses[1].slot), even, odd);
#define SQUARE_STEP(k)                                               \
    {                                                                \
        const __m512d v = _mm512_permutex_pd(rows, (k)*0x55);        \
        sum[2 * q] = _mm512_fmadd_pd(v, even[k], sum[2 * q]);        \
        sum[2 * q + 1] = _mm512_fmadd_pd(v, odd[k], sum[2 * q + 1]); \
    }
    for (unsigned q = 0; q < 4; q++) {
        const __m512d rows = _mm512_load_pd(a + 8 * q);
        sum[2 * q] = _mm512_load_pd(c + 8 * q);
        sum[2 * q + 1] = _mm512_load_pd(c_odd + 8 * q);
        SQUARE_STEP(0)
        SQUARE_STEP(1)
        SQUARE_STEP(2)
        SQUARE_STEP(3)
    }
    double *d = SLOT(double, w, x->defs[0].slot), *d_odd = SLOT(double, w, x->defs[1].slot);
    for (unsigned q = 0; q < 4; q++) {
        _mm512_store_pd(d + 8 * q, one_nan(sum[2 * q]));
        _mm512_store_pd(d_odd + 8 * q, one_nan(sum[2 * q + 1]));
    }
}

#else

/* m8n8k4 of f64, computed in the layout of the lanes: a by rows, b by columns, the even columns of
 * the sums in one register and the odd ones in another. The eight columns computed at a time are
 * the even ones, then the odd. */
ISA_HANDLER(multiply_squares) {
    const struct code_extra *x = extra_of(i);
    const double *a = SLOT(const double, w, x->uses[0].slot);
    const double *b = SLOT(const double, w, x->uses[1].slot);
    double y[4][8], sum[8][8];
    (void)mask;
    for (unsigned k = 0; k < 4; k++)
        for (unsigned j = 0; j < 8; j++)
            y[k][j] = b[4 * (2 * (j % 4) + j / 4) + k];
    for (unsigned odd = 0; odd < 2; odd++) {
        const double *c = SLOT(const double, w, x->uses[2 + odd].slot);
        for (unsigned row = 0; row < 8; row++)
            memcpy(&sum[row][4 * odd], &c[4 * row], 4 * sizeof(*c));
    }
    for (unsigned row = 0; row < 8; row++)
        for (unsigned k = 0; k < 4; k++)
            for (unsigned j = 0; j < 8; j++)
                sum[row][j] = __builtin_fma(a[4 * row + k], y[k][j], sum[row][j]);
    for (unsigned odd = 0; odd < 2; odd++) {
        double *d = SLOT(double, w, x->defs[odd].slot);
        for (unsigned row = 0; row < 8; row++)
            for (unsigned j = 0; j < 4; j++)
                d[4 * row + j] = real_nan64(sum[row][4 * odd + j]);
    }
}

#endif

static bool is_square(const struct ptx_matrix *m) {
    const bool nearest = m->round == PTX_ROUND_NONE || m->round == PTX_RN;
    return m->m == 8 && m->n == 8 && m->k == 4 && nearest;
}

ISA_HANDLER(multiply_bits) {
    const struct code_extra *x = extra_of(i);
    const struct ptx_matrix *m = x->matrix;
    const uint32_t k = m->k / 32u;
    FACTORS(uint32_t) v;
    (void)mask;
    take_words(w, x->uses, m, 'a', m->a, k, 1, v.a);
    take_words(w, x->uses + m->a.regs, m, 'b', m->b, 1, m->n, v.b);
    take_word_sum(w, x->uses + m->a.regs + m->b.regs, m, v.sum);
    (m->conjunction ? product_and : product_xor)(v.sum, v.a, v.b, m->m, m->n, k);
    give_words(w, x->defs, m, v.sum);
}

/* ---- m8n8k4 of f16: four products at once, each of four lanes and the four 16 lanes on ---------
 */

/* Index of element `k` of a lane in its product's c or d. */
static uint32_t quad_sum(uint8_t element, uint32_t lane, uint32_t k) {
    const uint32_t low = lane >> 4 << 2;
    if (element == PTX_ELEMENT_F16) return (low + (lane & 3)) * 8 + k;
    return (low + (lane & 1) + (k & 2)) * 8 + (k & 4) + (lane & 2) + (k & 1);
}

/* Index of element `k` of a lane in a factor of 8 by 4. `by_lane`: the lane selects the row and `k`
 * the column; otherwise the reverse. */
static uint32_t quad_factor(bool by_lane, uint32_t lane, uint32_t k) {
    const uint32_t low = lane >> 4 << 2;
    return by_lane ? (low + (lane & 3)) * 4 + k : (low + k) * 4 + (lane & 3);
}

static uint32_t pair_of(float low, float high) {
    return (uint32_t)half_to_f16(low) | (uint32_t)half_to_f16(high) << 16;
}

static void halves(const uint32_t *r, uint32_t upper, float *out) {
    for (unsigned l = 0; l < WARP_LANES; l++)
        out[l] = half_from_f16((uint16_t)(r[l] >> 16 * upper));
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
        halves(words(w, &x->uses[k / 2]), k % 2, lanes);
        for (uint32_t l = 0; l < WARP_LANES; l++)
            quads[l / 4 % 4].a[quad_factor(!m->a_col, l, k)] = lanes[l];
        halves(words(w, &b[k / 2]), k % 2, lanes);
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            const uint32_t at = quad_factor(m->b_col, l, k);
            quads[l / 4 % 4].b[at % 4 * 8 + at / 4] = lanes[l];
        }
    }
    const uint32_t packed = fragment_packed(m->c);
    for (uint32_t k = 0; k < 8; k++) {
        if (packed == 2)
            halves(words(w, &c[k / 2]), k % 2, lanes);
        else
            memcpy(lanes, words(w, &c[k]), sizeof(lanes));
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
        for (uint32_t k = 0; k < 64; k++)
            quads[q].sum[k] = real_nan32(quads[q].sum[k]);
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
    const bool quads = m->a.element == PTX_ELEMENT_F16 && m->k == 4;
    if (m->a.element == PTX_ELEMENT_F64) return is_square(m) ? multiply_squares : multiply_doubles;
    if (m->a.element == PTX_ELEMENT_B1) return multiply_bits;
    return quads ? multiply_quads : ISA_FN(tile_select)(i);
}
