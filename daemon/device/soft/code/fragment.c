/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/code/fragment.h"

static struct fragment_place place_of(const struct ptx_matrix *m, uint32_t packed, uint32_t reg) {
    uint32_t outer, inner;
    if (m->part == 'c') {
        fragment_sum_at(m, reg * packed, &outer, &inner);
    } else {
        const struct fragment_factor f = fragment_factor(m, m->part, m->d);
        fragment_factor_at(&f, packed, reg, &outer, &inner);
    }
    return (struct fragment_place){(uint8_t)outer, (uint8_t)inner};
}

struct fragment_tile fragment_tile(const struct ptx_matrix *m) {
    const uint32_t outer = m->part == 'b' ? m->n : m->m, bits = ptx_element_bits(m->d.element);
    const bool sum = m->part == 'c', small = bits < 8;
    const uint32_t inner = sum ? m->n : m->k, packed = small ? 1 : fragment_packed(m->d);
    const bool lines = m->part == 'b' ? m->a_col : !m->a_col;
    const uint32_t units = small ? inner * bits / 32 : inner;
    struct fragment_tile t = {.lines = (uint8_t)(lines ? outer : units),
                              .units = (uint8_t)(lines ? units : outer),
                              .unit_bytes = (uint8_t)(small ? 4 : bits / 8),
                              .packed = (uint8_t)packed,
                              .step = (uint8_t)(sum ? 2 : packed),
                              .bits = (uint8_t)bits,
                              .of_lines = lines};
    t.unique = sum ? m->d.regs : (uint8_t)fragment_factor(m, m->part, m->d).unique;
    for (uint32_t r = 0; r < t.unique && r < FRAGMENT_REGS_MOST; r++)
        t.place[r] = place_of(m, packed, r);
    return t;
}
