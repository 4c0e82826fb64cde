/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory for launches: operations in flight, grids, and the contexts in which blocks run.
 * Blocks that were given back serve the next launch, so that launches allocate nothing in the
 * steady state.
 *
 * Owner: the client's space. Threads: any. The lock is held only briefly, and no other lock is
 * taken under it.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_LAUNCH_MEMORY_H
#define DAEMON_DEVICE_SOFT_LAUNCH_LAUNCH_MEMORY_H

#include <pthread.h>
#include <stddef.h>

/* Alignment of all blocks: a cache line. A larger one would map equal offsets of blocks to the same
 * cache sets. */
#define LAUNCH_MEMORY_ALIGN 64u
/* Limit of free bytes. When a block that is given back would exceed it, all other free blocks go to
 * the system. */
#define LAUNCH_MEMORY_KEPT (32u << 20)
#define LAUNCH_MEMORY_CLASSES 17u /* powers of two: 64 B to 4 MiB */

struct launch_memory {
    pthread_mutex_t lock; /* guards the fields below */
    struct launch_free *free[LAUNCH_MEMORY_CLASSES];
    size_t free_bytes;
};

void launch_memory_init(struct launch_memory *m);
/* All blocks must have been given back. */
void launch_memory_finish(struct launch_memory *m);

/* Returns a block with undefined contents, or NULL when out of memory. With `m` NULL, and for more
 * than 4 MiB, the block comes from the system. */
void *launch_memory_take(struct launch_memory *m, size_t bytes);
/* As launch_memory_take, filled with zeros. */
void *launch_memory_zeros(struct launch_memory *m, size_t bytes);
/* Takes a block back, into a free list or for the system. `bytes` is the size that was requested.
 * Accepts a NULL block. */
void launch_memory_give(struct launch_memory *m, void *block, size_t bytes);

#endif
