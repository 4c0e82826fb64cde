/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch tree (`struct nest`): a launch whose kernel calls the device runtime, with all grids
 * that result from it. It is one operation of the device, complete when all its grids are. The
 * grids take turns in its slices, so that other clients do not notice their number. The rules are
 * those of CUDA's dynamic parallelism (CDP2). A block has its own stream, and grids can create
 * more. A launch into a grid's tail stream begins when the grid and everything else that it
 * launched are complete. A fire-and-forget launch begins at once. A grid is complete when
 * everything that it launched is complete.
 *
 * Threads: any, also many in one tree. The tree's lock is held only briefly, never while a grid
 * runs. Lock order: the tree's, then a grid's own.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_NEST_H
#define DAEMON_DEVICE_SOFT_RUNTIME_NEST_H

#include "daemon/device/soft/exec/grid.h"
#include "daemon/device/soft/memory/transfer.h"
#include "daemon/device/soft/runtime/runtime.h"

struct nest;
struct nested; /* one grid or transfer of a launch tree */

/* Launches within launches; a tail is as deep as the grid that it follows. */
#define NEST_DEPTH_MAX 24u

/* ---- for the device's threads, with grid.h's meaning ----------------------------------------- */

int nest_create(struct nest **out, const struct launch_config *config);
enum grid_state nest_step(struct nest *n, uint32_t budget);
bool nest_asked(const struct nest *n);
void nest_settle(struct nest *n);
void nest_cancel(struct nest *n, int err);
void nest_result(struct nest *n, struct grid_result *out);
void nest_destroy(struct nest *n);

/* ---- for kernels: `self` is the grid that asks, `slot` its block's context ------------------- */

struct nest_shape {
    struct code_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */
};

/* Reserves memory for this many bytes of parameters of a grid to be launched. `shape` may be
 * NULL if the launch gives it. Memory that is never launched is lost until the launch tree ends. */
enum runtime_error nest_prepare(struct nested *self, const struct nest_shape *shape, uint64_t bytes,
                                uint64_t *params);
/* Launches the grid prepared at `params`, with this shape if it is not NULL. */
enum runtime_error nest_launch(struct nested *self, uint32_t slot, uint64_t params,
                               const struct nest_shape *shape, uint64_t stream);
enum runtime_error nest_transfer(struct nested *self, uint32_t slot, const struct transfer *t,
                                 uint64_t stream);

#endif
