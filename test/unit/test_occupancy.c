/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks on a multiprocessor: worked out by hand, and beside NVIDIA's own header where the toolkit
 * is installed.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "common/occupancy.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define THEIRS 1
#endif

static const struct occupancy_sm sm90 = {.threads = 2048,
                                         .blocks = 32,
                                         .regs = 65536,
                                         .shared_bytes = 228 << 10,
                                         .shared_reserved_bytes = 1 << 10,
                                         .shared_optin_bytes = 227 << 10};

static uint32_t blocks_of(uint32_t threads, uint32_t regs, uint64_t shared_bytes) {
    struct occupancy_block block = {threads, regs, shared_bytes};
    return occupancy_blocks(&sm90, &block);
}

Test(occupancy, each_limit_alone) {
    cr_expect_eq(blocks_of(256, 32, 0), 8, "threads");
    cr_expect_eq(blocks_of(257, 16, 0), 7, "whole warps");
    cr_expect_eq(blocks_of(32, 16, 0), 32, "blocks");
    cr_expect_eq(blocks_of(256, 64, 0), 4, "registers");
    cr_expect_eq(blocks_of(256, 255, 0), 1);
    cr_expect_eq(blocks_of(256, 0, 0), 8, "a kernel has one register");
    cr_expect_eq(blocks_of(32, 104, 0), 16, "4 warps in each quarter, not 19 in all");
    cr_expect_eq(blocks_of(128, 16, 48 << 10), 4, "49 KiB of 228");
    cr_expect_eq(blocks_of(128, 16, 227 << 10), 1);
}

Test(occupancy, what_does_not_fit) {
    cr_expect_eq(blocks_of(0, 16, 0), 0);
    cr_expect_eq(blocks_of(2049, 16, 0), 0);
    cr_expect_eq(blocks_of(UINT32_MAX, 16, 0), 0);
    cr_expect_eq(blocks_of(1024, 65, 0), 0);
    cr_expect_eq(blocks_of(32, 256, 0), 0);
    cr_expect_eq(blocks_of(288, 200, 0), 0, "nine warps are checked as twelve");
    cr_expect_eq(blocks_of(32, 16, (227 << 10) + 1), 0);
    cr_expect_eq(blocks_of(32, 16, UINT64_MAX), 0);
    struct occupancy_sm unknown = {0};
    cr_expect_eq(occupancy_blocks(&unknown, &(struct occupancy_block){32, 16, 0}), 0);
}

Test(occupancy, multiprocessors_of_a_grid) {
    struct occupancy_block block = {256, 64, 0}, big = {1024, 65, 0}; /* 4 fit; none */
    cr_expect_eq(occupancy_sms(&sm90, &block, 0), 0);
    cr_expect_eq(occupancy_sms(&sm90, &block, 1), 1);
    cr_expect_eq(occupancy_sms(&sm90, &block, 4), 1);
    cr_expect_eq(occupancy_sms(&sm90, &block, 5), 2);
    cr_expect_eq(occupancy_sms(&sm90, &block, 1ull << 40), UINT32_MAX);
    cr_expect_eq(occupancy_sms(&sm90, &block, UINT64_MAX), UINT32_MAX);
    cr_expect_eq(occupancy_sms(&sm90, &big, 5), 0);
}

#ifdef THEIRS
static int theirs(int threads, int regs, size_t shared_bytes) {
    struct cudaOccDeviceProp device = {.computeMajor = 9,
                                       .maxThreadsPerBlock = 1024,
                                       .maxThreadsPerMultiprocessor = (int)sm90.threads,
                                       .regsPerBlock = (int)sm90.regs,
                                       .regsPerMultiprocessor = (int)sm90.regs,
                                       .warpSize = 32,
                                       .sharedMemPerBlock = 48 << 10,
                                       .sharedMemPerMultiprocessor = sm90.shared_bytes,
                                       .numSms = 16,
                                       .sharedMemPerBlockOptin = sm90.shared_optin_bytes,
                                       .reservedSharedMemPerBlock = sm90.shared_reserved_bytes};
    struct cudaOccFuncAttributes kernel = {
        .maxThreadsPerBlock = 1024,
        .numRegs = regs,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = sm90.shared_optin_bytes,
    };
    struct cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_SHARED,
                                       .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    struct cudaOccResult result;
    cudaOccError err = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
                                                               threads, shared_bytes);
    return err ? -(int)err : result.activeBlocksPerMultiprocessor;
}

Test(occupancy, as_the_toolkit_computes_it) {
    for (int threads = 1; threads <= 1024; threads += 13)
        for (int regs = 1; regs <= 255; regs++)
            for (size_t shared = 0; shared <= 227 << 10; shared += 9999)
                cr_assert_eq((int)blocks_of((uint32_t)threads, (uint32_t)regs, shared),
                             theirs(threads, regs, shared),
                             "%d threads, %d registers, %zu bytes: %u, not %d", threads, regs,
                             shared, blocks_of((uint32_t)threads, (uint32_t)regs, shared),
                             theirs(threads, regs, shared));
}
#else
Test(occupancy, as_the_toolkit_computes_it) {
    fprintf(stderr, "  SKIP    occupancy: no cuda_occupancy.h: rules not compared\n");
    cr_skip_test("no cuda_occupancy.h is installed");
}
#endif
