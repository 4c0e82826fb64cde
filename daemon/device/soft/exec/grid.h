/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel launch in execution. The device's threads take its clusters and run them in slices, so
 * that an endless kernel never holds a thread. This is the seam between the interpreter (cluster.h)
 * and the device's threads (pool.c).
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_GRID_H
#define DAEMON_DEVICE_SOFT_EXEC_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/launch/launch.h"

struct grid;

/* Returns 0, -ENOMEM, or -EINVAL for impossible dimensions. */
int grid_create(struct grid **out, const struct launch_config *config);

enum grid_state {
    GRID_MORE, /* call again: this or another thread can do more now */
    /* Other threads hold every cluster; ask again after one of their steps has returned. */
    GRID_IDLE,
    /* All blocks have ended, or the grid failed or was cancelled, and no thread is inside. */
    GRID_DONE,
};

/* Runs a slice: takes clusters that are suspended or have not begun, one after the other, and
 * executes about `budget` warp-instructions in all. Thread-safe; many threads may be inside one
 * grid. */
enum grid_state grid_step(struct grid *g, uint32_t budget);
/* As grid_step, but takes the budget from `*left` and leaves the unused rest there for others. */
enum grid_state grid_spend(struct grid *g, int64_t *left);

/* True if the grid only polled in the slice that ended last, as far as can be known: each turn of a
 * block ended in waiting for something that did not come. */
bool grid_asked(struct grid *g);
/* Resets the order of the grid's blocks and warps: the first goes first, and no lane is preferred.
 * The number of vain polls before this call then has no effect. Must not be called while a slice
 * runs. */
void grid_settle(struct grid *g);

/* Blocks end at their next slice. The result becomes `err` (ERR_CANCELLED, ERR_KERNEL_TIMEOUT)
 * unless the grid had failed or ended before. Thread-safe. */
void grid_cancel(struct grid *g, int err);

struct grid_result {
    int err; /* 0 or ERR_* */
    uint64_t fault_addr;
    char text[160]; /* the failure: block, thread, instruction, address */
    uint64_t warp_insts, thread_insts;
    uint64_t memory_bytes; /* global memory traffic in whole sectors (sectors.h) */
};
/* Valid after GRID_DONE. */
void grid_result(const struct grid *g, struct grid_result *out);
void grid_destroy(struct grid *g);

#endif
