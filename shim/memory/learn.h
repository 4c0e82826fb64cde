/* SPDX-License-Identifier: Apache-2.0
 *
 * Learns which allocations outlive an iteration. Allocations with the same key (learn_key) are
 * assumed to live alike. A key whose block was alive at a boundary once is persistent from then on
 * (Salus, section 3.2.1: memory is classified by its lifetime). A key that the program allocates by
 * the call for long-lived memory, and frees before the boundary twice in a row, is ephemeral.
 *
 * The worker finds boundaries later than the program sends. So both sides count the announced
 * blocks of the ephemeral window, and that count gives a boundary its position among them. The
 * results are hints: a wrong one costs memory or a copy, but never changes a result. Pure; bounded
 * tables, no allocation after learn_create. Not thread-safe: the caller locks.
 */
#ifndef SHIM_MEMORY_LEARN_H
#define SHIM_MEMORY_LEARN_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks that are remembered, alive or freed, until the next boundary judges them. */
#define LEARN_BLOCKS 16384u
#define LEARN_KEYS 4096u
/* Stands for the stream of memory that was allocated outside of streams. */
#define LEARN_NO_STREAM UINT32_MAX

struct learn;

/* The last launch, which identifies the position in the program. */
struct learn_launch {
    uint32_t func, grid[3], block[3];
};

int learn_create(struct learn **out); /* returns 0 or -ENOMEM */
void learn_destroy(struct learn *l);  /* accepts NULL */

uint64_t learn_key(uint64_t bytes, uint32_t stream, const struct learn_launch *latest,
                   uint64_t previous_bytes);

/* True when a block with this key should be ephemeral; `prior` when the key is unknown. */
bool learn_ephemeral(struct learn *l, uint64_t key, bool prior);

/* Note a block's allocation or free. Exactly the `ephemeral` blocks are announced to the worker.
 * Before any other block is freed, all operations sent before must be complete, and learn_boundary
 * called with the boundaries found until then. Unknown addresses are ignored. Before the first
 * boundary, blocks are counted but not remembered. */
void learn_born(struct learn *l, uint64_t addr, uint64_t key, bool ephemeral);
void learn_died(struct learn *l, uint64_t addr);

/* Notes that the program copies data into this block, or sets it. */
void learn_written(struct learn *l, uint64_t addr);

/* Notes the number of boundaries found so far. The latest came after `uses` announcements, and the
 * last launch before it after `filled`. A younger block holds no result, unless it was written to
 * otherwise, and belongs to the next iteration. */
void learn_boundary(struct learn *l, uint64_t boundaries, uint64_t uses, uint64_t filled);

#endif
