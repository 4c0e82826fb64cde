/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices between memory and the registers of a warp: ldmatrix and stmatrix (8x8 matrices of 16
 * bits, each lane the address of a row), movmatrix, and wmma's loads and stores, for which lane 0
 * says where the matrix is: PTX wants the same of all.
 */
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/code/fragment.h"
#include "daemon/device/soft/code/handlers.h"
#include "daemon/device/soft/exec/mem.h"

static const struct ptx_matrix *matrix_of(const struct code_inst *i) {
    return ((const struct code_extra *)i->extra)->matrix;
}

/* ---- 8x8 matrices ---------------------------------------------------------------------------- */

#define SQUARE_ROW 16 /* bytes */

struct square {
    uint16_t rows[8][8];
};

/* Lane l holds places 2 * (l % 4) and the next of row l / 4; transposed, of that column. */
static void deal(const struct square *s, bool trans, uint32_t *to) {
    for (uint32_t l = 0; l < WARP_LANES; l++) {
        uint32_t row = l / 4, col = l % 4 * 2;
        uint32_t low = trans ? s->rows[col][row] : s->rows[row][col];
        uint32_t high = trans ? s->rows[col + 1][row] : s->rows[row][col + 1];
        to[l] = low | high << 16;
    }
}

static void collect(struct square *s, bool trans, const uint32_t *from) {
    for (uint32_t l = 0; l < WARP_LANES; l++)
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t row = l / 4, col = l % 4 * 2 + k;
            s->rows[trans ? col : row][trans ? row : col] = (uint16_t)(from[l] >> 16 * k);
        }
}

/* The rows' addresses: eight lanes for each matrix. Only shared memory has them, which no other
 * thread of ours touches. */
static bool row_addresses(struct warp_ctx *x, const struct code_inst *i, uint32_t matrices,
                          bool write, uint64_t *at) {
    uint32_t mask = (uint32_t)((1ull << 8 * matrices) - 1);
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
        memcpy(s[k / 8].rows[k % 8], (const void *)(uintptr_t)at[k], sizeof(s[0].rows[0]));
    for (uint32_t k = 0; k < x->def_count; k++)
        deal(&s[k], x->matrix->trans, SLOT(uint32_t, w, x->defs[k].slot));
}

static void store_rows(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    struct square s;
    (void)mask;
    if (!row_addresses((struct warp_ctx *)w, i, x->use_count, true, at)) return;
    for (uint32_t k = 0; k < x->use_count; k++) {
        collect(&s, x->matrix->trans, SLOT(const uint32_t, w, x->uses[k].slot));
        for (uint32_t row = 0; row < 8; row++)
            memcpy((void *)(uintptr_t)at[8 * k + row], s.rows[row], sizeof(s.rows[row]));
    }
}

static void transpose(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    struct square s;
    (void)mask;
    collect(&s, true, SLOT(const uint32_t, w, x->uses[0].slot));
    deal(&s, false, SLOT(uint32_t, w, x->defs[0].slot));
}

/* ---- wmma.load, wmma.store ------------------------------------------------------------------- */

/* A matrix in memory, in units: an element, or a register of those smaller than a byte. */
struct tile {
    uint32_t lines, units, unit_bytes; /* rows; or columns, if it is stored by them */
    uint32_t packed;                   /* units of a register */
    uint64_t at[32];                   /* addresses of the lines */
};

static bool of_lines(const struct ptx_matrix *m) {
    return m->part == 'b' ? m->a_col : !m->a_col; /* its outer dimension is a line */
}

static struct tile tile_of(const struct ptx_matrix *m) {
    uint32_t outer = m->part == 'b' ? m->n : m->m, inner = m->part == 'c' ? m->n : m->k;
    uint32_t bits = ptx_element_bits((enum ptx_element)m->d.element);
    uint32_t packed = fragment_packed(m->d), unit_bytes = bits / 8;
    if (bits < 8) {
        unit_bytes = 4;
        inner = inner * bits / 32;
        packed = 1;
    }
    bool lines = of_lines(m);
    return (struct tile){.lines = lines ? outer : inner,
                         .units = lines ? inner : outer,
                         .unit_bytes = unit_bytes,
                         .packed = packed};
}

/* Finds and checks the lines, which lie as far apart as the stride says, in elements. */
static bool tile_resolve(struct warp_ctx *x, const struct code_inst *i, struct tile *t,
                         bool write) {
    uint32_t bits = ptx_element_bits((enum ptx_element)matrix_of(i)->d.element);
    uint64_t line = (uint64_t)t->units * t->unit_bytes, pitch = line;
    if (i->b != CODE_NO_SLOT) pitch = (uint64_t)SLOT(const uint32_t, &x->w, i->b)[0] * bits / 8;
    return mem_lines(x, i, t->lines, line, pitch, t->unit_bytes, write, t->at);
}

/* Where unit `k` of register `r` of a lane lies. */
static uint64_t tile_address(const struct ptx_matrix *m, const struct tile *t, uint32_t r,
                             uint32_t k, uint32_t lane) {
    uint32_t outer, inner;
    if (m->part == 'c') {
        fragment_sum_at(m, r * t->packed + k, &outer, &inner);
        inner += lane % 4 * 2;
    } else {
        const struct fragment_factor f = fragment_factor(m, m->part, m->d);
        fragment_factor_at(&f, t->packed, r, &outer, &inner);
        inner += lane % 4 * t->packed + k;
    }
    outer += lane / 4;
    return of_lines(m) ? t->at[outer] + (uint64_t)inner * t->unit_bytes
                       : t->at[inner] + (uint64_t)outer * t->unit_bytes;
}

/* A client's memory has no type of ours, and its threads order themselves. */
typedef uint8_t __attribute__((may_alias)) client_u8;
typedef uint16_t __attribute__((may_alias)) client_u16;
typedef uint32_t __attribute__((may_alias)) client_u32;
typedef uint64_t __attribute__((may_alias)) client_u64;

__attribute__((no_sanitize("thread"))) static uint64_t unit_load(uint64_t at, uint32_t bytes) {
    switch (bytes) {
    case 1: return *(const volatile client_u8 *)(uintptr_t)at;
    case 2: return *(const volatile client_u16 *)(uintptr_t)at;
    case 4: return *(const volatile client_u32 *)(uintptr_t)at;
    default: return *(const volatile client_u64 *)(uintptr_t)at;
    }
}

__attribute__((no_sanitize("thread"))) static void unit_store(uint64_t at, uint32_t bytes,
                                                              uint64_t v) {
    switch (bytes) {
    case 1: *(volatile client_u8 *)(uintptr_t)at = (uint8_t)v; break;
    case 2: *(volatile client_u16 *)(uintptr_t)at = (uint16_t)v; break;
    case 4: *(volatile client_u32 *)(uintptr_t)at = (uint32_t)v; break;
    default: *(volatile client_u64 *)(uintptr_t)at = v; break;
    }
}

static void load_tile(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    const struct ptx_matrix *m = x->matrix;
    struct tile t = tile_of(m);
    (void)mask;
    if (!tile_resolve((struct warp_ctx *)w, i, &t, false)) return;
    for (uint32_t r = 0; r < x->def_count; r++)
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            uint64_t v = 0;
            for (uint32_t k = 0; k < t.packed; k++)
                v |= unit_load(tile_address(m, &t, r, k, l), t.unit_bytes) << 8 * k * t.unit_bytes;
            if (t.unit_bytes == 8)
                SLOT(uint64_t, w, x->defs[r].slot)[l] = v;
            else
                SLOT(uint32_t, w, x->defs[r].slot)[l] = (uint32_t)v;
        }
}

static void store_tile(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *x = i->extra;
    const struct ptx_matrix *m = x->matrix;
    struct tile t = tile_of(m);
    (void)mask;
    if (!tile_resolve((struct warp_ctx *)w, i, &t, true)) return;
    for (uint32_t r = 0; r < x->use_count; r++)
        for (uint32_t l = 0; l < WARP_LANES; l++) {
            uint64_t v = t.unit_bytes == 8 ? SLOT(const uint64_t, w, x->uses[r].slot)[l]
                                           : SLOT(const uint32_t, w, x->uses[r].slot)[l];
            for (uint32_t k = 0; k < t.packed; k++)
                unit_store(tile_address(m, &t, r, k, l), t.unit_bytes, v >> 8 * k * t.unit_bytes);
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
