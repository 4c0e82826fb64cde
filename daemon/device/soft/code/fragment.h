/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions of a matrix's elements in the registers of a warp. PTX defines them for mma and leaves
 * them open for wmma; here a fragment of wmma is one or more fragments of mma side by side, as on
 * hardware from sm_80 on. Lane l is in row (or column) l / 4 of a group of eight and at position l
 * % 4 of it. Each register holds neighbours along the dimension that is summed over.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_FRAGMENT_H
#define DAEMON_DEVICE_SOFT_CODE_FRAGMENT_H

#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_matrix.h"

/* Number of elements in a register of 32 bits (64 bits for f64). Bits (b1) count as words of 32. */
static inline uint32_t fragment_packed(struct ptx_fragment f) {
    uint32_t bits = ptx_element_bits((enum ptx_element)f.element);
    return bits == 1 || bits >= 32 ? 1 : 32 / bits;
}

/* A factor's registers. `outer` is a's row or b's column, `inner` the index in the sum (in words
 * for bits), both for lane 0 and element 0. Lane l adds l / 4 and fragment_packed * (l % 4). */
struct fragment_factor {
    uint32_t halves; /* groups of eight in a block: 2 for a with 16 rows or more, else 1 */
    uint32_t block;  /* registers of a block */
    uint32_t unique; /* registers until values repeat */
};

static inline struct fragment_factor fragment_factor(const struct ptx_matrix *m, char part,
                                                     struct ptx_fragment f) {
    uint32_t outer = part == 'a' ? m->m : m->n, halves = part == 'a' && outer > 8 ? 2 : 1;
    uint32_t k = part == 'a' && m->sparse ? m->k / 2u : m->k;
    uint32_t bits = ptx_element_bits((enum ptx_element)f.element);
    uint32_t lane = outer * k * bits / 32, unique = lane / (bits == 64 ? 64 : 32);
    return (struct fragment_factor){halves, unique * 8 * halves / outer, unique};
}

static inline void fragment_factor_at(const struct fragment_factor *f, uint32_t packed,
                                      uint32_t reg, uint32_t *outer, uint32_t *inner) {
    uint32_t r = reg % f->unique, within = r % f->block;
    *outer = r / f->block * 8 * f->halves + within % f->halves * 8;
    *inner = within / f->halves * 4 * packed;
}

/* Gives the row and column of an element of a sum (c or d) for lane 0. Lane l adds l / 4 to the row
 * and 2 * (l % 4) to the column. `element` counts through all registers of a lane. */
static inline void fragment_sum_at(const struct ptx_matrix *m, uint32_t element, uint32_t *row,
                                   uint32_t *col) {
    uint32_t tall = m->m > 8 ? 16 : 8, each = tall / 4, block = element / each;
    *row = block % (m->m / tall) * tall + element % each / 2 * 8;
    *col = block / (m->m / tall) * 8 + element % 2;
}

/* Position of a register's units in memory: unit k of lane l is at (outer + l / 4, inner + l % 4 *
 * step + k). */
struct fragment_place {
    uint8_t outer, inner;
};

#define FRAGMENT_REGS_MOST 8

/* A matrix as wmma.load and wmma.store access it, in units. A unit is an element, or a whole
 * register if elements are smaller than a byte. */
struct fragment_tile {
    uint8_t lines, units, unit_bytes; /* lines: rows, or columns if it is stored by columns */
    uint8_t packed, step;             /* units of a register; step: units from lane to lane */
    uint8_t bits;                     /* size of an element; the stride counts elements */
    uint8_t unique;                   /* registers of a lane until their values repeat */
    /* true: fragment_place's `outer` numbers lines, `inner` the units in a line; false: reversed */
    bool of_lines;
    struct fragment_place place[FRAGMENT_REGS_MOST];
};

struct fragment_tile fragment_tile(const struct ptx_matrix *m);

#endif
