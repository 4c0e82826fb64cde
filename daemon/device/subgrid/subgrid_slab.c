/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/subgrid/subgrid_slab.h"

#include <string.h>

void subgrid_slab_begin(struct subgrid_slabs *s, const uint32_t grid[3]) {
    *s = (struct subgrid_slabs){.dimension = 2};
    memcpy(s->grid, grid, sizeof(s->grid));
    while (s->dimension && grid[s->dimension] <= 1)
        s->dimension--;
}

uint32_t subgrid_slab_left(const struct subgrid_slabs *s) {
    return s->grid[s->dimension] - s->at;
}

void subgrid_slab_take(struct subgrid_slabs *s, uint64_t blocks, uint32_t first[3],
                       uint32_t grid[3]) {
    uint64_t each = 1;
    for (uint32_t d = 0; d < s->dimension; d++)
        each *= s->grid[d];
    uint64_t count = each ? blocks / each : 1, left = subgrid_slab_left(s);
    if (!count) count = 1;
    if (count > left) count = left;
    memcpy(grid, s->grid, sizeof(s->grid));
    memset(first, 0, sizeof(s->grid));
    first[s->dimension] = s->at;
    grid[s->dimension] = (uint32_t)count;
    s->at += (uint32_t)count;
}
