/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel launch in execution: its clusters are handed out to the device's threads and run in
 * slices, so that an endless kernel never holds a thread. Seam between the interpreter (cluster.h)
 * and the device's threads (pool.c).
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_GRID_H
#define DAEMON_DEVICE_SOFT_EXEC_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/launch/launch.h"

struct grid;

/* 0, -ENOMEM, or -EINVAL for impossible dimensions. */
int grid_create(struct grid **out, const struct launch_config *config);

enum grid_state {
    GRID_MORE, /* call again: this or another thread can do more now */
    GRID_IDLE, /* every cluster is taken by another thread; ask again after one of those steps
                  returned */
    GRID_DONE, /* all blocks have ended, or the grid failed or was cancelled and nobody is inside */
};

/* Runs a slice: takes a cluster that is suspended or not yet begun, and executes it for about
 * `budget` warp-instructions or to its end. Thread-safe; many threads may be inside one grid. */
enum grid_state grid_step(struct grid *g, uint32_t budget);
/* The same, of which others get what is left. */
enum grid_state grid_spend(struct grid *g, int64_t *left);

/* In the slice that ended last it did nothing but ask for what has not come, as far as can be told:
 * each turn of a block ended in waiting. */
bool grid_asked(struct grid *g);
/* Lets the grid's blocks go on as if they had just come to where they are: the first first, and
 * none in favour. So how often they asked in vain decides nothing. Not while a slice runs. */
void grid_settle(struct grid *g);

/* Blocks end at their next slice; the result becomes `err` (ERR_CANCELLED, ERR_KERNEL_TIMEOUT)
 * unless the grid had failed before. Thread-safe. */
void grid_cancel(struct grid *g, int err);

struct grid_result {
    int err; /* 0 or ERR_* */
    uint64_t fault_addr;
    char text[160]; /* what happened: block, thread, instruction, address */
    uint64_t warp_insts, thread_insts;
    uint64_t memory_bytes; /* of global memory, in whole sectors (sectors.h) */
};
/* After GRID_DONE. */
void grid_result(const struct grid *g, struct grid_result *out);
void grid_destroy(struct grid *g);

#endif
