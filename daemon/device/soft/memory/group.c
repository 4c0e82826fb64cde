/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads parts of the matrices that wgmma multiplies. A descriptor says where they are in shared
 * memory; the registers get the layout of mma. A matrix consists of pieces of 16 bytes: half a row
 * of a, or of b's columns; or, if it is stored by the other dimension, eight neighbours at one
 * index of the sum. Eight pieces make a register of the warp.
 */
#include "daemon/device/soft/memory/group.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/launch/warp.h"

#define PIECE 16 /* bytes */
#define PIECES 8
#define WARP_ROWS 16 /* rows of a for each warp */

/* Memory of a matrix. Source: "Matrix Descriptor Format", "Strides". */
struct area {
    uint32_t start, leading, stride; /* offset in shared memory; bytes */
    uint32_t span; /* bytes of a row of the swizzle's pattern; without swizzle of one piece */
    uint32_t base; /* row of the swizzle's pattern with which the matrix begins */
};

static struct area area_of(uint64_t descriptor) {
    static const uint8_t spans[] = {PIECE, 128, 64, 32};
    return (struct area){.start = (uint32_t)(descriptor & 0x3fff) << 4,
                         .leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
                         .stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4,
                         .span = spans[descriptor >> 62],
                         .base = (uint32_t)(descriptor >> 49 & 7)};
}

/* Offset of the piece with half `inner` of row (or column) `outer`. */
static uint32_t row_at(const struct area *a, uint32_t outer, uint32_t inner) {
    const uint32_t next = a->span == PIECE ? a->leading : PIECE;
    return outer / PIECES * a->stride + outer % PIECES * a->span + inner * next;
}

/* Offset of the piece of eight rows, from 8 * `group` on, at index `inner` (of 16) of the sum. */
static uint32_t turned_at(const struct area *a, uint32_t group, uint32_t inner) {
    const uint32_t in_span = a->span / PIECE, within = inner % PIECES * a->span;
    if (in_span == 1) return group * a->stride + within + inner / PIECES * a->leading;
    return group % in_span * PIECE + group / in_span * a->leading + within +
           inner / PIECES * a->stride;
}

/* Copies a piece. Returns false after a fault. */
static bool take_piece(struct warp_ctx *x, const struct code_inst *i, const struct area *a,
                       uint32_t offset, void *to) {
    uint32_t at = a->start + offset;
    at ^= (at >> 7 & (a->span / PIECE - 1)) << 4;
    if (at > x->shared_bytes || x->shared_bytes - at < PIECE) {
        warp_fault(&x->w, i, 0, ERR_ILLEGAL_ADDRESS, at, "outside the block's shared memory");
        return false;
    }
    memcpy(to, (const void *)(uintptr_t)(x->shared_base + at), PIECE);
    return true;
}

/* Loads half `inner` of eight rows. */
static bool load_rows(struct warp_ctx *x, const struct code_inst *i, const struct area *a,
                      uint32_t group, uint32_t inner, unsigned char *to) {
    for (uint32_t row = 0; row < PIECES; row++)
        if (!take_piece(x, i, a, row_at(a, group * PIECES + row, inner), to + row * PIECE))
            return false;
    return true;
}

/* Loads half `inner` of eight rows of 16-bit elements that are stored by the other dimension. */
static bool load_turned(struct warp_ctx *x, const struct code_inst *i, const struct area *a,
                        uint32_t group, uint32_t inner, unsigned char *to) {
    uint16_t from[PIECES][PIECES], rows[PIECES][PIECES];
    for (uint32_t k = 0; k < PIECES; k++)
        if (!take_piece(x, i, a, turned_at(a, group, inner * PIECES + k), from[k])) return false;
    for (unsigned row = 0; row < PIECES; row++)
        for (unsigned k = 0; k < PIECES; k++)
            rows[row][k] = from[k][row];
    memcpy(to, rows, sizeof(rows));
    return true;
}

/* Loads a part of b or a. code_inst.offset >= 0: the eight columns of b that begin there. Negative:
 * the warp's rows of a, alternately from its upper and its lower eight. code_inst.vec: stored by
 * the other dimension. The descriptor is the same in all lanes. */
void group_load(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const struct code_extra *e = i->extra;
    const struct area a = area_of(*SLOT(const uint64_t, w, i->a));
    const bool rows = i->offset < 0;
    const uint32_t first = rows ? x->id % 4 * WARP_ROWS : (uint32_t)i->offset;
    const uint32_t groups = rows ? WARP_ROWS / PIECES : 1;
    (void)mask;
    if (a.base)
        return warp_fault(w, i, 0, ERR_ILLEGAL_INSTRUCTION, a.base,
                          "a pattern that begins within a matrix is not supported");
    for (uint32_t r = 0; r < e->def_count; r++) {
        unsigned char *to = SLOT(unsigned char, w, e->defs[r].slot);
        const uint32_t group = first / PIECES + r % groups;
        if (!(i->vec ? load_turned : load_rows)(x, i, &a, group, r / groups, to)) return;
    }
}
