/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster in execution, for the files of exec/ that run its parts: blocks that run concurrently,
 * meet at barriers of their own and access each other's shared memory. One thread runs all of them
 * in turn, so that nothing here needs atomics. A launch without clusters has clusters of one block.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_CLUSTER_STATE_H
#define DAEMON_DEVICE_SOFT_LAUNCH_CLUSTER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/block_state.h"

struct cluster {
    struct launch *launch;
    uint32_t index[3];   /* position in the grid, in clusters */
    uint64_t linear;     /* the cluster's number in the grid, x fastest */
    uint32_t size;       /* blocks */
    uint32_t next_block; /* round robin */
    /* calls of cluster_run since the count was last set to 0 (grid.c: GRID_PATIENCE) */
    uint32_t slices;
    unsigned char *shared;  /* shared memory of the blocks by rank, shared_stride apart */
    uint64_t shared_stride; /* bytes */
    void *shared_block;     /* allocation that contains `shared`: shared_room bytes */
    uint64_t shared_room;
    struct cluster *next;   /* link in the grid's lists */
    struct block *blocks[]; /* indexed by rank */
};

/* Offsets in the shared memory of a cluster, as kernels see them. An offset is in the block's own
 * memory, or has (rank + 1) from this bit on and is in the memory of the block of that rank. No
 * block has so much shared memory that the two overlap. */
#define CLUSTER_RANK_BIT 24

/* True if an address lies in the shared memory of a block of the cluster; gives the block's rank
 * and the offset. */
static inline bool cluster_find(const struct cluster *c, uint64_t addr, uint32_t *rank,
                                uint64_t *offset) {
    uint64_t at = addr - (uint64_t)(uintptr_t)c->shared;
    *rank = (uint32_t)(at / c->shared_stride);
    *offset = at % c->shared_stride;
    return at < c->size * c->shared_stride && *offset < c->blocks[0]->shared_bytes;
}

/* Address of a byte of a block's shared memory. */
static inline uint64_t cluster_address(const struct cluster *c, uint32_t rank, uint64_t offset) {
    return (uint64_t)(uintptr_t)c->shared + rank * c->shared_stride + offset;
}

/* Address of an offset as used by the kernel in block `own`. If no block has the rank, the address
 * is in no block. */
static inline uint64_t cluster_of_offset(const struct cluster *c, uint32_t own, uint64_t offset) {
    uint64_t rank = offset >> CLUSTER_RANK_BIT, within = offset & ((1u << CLUSTER_RANK_BIT) - 1);
    return cluster_address(c, rank ? (uint32_t)rank - 1 : own, within);
}

#endif
