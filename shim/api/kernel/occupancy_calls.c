/* SPDX-License-Identifier: Apache-2.0
 *
 * The occupancy calls, by the rules of proto/cuda/occupancy.h.
 */
#include "shim/api/kernel/occupancy_calls.h"

#include "proto/cuda/occupancy.h"
#include "proto/gen/prototypes.h"
#include "shim/code/function.h"
#include "shim/code/resolve.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/device/device_view.h"

#define WARP 32u

/* Returns the unit of shared memory. It depends on the device, not on the capability that the job
 * asked for: the hardware is the same. */
static uint32_t shared_unit(void) {
    return occupancy_shared_unit(
        (uint32_t)device_view(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
}

uint32_t occupancy_calls_resident(const struct function *f, uint32_t threads, uint64_t dynamic) {
    const struct wire_device *d = &state.conn.device;
    const struct occupancy_sm sm = {.threads = d->threads_per_sm,
                                    .blocks = d->blocks_per_sm,
                                    .regs = d->regs_per_sm,
                                    .shared_bytes = d->shared_per_sm_bytes,
                                    .shared_reserved_bytes = d->shared_reserved_bytes,
                                    .shared_optin_bytes = d->shared_optin_bytes,
                                    .shared_unit = shared_unit()};
    const struct occupancy_block block = {threads, f->info.regs, f->info.shared_bytes + dynamic};
    if (threads > f->info.max_threads || dynamic > d->shared_optin_bytes) return 0;
    return occupancy_blocks(&sm, &block);
}

uint32_t occupancy_calls_part(const struct stream *s) {
    const struct context *c = !s || s->id == STREAM_LEGACY ? ctx_current() : NULL;
    uint32_t sms = c ? c->sms : s ? s->sms : 0;
    return sms ? sms : state.conn.device.sm_count;
}

static CUresult enter(CUfunction handle, struct function **f) {
    CUresult r = state_live();
    if (r) return r;
    *f = function_find(handle);
    return *f ? resolve_ready(*f) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!numBlocks || blockSize <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    *numBlocks = (int)occupancy_calls_resident(f, (uint32_t)blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, CU_OCCUPANCY_DEFAULT);
}

/* Finds the block size that keeps the most threads resident; the largest one of several. */
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
        uint32_t blocks = occupancy_calls_resident(f, threads, dynamic);
        if (blocks * threads <= best * best_blocks) continue;
        best = threads;
        best_blocks = blocks;
    }
    *blockSize = (int)best;
    *minGridSize = (int)(best_blocks * occupancy_calls_part(NULL));
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
    uint64_t unit = shared_unit();
    uint64_t share = d->shared_per_sm_bytes / (uint32_t)numBlocks / unit * unit;
    uint64_t taken = f->info.shared_bytes + d->shared_reserved_bytes;
    uint64_t most = d->shared_optin_bytes > f->info.shared_bytes
                        ? d->shared_optin_bytes - f->info.shared_bytes
                        : 0;
    uint64_t left = share > taken ? share - taken : 0;
    *dynamicSmemSize = left < most ? left : most;
    return CUDA_SUCCESS;
}
