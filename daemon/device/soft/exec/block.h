/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts in which blocks run, one after the other: memory is taken once and serves many. Owner:
 * the grid. Thread: one at a time.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_BLOCK_H
#define DAEMON_DEVICE_SOFT_EXEC_BLOCK_H

#include <stdint.h>

#include "daemon/device/soft/exec/launch.h"

struct block;

/* BLOCK_ENDED: also after a fault. BLOCK_SPINS: all it can do is wait for another block. */
enum block_outcome { BLOCK_MORE, BLOCK_SPINS, BLOCK_ENDED };

/* NULL when out of memory. `slot`: which of the launch's contexts this is. */
struct block *block_create(struct launch *launch, uint32_t slot);
void block_destroy(struct block *b);
void block_begin(struct block *b, uint64_t linear_index);
/* For `budget` warp-instructions, of which the used ones are taken off. */
enum block_outcome block_run(struct block *b, int64_t *budget);
/* Bytes of memory that a context may come to hold, recursion aside. */
uint64_t block_bytes(const struct launch_config *config);

#endif
