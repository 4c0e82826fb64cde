/* SPDX-License-Identifier: Apache-2.0
 *
 * What a lane may touch: accesses held against the memory of the client, the block and the lane.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_MEM_H
#define DAEMON_DEVICE_SOFT_MEMORY_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Checks one access of a lane at a generic address, slowly. */
bool mem_lane_ok(struct warp_ctx *x, uint32_t lane, uint64_t addr, uint64_t bytes, bool write);
/* The same for all lanes of `mask`, after the quick check failed: finds the faulty one, or moves
 * the cached range; and says in x->global which of them touch global memory. False after a fault.
 */
bool mem_check(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, const uint64_t *at,
               uint32_t bytes, bool write);

/* Addresses of the lanes of `mask` for an access of `bytes` bytes a lane, in any space, checked.
 * False after a fault; x->global as by mem_check. `at` is aligned to 64; lanes outside the mask get
 * no meaningful address. */
bool mem_resolve(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint32_t bytes,
                 bool write, uint64_t *at);

/* Whether all of a range is the client's own, by the same cache. */
bool mem_owns(struct warp_ctx *x, const struct code_inst *i, uint64_t addr, uint64_t bytes);

/* The addresses of `count` lines (32 at most) of `bytes` each, `pitch` apart, from lane 0's address
 * on, in shared or global memory, checked and counted. False after a fault. */
bool mem_lines(struct warp_ctx *x, const struct code_inst *i, uint32_t count, uint64_t bytes,
               uint64_t pitch, uint32_t align, bool write, uint64_t *at);

/* A lane's copy of `count` bytes, fewer than i->d_bytes, and zeros behind them. `to` was checked;
 * false after a fault, else x->global has the lane if it read global memory. */
bool mem_copy_part(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t to,
                   uint64_t from, uint32_t count);

/* Whether all of it lies in the shared memory of one block of the cluster. */
bool mem_in_cluster(const struct warp_ctx *x, uint64_t addr, uint64_t bytes);

/* Counts the sectors that the lanes of x->global touch. */
void mem_count(struct warp_ctx *x, const uint64_t *at);
/* Accesses that hit `window` count as traffic of global memory. */
static inline bool mem_counted(const struct warp_ctx *x, const struct code_inst *i,
                               const struct range *window) {
    return window->lo - x->cluster_base >= x->cluster_bytes && !(i->target & CODE_CONSTANT);
}

#endif
