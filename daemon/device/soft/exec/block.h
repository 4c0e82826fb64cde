/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts in which blocks run, one after the other: memory is taken once and serves many. Owner:
 * the cluster. Thread: one at a time.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_BLOCK_H
#define DAEMON_DEVICE_SOFT_EXEC_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/launch.h"

struct block;
struct cluster;

/* BLOCK_ENDED: also after a fault. BLOCK_SPINS: all it can do is ask again for what another block
 * has not done yet. BLOCK_WAITS: it can do nothing, until a block of its cluster does. */
enum block_outcome { BLOCK_MORE, BLOCK_SPINS, BLOCK_WAITS, BLOCK_ENDED };

/* NULL when out of memory. `slot`: which of the launch's contexts this is. */
struct block *block_create(struct cluster *cluster, uint32_t rank, uint32_t slot);
void block_destroy(struct block *b);
/* The one that its rank is in the cluster's present place. */
void block_begin(struct block *b);
/* For `budget` warp-instructions, of which the used ones are taken off. */
enum block_outcome block_run(struct block *b, int64_t *budget);
/* Lets the block's warps go on as if none had had a turn before. */
void block_settle(struct block *b);
/* True if threads of it have not exited. */
bool block_live(const struct block *b);
/* When it and all of its cluster wait. Lets lanes meet without those that will never come (a
 * warp-wide operation in divergent code whose mask was too large); false: there are none. */
bool block_unstick(struct block *b);
/* Makes it a fault that it waits for good. */
void block_deadlock(struct block *b);

/* Bytes of memory that a context may come to hold, recursion aside. */
uint64_t block_bytes(const struct launch_config *config);
/* Room for the shared memory of a block, and how it is aligned. */
uint64_t block_shared_room(const struct launch_config *config);
uint64_t block_shared_align(const struct launch_config *config);

#endif
