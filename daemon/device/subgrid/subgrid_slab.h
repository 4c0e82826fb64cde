/* SPDX-License-Identifier: Apache-2.0
 *
 * A grid in slabs: cut along its slowest dimension of more than one block (z, else y, else x), so
 * that blocks go in the order in which they would. Owner: the caller. Thread: any.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_SLAB_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_SLAB_H

#include <stdint.h>

struct subgrid_slabs {
    uint32_t grid[3];
    uint32_t dimension; /* along which it is cut */
    uint32_t at;        /* the first of it that was not taken */
};

/* None is taken. */
void subgrid_slab_begin(struct subgrid_slabs *s, const uint32_t grid[3]);
/* How many are left. */
uint32_t subgrid_slab_left(const struct subgrid_slabs *s);
/* Takes as many as have no more than `blocks`, one at least; where they begin and their grid. */
void subgrid_slab_take(struct subgrid_slabs *s, uint64_t blocks, uint32_t first[3],
                       uint32_t grid[3]);

#endif
