/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels may be launched in parts, each of some of the grid's blocks, one behind the other:
 * those that cannot tell. A part is a grid of its own, so that its blocks are not there together
 * with those of others, and it is made from a second module, where its first block's index and the
 * size of the whole grid are more parameters (subgrid_rewrite.h). What a kernel could see of that,
 * or have twice by it, is refused.
 *
 * Threads: any; the function is read only.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

#define SUBGRID_PARAMS 6u /* of 4 bytes each: x, y and z of the first block, then of the grid */
/* Of the kernel's own parameters: with ours they are no more than what every driver takes. */
#define SUBGRID_PARAM_BYTES (4096u - 4 * SUBGRID_PARAMS)

/* False: it may not, with `why` (>= 160 bytes) for people. How it is launched is not asked: not as
 * a cluster, nor cooperatively, nor as part of a graph that it may change. */
bool subgrid_may(const struct ptx_func *kernel, char *why, size_t why_bytes);

/* Where its parts find these, behind parameters of so many bytes. */
static inline uint32_t subgrid_param_at(uint32_t param_bytes) {
    return (param_bytes + 3) & ~3u;
}

#endif
