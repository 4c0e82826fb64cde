/* SPDX-License-Identifier: Apache-2.0
 *
 * Which allocations outlive an iteration. Allocations that look the same (see learn_key) are
 * taken to live alike. What was alive at a boundary once is persistent from then on (Salus, section
 * 3.2.1: memory is told apart by its lifetime); what the program asks for with the call for
 * long-lived memory, yet gives back before the boundary twice in a row, is ephemeral.
 *
 * Boundaries are found by the worker, later than the program sends: both sides count the blocks of
 * the ephemeral window that were announced, and by that number a boundary has a place among them.
 * All of it is a hint: wrong, it costs memory or a copy, never a result.
 *
 * Pure; bounded tables, no allocation after learn_create. Not thread-safe: the caller locks.
 */
#ifndef SHIM_MEMORY_LEARN_H
#define SHIM_MEMORY_LEARN_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks that are remembered, alive or freed, until the next boundary says what they were. */
#define LEARN_BLOCKS 16384u
#define LEARN_KEYS 4096u
/* In place of a stream, for memory that was allocated outside of any. */
#define LEARN_NO_STREAM UINT32_MAX

struct learn;

/* What was launched last: stands for the place in the program. */
struct learn_launch {
    uint32_t func, grid[3], block[3];
};

int learn_create(struct learn **out); /* 0 or -ENOMEM */
void learn_destroy(struct learn *l);  /* accepts NULL */

uint64_t learn_key(uint64_t bytes, uint32_t stream, const struct learn_launch *latest,
                   uint64_t previous_bytes);

/* Where a block with this key belongs; `prior` where nothing is known of it. */
bool learn_ephemeral(struct learn *l, uint64_t key, bool prior);

/* A block was placed, or freed. Those that are `ephemeral` are exactly those that are announced.
 * Before a block of the other window dies, all that was sent before must be complete, and the
 * boundaries found until then be told; unknown addresses are ignored. Before the first boundary
 * there is no iteration, and blocks are counted but not remembered. */
void learn_born(struct learn *l, uint64_t addr, uint64_t key, bool ephemeral);
void learn_died(struct learn *l, uint64_t addr);

/* The program copies something into this block, or sets it. */
void learn_written(struct learn *l, uint64_t addr);

/* So many boundaries were found so far. The latest came after `uses` announcements, and the last
 * launch before it after `filled`: a block that is younger holds no result, unless it was written
 * to otherwise, and belongs to the iteration that begins. */
void learn_boundary(struct learn *l, uint64_t boundaries, uint64_t uses, uint64_t filled);

#endif
