/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the kernels that may be launched in parts, one after the other, because they cannot tell
 * the difference. A part is a grid of its own with some of the grid's blocks, so its blocks never
 * run together with those of other parts. It is made from a second module, where its first block's
 * index and the size of the whole grid are additional parameters (subgrid_rewrite.h). A kernel is
 * refused if it could notice that, or would have something twice.
 *
 * Threads: any; the function is read only.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* Number of our parameters, 4 bytes each: x, y and z of the first block, then of the grid. */
#define SUBGRID_PARAMS 6u
/* Most bytes of the kernel's own parameters; with ours it is 4096, which every driver takes. */
#define SUBGRID_PARAM_BYTES (4096u - 4 * SUBGRID_PARAMS)

/* False: the kernel may not be split, with `why` (>= 160 bytes) for people. The launch is not
 * checked here: it must not use clusters, be cooperative, or be part of a graph that the kernel may
 * change. */
bool subgrid_may(const struct ptx_func *kernel, char *why, size_t why_bytes);

/* Offset of our parameters behind `param_bytes` of the kernel's own. */
static inline uint32_t subgrid_param_at(uint32_t param_bytes) {
    return (param_bytes + 3) & ~3u;
}

#endif
