/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch whose kernel calls the device runtime, with all grids that come of it: it is one
 * operation of the device, complete when all of them are, and they take turns in its slices, so
 * that nobody else sees how many they are. The rules are those of CUDA's dynamic parallelism
 * (CDP2): a block has a stream of its own, grids make more of them, what a grid launches into its
 * tail begins when it and all else that it launched are complete, and what is launched and
 * forgotten begins at once. A grid is complete when all that it launched is.
 *
 * Threads: any, also many in one nest. The lock of a nest is held for a look, never while a grid
 * runs; under it a grid's own is taken.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_NEST_H
#define DAEMON_DEVICE_SOFT_RUNTIME_NEST_H

#include "daemon/device/soft/exec/grid.h"
#include "daemon/device/soft/memory/transfer.h"
#include "daemon/device/soft/runtime/runtime.h"

struct nest;
struct nested; /* one grid or transfer of it */

#define NEST_DEPTH_MAX 24u /* of launches within launches; a tail is as deep as what it follows */

/* ---- for those who run it: as grid.h has it -------------------------------------------------- */

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

/* Room for so many bytes of parameters of a grid to be launched; `shape` may be NULL: it is said at
 * the launch. What is never launched is lost until the nest ends. */
enum runtime_error nest_prepare(struct nested *self, const struct nest_shape *shape, uint64_t bytes,
                                uint64_t *params);
/* Launches what was prepared at `params`, of this shape if there is one. */
enum runtime_error nest_launch(struct nested *self, uint32_t slot, uint64_t params,
                               const struct nest_shape *shape, uint64_t stream);
enum runtime_error nest_transfer(struct nested *self, uint32_t slot, const struct transfer *t,
                                 uint64_t stream);

#endif
