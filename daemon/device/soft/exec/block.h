/* SPDX-License-Identifier: Apache-2.0
 *
 * Execution contexts for blocks. A context takes its memory once and runs many blocks, one after
 * the other. Owner: the cluster. Thread: one at a time.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_BLOCK_H
#define DAEMON_DEVICE_SOFT_EXEC_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/launch.h"

struct block;
struct cluster;

/* Result of block_run. BLOCK_MORE: the budget is used up, or the launch is to stop. BLOCK_ENDED:
 * all threads have exited, or the block faulted. BLOCK_SPINS: the block only polls for something
 * that another block has not done yet. BLOCK_WAITS: the block cannot continue until a block of its
 * cluster acts. */
enum block_outcome { BLOCK_MORE, BLOCK_SPINS, BLOCK_WAITS, BLOCK_ENDED };

/* Returns NULL when out of memory. `slot` is the index of this context among the launch's
 * contexts. */
struct block *block_create(struct cluster *cluster, uint32_t rank, uint32_t slot);
void block_destroy(struct block *b);
/* Starts the block that has this context's rank in the cluster that now runs. */
void block_begin(struct block *b);
/* Runs about *budget warp-instructions (the last quantum may exceed it) and subtracts the ones it
 * used. */
enum block_outcome block_run(struct block *b, int64_t *budget);
/* Resets the order of the block's warps, so that they continue as if none had had a turn before. */
void block_settle(struct block *b);
/* True if some threads of the block have not exited. */
bool block_live(const struct block *b);
/* Called when the block and all of its cluster wait. Completes one warp-wide operation without the
 * lanes that will never arrive (divergent code whose member mask was too large). Returns false if
 * there is no such operation. */
bool block_unstick(struct block *b);
/* Makes the block fault because it waits forever. */
void block_deadlock(struct block *b);

/* Bytes of memory that a context may take, not counting the frames of functions that the kernel
 * calls. */
uint64_t block_bytes(const struct launch_config *config);
/* Bytes to reserve for the shared memory of a block, and their alignment. */
uint64_t block_shared_room(const struct launch_config *config);
uint64_t block_shared_align(const struct launch_config *config);

#endif
