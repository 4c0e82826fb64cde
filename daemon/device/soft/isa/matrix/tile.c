/* SPDX-License-Identifier: Apache-2.0
 *
 * mma and wmma.mma of reals and of 8-bit and 4-bit integers, computed in the layout of the lanes.
 * Sums stay in their lanes. The four lanes of a group have one row of a, and its values rotate
 * among them. Only b, which each group needs as a whole, is laid out anew. matrix.c defines the
 * sums; those of integers are exact in f32, because they are below 2^24.
 *
 * A line has one value for each lane. A sparse a is multiplied row by row with the values of b that
 * its metadata select.
 */
#include <immintrin.h>
#include <limits.h>
#include <string.h>

#include "daemon/device/soft/code/fragment.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/arithmetic/real.h"
#include "daemon/device/soft/isa/arithmetic/small.h"
#include "daemon/device/soft/isa/matrix/fused.h"

#define LINES_MOST 32 /* 16 rows by 64 */
#define K_MOST 128    /* elements of a sparse a's row, which holds half of this */
#define SUMS_MOST 8   /* elements of a lane */

typedef float line[WARP_LANES] __attribute__((aligned(64)));

struct tile {
    /* Line (i * halves + h) * packed + e has in lane 4 * g + t element (g + 8 * h, (4 * i + t) *
     * packed + e) of a block of rows; blocks follow each other. */
    line a[LINES_MOST];
    /* Line i * packed + e has at index 8 * t + n element ((4 * i + t) * packed + e, n) of a block
     * of columns; the even columns come first. */
    line b[K_MOST / 4];
    line sum[SUMS_MOST];
};

/* Shape of a product, in blocks of 8 or 16 rows and 8 columns. */
struct shape {
    uint32_t k, packed, halves, row_blocks, col_blocks;
    uint32_t a_regs, b_regs; /* registers of a block */
    bool exact;              /* products of two 16-bit values, which f32 always holds exactly */
};

static struct shape shape_of(const struct ptx_matrix *m) {
    const uint32_t halves = m->m > 8 ? 2 : 1;
    return (struct shape){.k = m->k,
                          .packed = fragment_packed(m->a),
                          .halves = halves,
                          .row_blocks = m->m / (8u * halves),
                          .col_blocks = m->n / 8u,
                          .a_regs = fragment_factor(m, 'a', m->a).block,
                          .b_regs = fragment_factor(m, 'b', m->b).block,
                          .exact = m->a.element == PTX_ELEMENT_F16};
}

/* ---- elements of registers, of all lanes ------------------------------------------------------
 */

/* Registers with `packed` values per lane. Each is converted to `packed` lines. */
struct registers {
    const uint32_t *at[LINES_MOST];
    uint32_t count, packed;
};

#ifdef __AVX512F__
static void expand_halves(const uint32_t *r, unsigned shift, float *out) {
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    for (unsigned l = 0; l < WARP_LANES; l += 16) {
        const __m512i x = _mm512_srl_epi32(_mm512_load_si512(&r[l]), count);
        _mm512_store_ps(&out[l], _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)));
    }
}
#elif defined __F16C__
static void expand_halves(const uint32_t *r, unsigned shift, float *out) {
    const __m128i low = _mm_set1_epi32(0xffff), count = _mm_cvtsi32_si128((int)shift);
    for (unsigned l = 0; l < WARP_LANES; l += 8) {
        const __m128i x = _mm_srl_epi32(_mm_load_si128((const __m128i *)&r[l]), count);
        const __m128i y = _mm_srl_epi32(_mm_load_si128((const __m128i *)&r[l + 4]), count);
        const __m128i v = _mm_packus_epi32(_mm_and_si128(x, low), _mm_and_si128(y, low));
        _mm256_store_ps(&out[l], _mm256_cvtph_ps(v));
    }
}
#else
static void expand_halves(const uint32_t *r, unsigned shift, float *out) {
    for (unsigned l = 0; l < WARP_LANES; l++)
        out[l] = half_from_f16((uint16_t)(r[l] >> shift));
}
#endif

/* Runs the statements for each value of each register: register r has the value of line `out` from
 * bit `shift` on. */
#define EACH_LINE(...)                                      \
    for (uint32_t j = 0; j < from->count; j++)              \
        for (uint32_t k = 0; k < from->packed; k++, to++) { \
            const uint32_t *r = from->at[j];                \
            const unsigned shift = k * (32 / from->packed); \
            float *out = *to;                               \
            __VA_ARGS__                                     \
        }                                                   \
    break
#define EACH(expr)                                                        \
    EACH_LINE(ISA_INDEPENDENT for (unsigned l = 0; l < WARP_LANES; l++) { \
        const uint32_t x = r[l] >> shift;                                 \
        out[l] = (float)(expr);                                           \
    })

static void expand(const struct registers *from, uint8_t element, line *to) {
    switch (element) {
    case PTX_ELEMENT_F16: EACH_LINE(expand_halves(r, shift, out););
    case PTX_ELEMENT_BF16: EACH(half_from_bf16((uint16_t)x));
    case PTX_ELEMENT_TF32: EACH(half_float_of_bits(x & ~0x1fffu)); /* the lowest bits are ignored */
    case PTX_ELEMENT_E4M3: EACH(small_value(&small_e4m3, x));
    case PTX_ELEMENT_E5M2: EACH(small_value(&small_e5m2, x));
    case PTX_ELEMENT_E3M2: EACH(small_value(&small_e3m2, x));
    case PTX_ELEMENT_E2M3: EACH(small_value(&small_e2m3, x));
    /* The value is in the middle of a byte. */
    case PTX_ELEMENT_E2M1: EACH(small_value(&small_e2m1, x >> 2));
    case PTX_ELEMENT_E2M1_DENSE: EACH(small_value(&small_e2m1, x));
    case PTX_ELEMENT_S8: EACH((int8_t)x);
    case PTX_ELEMENT_U8: EACH((uint8_t)x);
    case PTX_ELEMENT_S4: EACH((int32_t)(x << 28) >> 28);
    case PTX_ELEMENT_U4: EACH((int32_t)(x & 15));
    default: EACH(half_float_of_bits(x));
    }
}

static const uint32_t *words(const struct warp *w, const struct code_elem *e) {
    return SLOT(const uint32_t, w, e->slot);
}

static void take_lines(const struct warp *w, const struct code_elem *e, uint32_t count,
                       uint8_t element, uint32_t packed, line *to) {
    struct registers from = {.count = count, .packed = packed};
    for (uint32_t r = 0; r < count; r++)
        from.at[r] = words(w, &e[r]);
    expand(&from, element, to);
}

/* Reorders columns. Lane 4 * n + t of a register holds column n of row t (or of the rows packed in
 * it); the result has at 8 * t the even columns, then the odd ones. */
#ifdef __AVX512F__
static void deal_columns(const uint32_t *v, uint32_t *to) {
    const __m512i first =
        _mm512_set_epi32(29, 21, 13, 5, 25, 17, 9, 1, 28, 20, 12, 4, 24, 16, 8, 0);
    const __m512i low = _mm512_load_si512(v), high = _mm512_load_si512(v + 16);
    for (unsigned t = 0; t < 4; t += 2) {
        const __m512i from = _mm512_add_epi32(first, _mm512_set1_epi32((int)t));
        _mm512_store_si512(&to[8 * t], _mm512_permutex2var_epi32(low, from, high));
    }
}
#else
static void deal_columns(const uint32_t *v, uint32_t *to) {
    for (unsigned odd = 0; odd < 2; odd++) {
        const float *from = (const float *)v + 4 * odd; /* bits of any type, moved as floats */
        float *at = (float *)to + 4 * odd;
        __m128 x = _mm_load_ps(from), y = _mm_load_ps(from + 8);
        __m128 z = _mm_load_ps(from + 16), u = _mm_load_ps(from + 24);
        _MM_TRANSPOSE4_PS(x, y, z, u);
        _mm_store_ps(at, x);
        _mm_store_ps(at + 8, y);
        _mm_store_ps(at + 16, z);
        _mm_store_ps(at + 24, u);
    }
}
#endif

static void take_b(const struct warp *w, const struct code_elem *e, const struct shape *s,
                   uint8_t element, struct tile *tile) {
    uint32_t dealt[K_MOST / 4][WARP_LANES] __attribute__((aligned(64)));
    struct registers from = {.count = s->b_regs, .packed = s->packed};
    for (uint32_t r = 0; r < s->b_regs; r++) {
        deal_columns(words(w, &e[r]), dealt[r]);
        from.at[r] = dealt[r];
    }
    expand(&from, element, tile->b);
}

/* Returns row k of b: eight columns. */
static const float *row_of_b(const struct tile *tile, const struct shape *s, uint32_t k) {
    const uint32_t part = k / s->packed;
    return &tile->b[part / 4 * s->packed + k % s->packed][8 * (part % 4)];
}

/* ---- rows of lanes ----------------------------------------------------------------------------
 */

#ifdef __AVX512F__
#define LANES 16
typedef __m512 lanes;
#define LOAD_LANES(p) _mm512_load_ps(p)
#define STORE_LANES(p, v) _mm512_store_ps(p, v)
#define FOUR_LANES(p) _mm512_broadcast_f32x4(_mm_load_ps(p))
#define ONE_LANE(v, t) _mm512_permute_ps(v, (t)*0x55) /* lane t of each group of four */
#elif defined __AVX__
#define LANES 8
typedef __m256 lanes;
#define LOAD_LANES(p) _mm256_load_ps(p)
#define STORE_LANES(p, v) _mm256_store_ps(p, v)
#define FOUR_LANES(p) _mm256_broadcast_ps((const __m128 *)(p))
#define ONE_LANE(v, t) _mm256_permute_ps(v, (t)*0x55)
#else
#define LANES 4
typedef __m128 lanes;
#define LOAD_LANES(p) _mm_load_ps(p)
#define STORE_LANES(p, v) _mm_store_ps(p, v)
#define FOUR_LANES(p) _mm_load_ps(p)
#define ONE_LANE(v, t) _mm_shuffle_ps(v, v, (t)*0x55)
#endif
#define TIMES 2 /* rows of lanes at once */

/* Computes z + x * y, rounded at each step. Where f32 always holds the product exactly, a fused
 * instruction gives the same. */
static inline __attribute__((always_inline)) lanes added(lanes x, lanes y, lanes z,
                                                         const bool exact) {
#if defined __AVX512F__
    if (exact) return _mm512_fmadd_ps(x, y, z);
#elif defined __FMA__
    if (exact) return _mm256_fmadd_ps(x, y, z);
#endif
    (void)exact;
    return z + x * y;
}

/* Makes the compiler finish the sums before it loads more. Otherwise it would load everything
 * first, for which there are not enough registers. */
#ifdef __AVX512F__
#define MADE_NOW(v, u) __asm__ volatile("" : "+v"(v), "+v"(u) : : "memory")
#else
#define MADE_NOW(v, u) __asm__ volatile("" : "+x"(v), "+x"(u) : : "memory")
#endif

/* Multiplies with the values of a in lane t of each group. */
#define STEP(t)                                                                \
    for (uint32_t e = 0; e < packed; e++) {                                    \
        const lanes even = FOUR_LANES(&b[e][8 * (t)]);                         \
        const lanes odd = FOUR_LANES(&b[e][8 * (t) + 4]);                      \
        for (unsigned u = 0; u < TIMES; u++)                                   \
            for (unsigned h = 0; h < halves; h++) {                            \
                const lanes x = LOAD_LANES(&a[h * packed + e][l + u * LANES]); \
                const lanes v = ONE_LANE(x, t);                                \
                s[u][2 * h] = added(v, even, s[u][2 * h], exact);              \
                s[u][2 * h + 1] = added(v, odd, s[u][2 * h + 1], exact);       \
                MADE_NOW(s[u][2 * h], s[u][2 * h + 1]);                        \
            }                                                                  \
    }

/* sum += a * b for TIMES rows of lanes, beginning at `l`, in ascending k, rounded at each step. */
static inline __attribute__((always_inline)) void
multiply_rows(line *sum, const line *a, const line *b, uint32_t k, const uint32_t packed,
              const unsigned halves, const bool exact, unsigned l) {
    lanes s[TIMES][4];
    for (unsigned u = 0; u < TIMES; u++)
        for (unsigned j = 0; j < 2 * halves; j++)
            s[u][j] = LOAD_LANES(&sum[j][l + u * LANES]);
    for (; k; k -= 4 * packed, a += halves * packed, b += packed) {
        STEP(0)
        STEP(1)
        STEP(2)
        STEP(3)
    }
    for (unsigned u = 0; u < TIMES; u++)
        for (unsigned j = 0; j < 2 * halves; j++)
            STORE_LANES(&sum[j][l + u * LANES], s[u][j]);
}

#define MULTIPLY(name, packed, halves, exact)                                          \
    static void multiply_##name(line *sum, const line *a, const line *b, uint32_t k) { \
        for (unsigned l = 0; l < WARP_LANES; l += TIMES * LANES)                       \
            multiply_rows(sum, a, b, k, packed, halves, exact, l);                     \
    }
MULTIPLY(tf32, 1, 2, false)
MULTIPLY(bf16_low, 2, 1, false)
MULTIPLY(bf16, 2, 2, false)
MULTIPLY(f16_low, 2, 1, true)
MULTIPLY(f16, 2, 2, true)
MULTIPLY(bytes_low, 4, 1, true)
MULTIPLY(bytes, 4, 2, true)
MULTIPLY(nibbles_low, 8, 1, true)
MULTIPLY(nibbles, 8, 2, true)

static void multiply_block(const struct shape *s, line *sum, const line *a, const line *b) {
    switch (s->packed * 2 + s->halves) {
    case 4: multiply_tf32(sum, a, b, s->k); break;
    case 5: (s->exact ? multiply_f16_low : multiply_bf16_low)(sum, a, b, s->k); break;
    case 6: (s->exact ? multiply_f16 : multiply_bf16)(sum, a, b, s->k); break;
    case 9: multiply_bytes_low(sum, a, b, s->k); break;
    case 10: multiply_bytes(sum, a, b, s->k); break;
    case 17: multiply_nibbles_low(sum, a, b, s->k); break;
    default: multiply_nibbles(sum, a, b, s->k); break;
    }
}

/* ---- sparse a ---------------------------------------------------------------------------------
 */

/* Reads the metadata of a value. There are two bits for each of two values out of four; a value is
 * a pair for 4-bit elements. tf32 has four bits for one value out of two. Wide elements have their
 * metadata in halves of a register; the upper half is for the row 8 below. Narrow elements have
 * them in registers of lanes that alternate between these rows. `f` selects the lanes of a group
 * that have them. */
static uint32_t metadata(const struct ptx_matrix *m, const uint32_t *e, uint32_t f, uint32_t row,
                         uint32_t bit) {
    const bool wide = ptx_element_bits((enum ptx_element)m->a.element) >= 16;
    const uint32_t lane = row % 8 * 4 + f * m->sparse;
    if (wide) return e[(lane + bit / 16) % WARP_LANES] >> row / 8 * 16 >> bit % 16 & 3;
    return e[(lane + bit / 32 * 2 + row / 8) % WARP_LANES] >> bit % 32 & 3;
}

/* Index in the matrix's row of its stored value `at`. */
static uint32_t sparse_at(const struct ptx_matrix *m, const uint32_t *e, uint32_t f, uint32_t row,
                          uint32_t at) {
    const uint32_t bits = ptx_element_bits((enum ptx_element)m->a.element);
    const uint32_t unit = bits == 4 ? 2 : 1, place = at / unit;
    if (bits == 32) return at * 2 + (metadata(m, e, f, row, at * 4) >> 1);
    return (place / 2 * 4 + metadata(m, e, f, row, place * 2)) * unit + at % unit;
}

/* The metadata follow the fragments. */
static const uint32_t *metadata_of(const struct code_extra *x, const struct warp *w) {
    return words(w, &x->uses[x->matrix->a.regs + x->matrix->b.regs + x->matrix->c.regs]);
}

/* ---- sums of reals ----------------------------------------------------------------------------
 */

static bool is_fp8(uint8_t element) {
    return element == PTX_ELEMENT_E4M3 || element == PTX_ELEMENT_E5M2;
}

/* Fills `f` with the way in which sm_90 adds these types. Returns false for types that it lacks (6
 * bits and fewer, scales) and for integers: no hardware result is known, and sums are rounded at
 * each step. */
static bool fused_of(const struct code_inst *i, struct fused *f) {
    const struct ptx_matrix *m = ((const struct code_extra *)i->extra)->matrix;
    const uint8_t a = m->a.element, b = m->b.element, c = m->c.element;
    const bool wide = a == PTX_ELEMENT_BF16 || a == PTX_ELEMENT_TF32;
    const bool coarse = is_fp8(a) && i->src->op == PTX_OP_wgmma;
    *f = (struct fused){.places = coarse ? FUSED_PLACES_FP8 : FUSED_PLACES,
                        .least_x = wide                              ? -126
                                   : coarse && a == PTX_ELEMENT_E4M3 ? -6
                                                                     : -14,
                        .least_y = wide                              ? -126
                                   : coarse && b == PTX_ELEMENT_E4M3 ? -6
                                                                     : -14,
                        .least_c = c == PTX_ELEMENT_F16 ? -14 : -126,
                        .cut = coarse ? 52 - FUSED_PLACES_FP8 : 52 - 23,
                        .odd = m->d.element == PTX_ELEMENT_F16 && c == PTX_ELEMENT_F16};
    return (wide || a == PTX_ELEMENT_F16 || (is_fp8(a) && is_fp8(b))) && !m->scales;
}

static void round_halves(float *v) {
    for (unsigned n = 0; n < FUSED_COLUMNS; n++)
        v[n] = half_from_f16(half_to_f16((double)v[n]));
}

/* mma of fp8 consists of two products of f16: first the lower pairs of each lane's four values,
 * then the upper ones. c is added at the end. */
static void fused_in_pairs(const struct fused *f, float *v, const float *x,
                           const struct fused_rows *rows, uint32_t count) {
    struct fused parts = *f;
    float sum[FUSED_COLUMNS] = {0};
    for (uint32_t k = 0; k < 2; k++) {
        fused_sums(&parts, sum, x, rows, k * count / 2, count / 2);
        if (f->odd) round_halves(sum);
    }
    for (unsigned n = 0; n < FUSED_COLUMNS; n++)
        v[n] = f->odd ? half_from_f16(half_to_f16((double)v[n] + (double)sum[n])) : v[n] + sum[n];
}

/* Products of a block, in the groups that an instruction adds at once. */
struct products {
    uint32_t count, packed, step; /* values of a row; of a register; added at once */
    bool pairs;
};

static struct products products_of(const struct code_inst *i, const struct shape *s, bool sparse) {
    const uint32_t count = sparse ? s->k / 2 : s->k, p = s->packed;
    return (struct products){
        .count = count,
        .packed = p,
        .pairs = p == 4 && i->src->op != PTX_OP_wgmma,
        .step = p == 1 && i->src->op == PTX_OP_wmma ? 4 : count,
    };
}

/* Index in the row of the value that the instruction adds as the k-th. */
static uint32_t value_at(const struct products *p, uint32_t k) {
    const uint32_t in = k % (p->count / 2), upper = k / (p->count / 2);
    return p->pairs ? in / 2 * 4 + upper * 2 + in % 2 : k;
}

static void take_rows(const struct code_inst *i, const struct shape *s, const struct fused *f,
                      const struct products *p, const uint32_t *e, uint32_t row,
                      const struct tile *tile, struct fused_rows *out) {
    const struct ptx_matrix *m = ((const struct code_extra *)i->extra)->matrix;
    for (uint32_t k = 0; k < p->count; k++) {
        const uint32_t at = value_at(p, k);
        const uint32_t of = e ? sparse_at(m, e, (uint32_t)i->offset, row, at) : at;
        fused_take(f, out, k, row_of_b(tile, s, of));
    }
}

static void add_row(const struct fused *f, const struct products *p, float *v, const float *x,
                    const struct fused_rows *rows) {
    if (p->pairs) {
        fused_in_pairs(f, v, x, rows, p->count);
        return;
    }
    for (uint32_t k = 0; k < p->count; k += p->step)
        fused_sums(f, v, x, rows, k, p->step);
}

/* Multiplies a block row by row. `e` has the metadata of a sparse block, each of whose rows has
 * other factors, or is NULL. */
static void multiply_fused(const struct code_inst *i, const struct shape *s, const struct fused *f,
                           const uint32_t *e, const struct tile *tile, const line *a, line *sum) {
    const struct products p = products_of(i, s, e);
    struct fused_rows rows;
    if (!e) take_rows(i, s, f, &p, NULL, 0, tile, &rows);
    for (uint32_t row = 0; row < 8 * s->halves; row++) {
        const uint32_t g = row % 8 * 4, h = row / 8;
        float x[FUSED_MOST], v[FUSED_COLUMNS];
        if (e) take_rows(i, s, f, &p, e, row, tile, &rows);
        for (uint32_t k = 0; k < p.count; k++) {
            const uint32_t at = value_at(&p, k), part = at / p.packed;
            x[k] = a[(part / 4 * s->halves + h) * p.packed + at % p.packed][g + part % 4];
        }
        for (uint32_t n = 0; n < FUSED_COLUMNS; n++)
            v[n] = sum[2 * h + n / 4][g + n % 4];
        add_row(f, &p, v, x, &rows);
        for (uint32_t n = 0; n < FUSED_COLUMNS; n++)
            sum[2 * h + n / 4][g + n % 4] = v[n];
    }
}

/* Multiplies sparse integers and types that sm_90 lacks, in ascending k, rounded at each step. */
static void multiply_sparse(const struct code_inst *i, const struct warp *w, const struct shape *s,
                            struct tile *tile) {
    const struct code_extra *x = i->extra;
    const uint32_t *e = metadata_of(x, w), f = (uint32_t)i->offset;
    for (uint32_t row = 0; row < 16; row++) {
        const uint32_t g = row % 8 * 4, h = row / 8;
        float v[8];
        for (uint32_t n = 0; n < 8; n++)
            v[n] = tile->sum[2 * h + n / 4][g + n % 4];
        for (uint32_t at = 0; at < s->k / 2; at++) {
            const uint32_t p = s->packed, part = at / p;
            const float factor = tile->a[(part / 4 * 2 + h) * p + at % p][g + part % 4];
            const float *b = row_of_b(tile, s, sparse_at(x->matrix, e, f, row, at));
            for (unsigned n = 0; n < 8; n++)
                v[n] += factor * b[n];
        }
        for (uint32_t n = 0; n < 8; n++)
            tile->sum[2 * h + n / 4][g + n % 4] = v[n];
    }
}

/* ---- scaled a and b ---------------------------------------------------------------------------
 */

/* Returns scale `k` of a row or column, from the word of the lane that has it: a power of two, or
 * an fp8 without sign. */
static double scale_at(const struct ptx_matrix *m, uint32_t word, uint32_t byte, uint32_t k) {
    const uint32_t v = word >> 8 * ((byte & (4u - m->scales)) + k) & 255;
    if (m->fractions) return (double)small_value(&small_e4m3, v & 127);
    return v == 255 ? (double)REAL_NAN32 : __builtin_ldexp(1, (int)v - 127);
}

/* Scales of all rows of a and of all columns of b. A row's scales are in the even or odd lane of
 * one half of its group, a column's in one lane of its group. Selectors are the same in all
 * lanes. */
struct scales {
    double a[16][4], b[8][4];
};

static void take_scales(const struct code_extra *x, const struct warp *w, struct scales *s) {
    const struct ptx_matrix *m = x->matrix;
    const struct code_elem *e = &x->uses[x->use_count - 6];
    const uint32_t *a = words(w, &e[0]), *b = words(w, &e[3]);
    const uint32_t byte_a = *SLOT(const uint16_t, w, e[1].slot),
                   pair_a = *SLOT(const uint16_t, w, e[2].slot) & 1,
                   byte_b = *SLOT(const uint16_t, w, e[4].slot),
                   lane_b = *SLOT(const uint16_t, w, e[5].slot) & 3;
    for (uint32_t k = 0; k < m->scales; k++) {
        for (uint32_t row = 0; row < 16; row++)
            s->a[row][k] = scale_at(m, a[row % 8 * 4 + 2 * pair_a + row / 8], byte_a, k);
        for (uint32_t col = 0; col < 8; col++)
            s->b[col][k] = scale_at(m, b[col * 4 + lane_b], byte_b, k);
    }
}

/* Multiplies with scales. Each product with its scales is exact before it is rounded once and
 * added. A chunk has the values of a with one scale; a sparse a has half as many values as b. */
static void multiply_scaled(const struct code_inst *i, const struct warp *w, const struct shape *s,
                            struct tile *tile) {
    const struct code_extra *x = i->extra;
    const struct ptx_matrix *m = x->matrix;
    const uint32_t *e = m->sparse ? metadata_of(x, w) : NULL, f = (uint32_t)i->offset;
    const uint32_t p = s->packed, k = m->sparse ? s->k / 2 : s->k, chunk = k / m->scales;
    struct scales scales;
    take_scales(x, w, &scales);
    for (uint32_t row = 0; row < 16; row++) {
        const uint32_t g = row % 8 * 4, h = row / 8;
        double factor[8] = {0};
        float v[8];
        for (uint32_t n = 0; n < 8; n++)
            v[n] = tile->sum[2 * h + n / 4][g + n % 4];
        for (uint32_t at = 0; at < k; at++) {
            const uint32_t part = at / p;
            const float y = tile->a[(part / 4 * 2 + h) * p + at % p][g + part % 4];
            const float *b = row_of_b(tile, s, e ? sparse_at(m, e, f, row, at) : at);
            for (unsigned n = 0; n < 8 && at % chunk == 0; n++)
                factor[n] = scales.a[row][at / chunk] * scales.b[n % 4 * 2 + n / 4][at / chunk];
            for (unsigned n = 0; n < 8; n++)
                v[n] += (float)((double)(y * b[n]) * factor[n]);
        }
        for (uint32_t n = 0; n < 8; n++)
            tile->sum[2 * h + n / 4][g + n % 4] = v[n];
    }
}

/* ---- complete products ------------------------------------------------------------------------
 */

/* Multiplies one block of columns, whose factors are in tile->b, into its sums. */
static void multiply_columns(const struct code_inst *i, const struct warp *w, const struct shape *s,
                             struct tile *tile, uint32_t c) {
    const struct ptx_matrix *m = ((const struct code_extra *)i->extra)->matrix;
    const uint32_t *e = m->sparse ? metadata_of(i->extra, w) : NULL;
    struct fused f;
    const bool fused = fused_of(i, &f);
    for (uint32_t r = 0; r < s->row_blocks; r++) {
        line *sum = &tile->sum[(c * s->row_blocks + r) * 2 * s->halves];
        const line *a = (const line *)&tile->a[r * s->a_regs * s->packed];
        if (fused)
            multiply_fused(i, s, &f, e, tile, a, sum);
        else if (!m->sparse && !m->scales)
            multiply_block(s, sum, a, (const line *)tile->b);
    }
    if (m->scales)
        multiply_scaled(i, w, s, tile);
    else if (m->sparse && !fused)
        multiply_sparse(i, w, s, tile);
}

/* Multiplies all factors into tile->sum. */
static void multiply_all(const struct code_inst *i, const struct warp *w, struct tile *tile) {
    const struct code_extra *x = i->extra;
    const struct ptx_matrix *m = x->matrix;
    const struct shape s = shape_of(m);
    take_lines(w, x->uses, s.a_regs * s.row_blocks, m->a.element, s.packed, tile->a);
    for (uint32_t c = 0; c < s.col_blocks; c++) {
        take_b(w, x->uses + m->a.regs + c * s.b_regs, &s, m->b.element, tile);
        multiply_columns(i, w, &s, tile, c);
    }
}

static uint32_t pair_of(float low, float high) {
    return (uint32_t)half_to_f16(low) | (uint32_t)half_to_f16(high) << 16;
}

static void give_reals(const struct warp *w, const struct code_extra *x, line *sum) {
    const bool halves = x->matrix->d.element == PTX_ELEMENT_F16;
    for (uint32_t r = 0; r < x->def_count; r++) {
        uint32_t *to = SLOT(uint32_t, w, x->defs[r].slot);
        if (halves)
            for (unsigned l = 0; l < WARP_LANES; l++)
                to[l] = pair_of(sum[2 * r][l], sum[2 * r + 1][l]);
        else
            for (unsigned l = 0; l < WARP_LANES; l++)
                to[l] = half_bits_of_float(real_nan32(sum[r][l]));
    }
}

ISA_HANDLER(multiply_reals) {
    const struct code_extra *x = i->extra;
    const struct ptx_matrix *m = x->matrix;
    struct tile tile;
    (void)mask;
    take_lines(w, x->uses + m->a.regs + m->b.regs, m->c.regs, m->c.element, fragment_packed(m->c),
               tile.sum);
    multiply_all(i, w, &tile);
    give_reals(w, x, tile.sum);
}

/* Sums the products first: only c can take the sum beyond 32 bits. */
ISA_HANDLER(multiply_integers) {
    const struct code_extra *x = i->extra;
    const struct ptx_matrix *m = x->matrix;
    const struct code_elem *c = x->uses + m->a.regs + m->b.regs;
    struct tile tile;
    int32_t from[SUMS_MOST][WARP_LANES];
    (void)mask;
    for (uint32_t r = 0; r < m->c.regs; r++)
        memcpy(from[r], words(w, &c[r]), sizeof(from[r]));
    memset(tile.sum, 0, m->c.regs * sizeof(tile.sum[0]));
    multiply_all(i, w, &tile);
    for (uint32_t r = 0; r < x->def_count; r++) {
        int32_t *to = SLOT(int32_t, w, x->defs[r].slot);
        for (unsigned l = 0; l < WARP_LANES; l++) {
            const int64_t v = (int64_t)(int32_t)tile.sum[r][l] + from[r][l];
            const int64_t bound = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
            to[l] = (int32_t)(uint32_t)(m->satfinite ? bound : v);
        }
    }
}

ISA_FAMILY(tile_select) {
    const struct ptx_matrix *m = ((const struct code_extra *)i->extra)->matrix;
    return m->c.element == PTX_ELEMENT_S32 ? multiply_integers : multiply_reals;
}
