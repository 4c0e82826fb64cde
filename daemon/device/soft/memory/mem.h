/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks what a lane may touch: the memory of the client, the block and the lane.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_MEM_H
#define DAEMON_DEVICE_SOFT_MEMORY_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* True if a lane may access these bytes at a generic address. Slow. */
bool mem_lane_ok(struct warp_ctx *x, uint32_t lane, uint64_t addr, uint64_t bytes, bool write);
/* Checks the accesses of all lanes of `mask` after the fast check failed: finds the faulty lane, or
 * updates the cached range. Sets x->global to the lanes that touch global memory. Returns false
 * after a fault. */
bool mem_check(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, const uint64_t *at,
               uint32_t bytes, bool write);

/* Computes and checks the addresses of the lanes of `mask` for an access of `bytes` bytes per lane,
 * in any space. Returns false after a fault; sets x->global like mem_check. `at` is 64-byte
 * aligned; the addresses of lanes outside the mask are meaningless. */
bool mem_resolve(struct warp_ctx *x, const struct code_inst *i, uint32_t mask, uint32_t bytes,
                 bool write, uint64_t *at);

/* True if the client owns the whole range. Looks in the instruction's window first, and updates
 * it. */
bool mem_owns(struct warp_ctx *x, const struct code_inst *i, uint64_t addr, uint64_t bytes);

/* Computes, checks and counts the addresses of `count` lines (at most 32) of `bytes` each, `pitch`
 * apart and aligned to `align`, beginning at lane 0's address, in shared memory or at a generic
 * address. Returns false after a fault. */
bool mem_lines(struct warp_ctx *x, const struct code_inst *i, uint32_t count, uint64_t bytes,
               uint64_t pitch, uint32_t align, bool write, uint64_t *at);

/* Copies `count` bytes, fewer than i->d_bytes, for one lane and appends zeros. The caller has
 * checked `to`. Returns false after a fault; else x->global has the lane if it read global
 * memory. */
bool mem_copy_part(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t to,
                   uint64_t from, uint32_t count);

/* True if the whole access is in the shared memory of one block of the cluster. */
bool mem_in_cluster(const struct warp_ctx *x, uint64_t addr, uint64_t bytes);

/* Counts the sectors that the lanes of x->global touch. */
void mem_count(struct warp_ctx *x, const uint64_t *at);
/* True if accesses that hit `window` count as traffic of global memory. */
static inline bool mem_counted(const struct warp_ctx *x, const struct code_inst *i,
                               const struct range *window) {
    return window->lo - x->cluster_base >= x->cluster_bytes && !(i->target & CODE_CONSTANT);
}

#endif
