/* SPDX-License-Identifier: Apache-2.0
 *
 * A grid in slabs: split along its slowest dimension of more than one block (z, else y, else x), so
 * that blocks run in their usual order. Owner: the caller. Thread: any.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_SLAB_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_SLAB_H

#include <stdint.h>

struct subgrid_slabs {
    uint32_t grid[3];
    uint32_t dimension; /* the dimension along which it is split */
    uint32_t at;        /* the first index that was not taken */
};

/* Begins with no slab taken. */
void subgrid_slab_begin(struct subgrid_slabs *s, const uint32_t grid[3]);
/* Number of slabs left, each one block thick. */
uint32_t subgrid_slab_left(const struct subgrid_slabs *s);
/* Takes as many slabs as have at most `blocks` blocks, but at least one. Stores the first block and
 * the size of their grid. */
void subgrid_slab_take(struct subgrid_slabs *s, uint64_t blocks, uint32_t first[3],
                       uint32_t grid[3]);

#endif
