/* SPDX-License-Identifier: Apache-2.0
 *
 * Freed blocks of a stream-ordered pool. A block freed in a stream is free at once for that stream,
 * because its next use runs later there; for other streams, when that stream has completed the
 * block's last use. Pure: a function tells the progress of streams. Not thread-safe: the caller
 * locks.
 */
#ifndef SHIM_MEMORY_BINS_H
#define SHIM_MEMORY_BINS_H

#include <stdbool.h>
#include <stdint.h>

struct bins_block {
    uint64_t addr, capacity;
    uint64_t seq; /* the last use in `stream` */
    uint32_t stream;
};

struct bins {
    struct bin {
        uint64_t capacity;
        struct bins_block *blocks;
        uint32_t count, cap;
    } * bins; /* one for each capacity; programs use few */
    uint32_t count, cap;
    uint64_t bytes; /* bytes in all bins */
};

typedef bool (*bins_done)(uint32_t stream, uint64_t seq);

void bins_finish(struct bins *b);

/* Stores a freed block. Returns 0, or -ENOMEM with the block not stored. */
int bins_put(struct bins *b, const struct bins_block *block);

/* Takes a block of exactly `capacity` that `stream` may use now; false when there is none. */
bool bins_take(struct bins *b, uint64_t capacity, uint32_t stream, bins_done done, uint64_t *addr);

/* Takes any block whose last use is complete, to free its memory; false when there is none. */
bool bins_reclaim(struct bins *b, bins_done done, struct bins_block *out);

#endif
