/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers are allocated to warps, in units of 256 and separately in each quarter of the
 * multiprocessor. Shared memory is allocated to blocks, in units of its own and with the system's
 * reserved part. Only the latter unit differs between the capabilities 7.0 and 12.1
 * (cuda_occupancy.h of CUDA 13.0: cudaOccRegAllocationGranularity,
 * cudaOccSubPartitionsPerMultiprocessor, cudaOccSMemAllocationGranularity).
 */
#include "proto/cuda/occupancy.h"

#define WARP 32u
#define QUARTERS 4u
#define WARP_REG_UNIT 256u
#define THREAD_REGS_MAX 255u

uint32_t occupancy_shared_unit(uint32_t cc_major) {
    return cc_major >= 8 ? 128 : 256;
}

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static uint64_t at_most(uint64_t value, uint64_t bound) {
    return bound < value ? bound : value;
}

/* A block must fit as if it took the same number of registers from all quarters, though it need
 * not. */
static uint64_t blocks_by_regs(const struct occupancy_sm *sm, uint64_t warps, uint32_t regs) {
    uint64_t warp_regs = round_up((uint64_t)regs * WARP, WARP_REG_UNIT);
    if (regs > THREAD_REGS_MAX || warp_regs * round_up(warps, QUARTERS) > sm->regs) return 0;
    return sm->regs / QUARTERS / warp_regs * QUARTERS / warps;
}

uint32_t occupancy_blocks(const struct occupancy_sm *sm, const struct occupancy_block *block) {
    uint64_t warps = round_up(block->threads, WARP) / WARP;
    if (warps == 0 || !sm->shared_unit || block->shared_bytes > sm->shared_optin_bytes) return 0;
    uint64_t blocks = at_most(sm->blocks, sm->threads / (warps * WARP));
    blocks = at_most(blocks, blocks_by_regs(sm, warps, block->regs ? block->regs : 1));
    uint64_t shared = round_up(block->shared_bytes + sm->shared_reserved_bytes, sm->shared_unit);
    return (uint32_t)(shared ? at_most(blocks, sm->shared_bytes / shared) : blocks);
}

uint32_t occupancy_sms(const struct occupancy_sm *sm, const struct occupancy_block *block,
                       uint64_t blocks) {
    uint64_t each = occupancy_blocks(sm, block);
    return each ? (uint32_t)at_most(blocks / each + (blocks % each != 0), UINT32_MAX) : 0;
}
