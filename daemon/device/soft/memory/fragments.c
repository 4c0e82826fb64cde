/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves matrices between memory and the registers of a warp: ldmatrix and stmatrix (each lane has
 * the address of a row of 16 bytes), movmatrix, and wmma's loads and stores. wmma reads the
 * matrix's address from lane 0, since PTX demands the same address in all lanes.
 */
#include "daemon/device/soft/memory/fragments.h"

#include <emmintrin.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/code/fragment.h"
#include "daemon/device/soft/memory/mem.h"

static const struct ptx_matrix *matrix_of(const struct code_inst *i) {
    return ((const struct code_extra *)i->extra)->matrix;
}

/* ---- rows of 16 bytes ------------------------------------------------------------------------ */

#define SQUARE_ROW 16 /* bytes */

/* Registers of a matrix: lane l holds four bytes of row l / 4, beginning at byte 4 * (l % 4). So
 * the rows are consecutive in a register. */
struct square {
    __m128i rows[8];
};

/* Transposes 8x8 values of 16 bits. */
static struct square transposed(const struct square *s) {
    __m128i a[8], b[8];
    struct square t;
    for (unsigned k = 0; k < 4; k++) { /* interleaves rows k and k + 4 */
        a[2 * k] = _mm_unpacklo_epi16(s->rows[k], s->rows[k + 4]);
        a[2 * k + 1] = _mm_unpackhi_epi16(s->rows[k], s->rows[k + 4]);
    }
    /* a[2k] and a[2k + 1] are the halves; b gets 0 2 4 6, and 1 3 5 7 */
    for (unsigned k = 0; k < 4; k++) {
        b[2 * k] = _mm_unpacklo_epi16(a[k], a[k + 4]);
        b[2 * k + 1] = _mm_unpackhi_epi16(a[k], a[k + 4]);
    }
    for (unsigned k = 0; k < 4; k++) {
        t.rows[2 * k] = _mm_unpacklo_epi16(b[k], b[k + 4]);
        t.rows[2 * k + 1] = _mm_unpackhi_epi16(b[k], b[k + 4]);
    }
    return t;
}

/* Transposes 16x16 bytes in two registers: interleaves the rows of one with those of the other four
 * times. */
static void transpose_bytes(struct square s[2]) {
    for (unsigned turn = 0; turn < 4; turn++) {
        __m128i laced[16];
        for (unsigned k = 0; k < 8; k++) {
            laced[2 * k] = _mm_unpacklo_epi8(s[0].rows[k], s[1].rows[k]);
            laced[2 * k + 1] = _mm_unpackhi_epi8(s[0].rows[k], s[1].rows[k]);
        }
        memcpy(s, laced, sizeof(laced));
    }
}

/* Expands a row of 16 values of 6 or 4 bits, followed by a gap, to bytes. */
static __m128i expanded(__m128i row, uint8_t element) {
    const __m128i low = _mm_set1_epi8(15);
    uint8_t from[SQUARE_ROW + 1] = {0}, to[SQUARE_ROW];
    if (element == PTX_ELEMENT_B4)
        return _mm_unpacklo_epi8(_mm_and_si128(row, low),
                                 _mm_and_si128(_mm_srli_epi16(row, 4), low));
    _mm_storeu_si128((__m128i *)from, row);
    for (unsigned k = 0; k < SQUARE_ROW; k++)
        to[k] = (uint8_t)((from[6 * k / 8] | from[6 * k / 8 + 1] << 8) >> 6 * k % 8 & 63);
    return _mm_loadu_si128((const __m128i *)to);
}

/* Converts rows as they lie in memory to the registers of `m`. */
static void turn_loaded(const struct ptx_matrix *m, struct square *s, uint32_t count) {
    const bool expands = m->d.element == PTX_ELEMENT_B6 || m->d.element == PTX_ELEMENT_B4;
    for (uint32_t k = 0; k < 8 * count && expands; k++)
        s[k / 8].rows[k % 8] = expanded(s[k / 8].rows[k % 8], m->d.element);
    for (uint32_t k = 0; k < count && m->trans; k += m->m / 8u)
        if (m->m == 8)
            s[k] = transposed(&s[k]);
        else
            transpose_bytes(&s[k]);
}

/* Converts 16x8 bytes to the layout of a product: bytes 2 * (l % 4) and the next, of row l / 4 and
 * of the row 8 below it. */
static struct square columns_of(const struct square *s) {
    uint8_t from[8][4][2][2], to[8][SQUARE_ROW];
    struct square t;
    memcpy(from, s, sizeof(from));
    for (unsigned col = 0; col < 8; col++)
        for (unsigned row = 0; row < SQUARE_ROW; row++)
            to[col][row] = from[row % 8][col / 2][row / 8][col % 2];
    memcpy(&t, to, sizeof(t));
    return t;
}

/* Computes addresses in the usual case: offsets in a 32-bit register. Returns false if one is
 * invalid. */
static bool row_offsets(const struct warp_ctx *x, const struct code_inst *i, uint32_t count,
                        uint64_t *at) {
    const uint64_t size = x->shared_bytes, base = x->shared_base;
    if (i->space != PTX_SHARED || i->a < 0 || i->a_bytes != 4 || size < SQUARE_ROW) return false;
    const uint32_t *a = SLOT(const uint32_t, &x->w, i->a), offset = (uint32_t)i->offset;
    uint32_t bad = 0;
    for (uint32_t l = 0; l < count; l++) {
        const uint32_t v = a[l] + offset;
        bad |= (uint32_t)(v > size - SQUARE_ROW) | (v & (SQUARE_ROW - 1));
        at[l] = base + v;
    }
    return !bad;
}

/* Computes the rows' addresses, from eight lanes for each matrix. They must be in shared memory,
 * which no other thread of this process touches. */
static bool row_addresses(struct warp_ctx *x, const struct code_inst *i, uint32_t matrices,
                          bool write, uint64_t *at) {
    uint32_t mask = (uint32_t)((1ull << 8 * matrices) - 1);
    if (row_offsets(x, i, 8 * matrices, at)) return true;
    if (!mem_resolve(x, i, mask, SQUARE_ROW, write, at)) return false;
    for (uint32_t l = 0; l < 8 * matrices; l++)
        if (at[l] - x->shared_base >= x->shared_bytes) {
            warp_fault(&x->w, i, l, ERR_ILLEGAL_ADDRESS, at[l],
                       "outside the block's shared memory");
            return false;
        }
    return true;
}

static void load_rows(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    struct square s[4];
    (void)mask;
    if (!row_addresses((struct warp_ctx *)w, i, x->def_count, false, at)) return;
    for (uint32_t k = 0; k < 8 * x->def_count; k++)
        s[k / 8].rows[k % 8] = _mm_load_si128((const __m128i *)(uintptr_t)at[k]);
    turn_loaded(x->matrix, s, x->def_count);
    for (uint32_t k = 0; k < x->def_count; k++)
        memcpy(SLOT(uint32_t, w, x->defs[k].slot), &s[k], sizeof(s[k]));
}

static void store_rows(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    struct square s;
    (void)mask;
    if (!row_addresses((struct warp_ctx *)w, i, x->use_count, true, at)) return;
    for (uint32_t k = 0; k < x->use_count; k++) {
        memcpy(&s, SLOT(const uint32_t, w, x->uses[k].slot), sizeof(s));
        if (x->matrix->trans) s = x->matrix->m == 8 ? transposed(&s) : columns_of(&s);
        for (uint32_t row = 0; row < 8; row++)
            _mm_store_si128((__m128i *)(uintptr_t)at[8 * k + row], s.rows[row]);
    }
}

static void transpose(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    struct square s;
    (void)mask;
    memcpy(&s, SLOT(const uint32_t, w, x->uses[0].slot), sizeof(s));
    s = transposed(&s);
    memcpy(SLOT(uint32_t, w, x->defs[0].slot), &s, sizeof(s));
}

/* ---- wmma.load, wmma.store ------------------------------------------------------------------- */

/* A matrix in memory: its layout, and the addresses of its lines. */
struct lines {
    const struct fragment_tile *tile;
    uint64_t at[WARP_LANES];
};

/* Finds and checks the lines. Their distance is the stride, in elements. */
static bool find_lines(struct warp_ctx *x, const struct code_inst *i, struct lines *t, bool write) {
    const struct fragment_tile *f = t->tile = ((const struct code_extra *)i->extra)->tile;
    const uint64_t line = (uint64_t)f->units * f->unit_bytes;
    uint64_t pitch = line;
    if (i->b != CODE_NO_SLOT) pitch = (uint64_t)SLOT(const uint32_t, &x->w, i->b)[0] * f->bits / 8;
    return mem_lines(x, i, f->lines, line, pitch, f->unit_bytes, write, t->at);
}

/* A client's memory has no declared type, and its threads order their own accesses. */
typedef uint8_t __attribute__((may_alias)) client_u8;
typedef uint16_t __attribute__((may_alias)) client_u16;
typedef uint32_t __attribute__((may_alias)) client_u32;
typedef uint64_t __attribute__((may_alias)) client_u64;

#define CLIENT __attribute__((no_sanitize("thread")))

/* Registers of four lanes, consecutive in memory: 4 or 8 bytes each, aligned as an element. */
typedef uint32_t client_16 __attribute__((vector_size(16), aligned(1), may_alias));

/* Loads groups of lanes; a line has `pieces` pieces per group. */
CLIENT static inline void load_groups(const struct lines *t, struct fragment_place p,
                                      uint32_t pieces, void *reg) {
    const uint64_t *at = &t->at[p.outer], offset = (uint64_t)p.inner * t->tile->unit_bytes;
    client_16 *to = reg;
    for (uint32_t g = 0; g < 8; g++)
        for (uint32_t k = 0; k < pieces; k++)
            *to++ = ((const volatile client_16 *)(uintptr_t)(at[g] + offset))[k];
}

CLIENT static inline void store_groups(const struct lines *t, struct fragment_place p,
                                       uint32_t pieces, const void *reg) {
    const uint64_t *at = &t->at[p.outer], offset = (uint64_t)p.inner * t->tile->unit_bytes;
    const client_16 *from = reg;
    for (uint32_t g = 0; g < 8; g++)
        for (uint32_t k = 0; k < pieces; k++)
            ((volatile client_16 *)(uintptr_t)(at[g] + offset))[k] = *from++;
}

/* True for eight lines of eight units of 16 bits, stored by the other dimension. */
static bool is_square(const struct lines *t) {
    return !t->tile->of_lines && t->tile->unit_bytes == 2 && t->tile->step == 2;
}

typedef uint16_t client_row __attribute__((vector_size(16), aligned(2), may_alias));

CLIENT static void load_square(const struct lines *t, struct fragment_place p, void *reg) {
    struct square s;
    for (uint32_t k = 0; k < 8; k++) {
        const uint64_t from = t->at[p.inner + k] + 2ull * p.outer;
        s.rows[k] = (__m128i) * (const volatile client_row *)(uintptr_t)from;
    }
    s = transposed(&s);
    memcpy(reg, &s, sizeof(s));
}

/* True for 32-bit sums in two registers. Of four lanes that are consecutive in memory, one register
 * has the even elements and the other the odd ones. */
static bool is_pair(const struct lines *t) {
    return t->tile->of_lines && t->tile->unit_bytes == 4 && t->tile->step == 2;
}

CLIENT static void load_pair(const struct lines *t, struct fragment_place p, float *even,
                             float *odd) {
    for (uint32_t g = 0; g < 8; g++) {
        const uint64_t from = t->at[p.outer + g] + 4ull * p.inner;
        const __m128 a = (__m128) * (const volatile client_16 *)(uintptr_t)from;
        const __m128 b = (__m128) * (const volatile client_16 *)(uintptr_t)(from + 16);
        _mm_store_ps(&even[4 * g], _mm_shuffle_ps(a, b, 0x88));
        _mm_store_ps(&odd[4 * g], _mm_shuffle_ps(a, b, 0xdd));
    }
}

CLIENT static void store_pair(const struct lines *t, struct fragment_place p, const float *even,
                              const float *odd) {
    for (uint32_t g = 0; g < 8; g++) {
        const uint64_t to = t->at[p.outer + g] + 4ull * p.inner;
        const __m128 a = _mm_load_ps(&even[4 * g]), b = _mm_load_ps(&odd[4 * g]);
        *(volatile client_16 *)(uintptr_t)to = (client_16)_mm_unpacklo_ps(a, b);
        *(volatile client_16 *)(uintptr_t)(to + 16) = (client_16)_mm_unpackhi_ps(a, b);
    }
}

/* Loads units one by one: `packed` units of `type` form a register of type `reg`. */
#define LOADS(type, reg, packed)                                                                  \
    CLIENT static void load_##type(const struct lines *t, struct fragment_place p, reg *d) {      \
        for (uint32_t l = 0; l < WARP_LANES; l++) {                                               \
            reg v = 0;                                                                            \
            for (uint32_t k = 0; k < (packed); k++)                                               \
                v |= (reg) * (const volatile type *)(uintptr_t)unit_at(t, &p, l, k, sizeof(type)) \
                     << (8 * sizeof(type) * k);                                                   \
            d[l] = v;                                                                             \
        }                                                                                         \
    }
#define UNITS(type, reg, packed)                                                    \
    LOADS(type, reg, packed)                                                        \
    CLIENT static void store_##type(const struct lines *t, struct fragment_place p, \
                                    const reg *s) {                                 \
        for (uint32_t l = 0; l < WARP_LANES; l++)                                   \
            for (uint32_t k = 0; k < (packed); k++)                                 \
                *(volatile type *)(uintptr_t)unit_at(t, &p, l, k, sizeof(type)) =   \
                    (type)(s[l] >> (8 * sizeof(type) * k));                         \
    }

static inline uint64_t unit_at(const struct lines *t, const struct fragment_place *p, uint32_t lane,
                               uint32_t k, uint32_t bytes) {
    const uint32_t outer = p->outer + lane / 4, inner = p->inner + lane % 4 * t->tile->step + k;
    return t->tile->of_lines ? t->at[outer] + (uint64_t)inner * bytes
                             : t->at[inner] + (uint64_t)outer * bytes;
}

LOADS(client_u8, uint32_t, 4)
UNITS(client_u16, uint32_t, 2)
UNITS(client_u32, uint32_t, 1)
UNITS(client_u64, uint64_t, 1)

static void load_register(const struct lines *t, struct fragment_place p, uint32_t bytes, void *d) {
    if (t->tile->of_lines && t->tile->step == t->tile->packed)
        return bytes == 4 ? load_groups(t, p, 1, d) : load_groups(t, p, 2, d);
    if (is_square(t)) return load_square(t, p, d);
    switch (t->tile->unit_bytes) {
    case 1: load_client_u8(t, p, d); break;
    case 2: load_client_u16(t, p, d); break;
    case 4: load_client_u32(t, p, d); break;
    default: load_client_u64(t, p, d); break;
    }
}

/* Copies a register of a factor to those that repeat it. The copy is made at once, since registers
 * that no instruction reads may share a slot. */
static void repeat_register(const struct warp *w, const struct code_extra *x, uint32_t r) {
    const struct code_elem *from = &x->defs[r];
    for (uint32_t to = r + x->tile->unique; to < x->def_count; to += x->tile->unique)
        if (x->defs[to].slot != from->slot)
            memcpy(SLOT(void, w, x->defs[to].slot), SLOT(const void, w, from->slot),
                   (size_t)WARP_LANES * from->bytes);
}

static void load_tile(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    struct lines t;
    (void)mask;
    if (!find_lines((struct warp_ctx *)w, i, &t, false)) return;
    const uint32_t step = is_pair(&t) ? 2 : 1;
    for (uint32_t r = 0; r < t.tile->unique; r += step) {
        const struct fragment_place p = t.tile->place[r];
        if (step == 2)
            load_pair(&t, p, SLOT(float, w, x->defs[r].slot), SLOT(float, w, x->defs[r + 1].slot));
        else
            load_register(&t, p, x->defs[r].bytes, SLOT(void, w, x->defs[r].slot));
        repeat_register(w, x, r);
    }
}

/* Stores a register. Only sums are stored. */
static void store_register(const struct lines *t, struct fragment_place p, uint32_t bytes,
                           const void *s) {
    if (t->tile->of_lines && t->tile->step == t->tile->packed)
        return bytes == 4 ? store_groups(t, p, 1, s) : store_groups(t, p, 2, s);
    switch (t->tile->unit_bytes) {
    case 2: store_client_u16(t, p, s); break;
    case 4: store_client_u32(t, p, s); break;
    default: store_client_u64(t, p, s); break;
    }
}

static void store_tile(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    struct lines t;
    (void)mask;
    if (!find_lines((struct warp_ctx *)w, i, &t, true)) return;
    const uint32_t step = is_pair(&t) ? 2 : 1;
    for (uint32_t r = 0; r < x->use_count; r += step) {
        const struct fragment_place p = t.tile->place[r];
        if (step == 2)
            store_pair(&t, p, SLOT(const float, w, x->uses[r].slot),
                       SLOT(const float, w, x->uses[r + 1].slot));
        else
            store_register(&t, p, x->uses[r].bytes, SLOT(const void, w, x->uses[r].slot));
    }
}

code_handler *fragments_select(const struct code_inst *i) {
    switch (matrix_of(i)->verb) {
    case PTX_MATRIX_LOAD: return load_tile;
    case PTX_MATRIX_STORE: return store_tile;
    case PTX_MATRIX_LOAD_ROWS: return load_rows;
    case PTX_MATRIX_STORE_ROWS: return store_rows;
    case PTX_MATRIX_TRANSPOSE: return transpose;
    default: return NULL;
    }
}
