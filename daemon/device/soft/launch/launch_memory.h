/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory for launches: operations on their way, grids, and the contexts in which blocks run.
 * Blocks that were given back serve the next launch, so that a launch allocates nothing in the
 * steady state.
 *
 * Owner: the client's space. Threads: any; the lock is held for a look, and nothing is taken under
 * it.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_LAUNCH_MEMORY_H
#define DAEMON_DEVICE_SOFT_LAUNCH_LAUNCH_MEMORY_H

#include <pthread.h>
#include <stddef.h>

/* The alignment of all blocks: a cache line. More would put equal places of blocks into the same
 * sets of a cache.
 */
#define LAUNCH_MEMORY_ALIGN 64u
/* Free bytes above which all of them go back to the system. */
#define LAUNCH_MEMORY_KEPT (32u << 20)
#define LAUNCH_MEMORY_CLASSES 17u /* powers of two: 64 B to 4 MiB */

struct launch_memory {
    pthread_mutex_t lock; /* guards all that follows */
    struct launch_free *free[LAUNCH_MEMORY_CLASSES];
    size_t free_bytes;
};

void launch_memory_init(struct launch_memory *m);
/* All blocks were given back. */
void launch_memory_finish(struct launch_memory *m);

/* A block with anything in it; NULL when out of memory. A NULL `m` stands for the system's memory,
 * to which larger blocks belong as well. */
void *launch_memory_take(struct launch_memory *m, size_t bytes);
/* The same, filled with zeros. */
void *launch_memory_zeros(struct launch_memory *m, size_t bytes);
/* `bytes`: as many as were asked for. Accepts a NULL block. */
void launch_memory_give(struct launch_memory *m, void *block, size_t bytes);

#endif
