/* SPDX-License-Identifier: Apache-2.0
 *
 * The occupancy rules of NVIDIA's documentation for compute capability 9: registers are given to
 * warps in units of 256, shared memory to blocks in units of 128 bytes plus what the system keeps.
 */
#include "shim/occupancy.h"

#include "proto/gen/prototypes.h"
#include "shim/ctx.h"
#include "shim/function.h"

#define WARP 32u
#define WARP_REG_UNIT 256u
#define SHARED_UNIT 128u

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static uint32_t at_most(uint32_t value, uint64_t bound) {
    return bound < value ? (uint32_t)bound : value;
}

uint32_t occupancy_blocks(const struct function *f, uint32_t threads, uint64_t dynamic) {
    const struct wire_device *d = &state.conn.device;
    uint32_t warps = (threads + WARP - 1) / WARP;
    uint32_t regs = f->info.regs ? f->info.regs : 1;
    if (threads == 0 || threads > f->info.max_threads) return 0;
    uint64_t shared = f->info.shared_bytes + dynamic;
    if (shared > d->shared_optin_bytes) return 0;
    uint32_t blocks = at_most(d->blocks_per_sm, d->threads_per_sm / (warps * WARP));
    uint64_t block_regs = warps * round_up((uint64_t)regs * WARP, WARP_REG_UNIT);
    blocks = at_most(blocks, d->regs_per_sm / block_regs);
    uint64_t block_shared = round_up(shared + d->shared_reserved_bytes, SHARED_UNIT);
    return block_shared ? at_most(blocks, d->shared_per_sm_bytes / block_shared) : blocks;
}

static CUresult enter(CUfunction handle, struct function **f) {
    CUresult r = state_live();
    if (r) return r;
    *f = function_find(handle);
    return *f ? function_ready(*f) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!numBlocks || blockSize <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    *numBlocks = (int)occupancy_blocks(f, (uint32_t)blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, CU_OCCUPANCY_DEFAULT);
}

/* The block size that keeps the most threads resident; of equals the largest. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                   CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!minGridSize || !blockSize || blockSizeLimit < 0) return CUDA_ERROR_INVALID_VALUE;
    uint32_t limit = f->info.max_threads, best = 0, best_blocks = 0;
    if (blockSizeLimit > 0 && (uint32_t)blockSizeLimit < limit) limit = (uint32_t)blockSizeLimit;
    for (uint32_t size = (limit + WARP - 1) / WARP * WARP; size > 0; size -= WARP) {
        uint32_t threads = size < limit ? size : limit;
        size_t dynamic =
            blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize((int)threads) : dynamicSMemSize;
        uint32_t blocks = occupancy_blocks(f, threads, dynamic);
        if (blocks * threads <= best * best_blocks) continue;
        best = threads;
        best_blocks = blocks;
    }
    *blockSize = (int)best;
    *minGridSize = (int)(best_blocks * state.conn.device.sm_count);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                     blockSizeToDynamicSMemSize, dynamicSMemSize,
                                                     blockSizeLimit, CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                 int numBlocks, int blockSize) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
    const struct wire_device *d = &state.conn.device;
    uint64_t share = d->shared_per_sm_bytes / (uint32_t)numBlocks / SHARED_UNIT * SHARED_UNIT;
    uint64_t taken = f->info.shared_bytes + d->shared_reserved_bytes;
    uint64_t most = d->shared_optin_bytes > f->info.shared_bytes
                        ? d->shared_optin_bytes - f->info.shared_bytes
                        : 0;
    uint64_t left = share > taken ? share - taken : 0;
    *dynamicSmemSize = left < most ? left : most;
    return CUDA_SUCCESS;
}

/* Clusters of one block are all that the device runs. */
CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                            const CUlaunchConfig *config) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!clusterSize || !config) return CUDA_ERROR_INVALID_VALUE;
    *clusterSize = 1;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                      const CUlaunchConfig *config) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!numClusters || !config) return CUDA_ERROR_INVALID_VALUE;
    uint32_t threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    *numClusters =
        (int)(occupancy_blocks(f, threads, config->sharedMemBytes) * state.conn.device.sm_count);
    return CUDA_SUCCESS;
}
