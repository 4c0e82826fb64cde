/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks on a multiprocessor: results computed by hand, and compared with NVIDIA's own header where
 * the toolkit is installed.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "proto/cuda/occupancy.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define THEIRS 1
#endif

static const struct occupancy_sm sm90 = {.threads = 2048,
                                         .blocks = 32,
                                         .regs = 65536,
                                         .shared_bytes = 228 << 10,
                                         .shared_reserved_bytes = 1 << 10,
                                         .shared_optin_bytes = 227 << 10,
                                         .shared_unit = 128};

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
    struct occupancy_sm unknown = {0}; /* the result is 0, without a division by zero */
    cr_expect_eq(occupancy_blocks(&unknown, &(struct occupancy_block){32, 16, 0}), 0);
}

Test(occupancy, multiprocessors_of_a_grid) {
    struct occupancy_block block = {256, 64, 0}, big = {1024, 65, 0}; /* 4 blocks fit; none fits */
    cr_expect_eq(occupancy_sms(&sm90, &block, 0), 0);
    cr_expect_eq(occupancy_sms(&sm90, &block, 1), 1);
    cr_expect_eq(occupancy_sms(&sm90, &block, 4), 1);
    cr_expect_eq(occupancy_sms(&sm90, &block, 5), 2);
    cr_expect_eq(occupancy_sms(&sm90, &block, 1ull << 40), UINT32_MAX);
    cr_expect_eq(occupancy_sms(&sm90, &block, UINT64_MAX), UINT32_MAX);
    cr_expect_eq(occupancy_sms(&sm90, &big, 5), 0);
}

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Technical specifications per compute capability, from the CUDA C++ Programming Guide, and the
 * number of blocks of some kernels that fit, computed by hand. */
static const struct {
    uint32_t capability, threads, blocks, shared_kib, reserved_kib, optin_kib;
    /* Number of blocks that fit on a multiprocessor, for three kernels. plain: 256 threads a block,
     * 32 registers a thread; small: 32 threads, 16 registers; shared: 128 threads, 40 registers,
     * and 16,255 bytes of shared memory a block. */
    uint32_t plain, small, shared;
} devices[] = {
    {75, 1024, 16, 64, 0, 64, 4, 16, 4},   /* 16,384 bytes a block, in units of 256 */
    {80, 2048, 32, 164, 1, 163, 8, 32, 9}, /* 17,280 with 1 KiB reserved, in units of 128 */
    {86, 1536, 16, 100, 1, 99, 6, 16, 5},    {87, 1536, 16, 164, 1, 163, 6, 16, 9},
    {89, 1536, 24, 100, 1, 99, 6, 24, 5},    {90, 2048, 32, 228, 1, 227, 8, 32, 12},
    {100, 2048, 32, 228, 1, 227, 8, 32, 12}, {103, 2048, 32, 228, 1, 227, 8, 32, 12},
    {110, 1536, 24, 228, 1, 227, 6, 24, 12}, /* 12 by threads as well */
    {120, 1536, 24, 100, 1, 99, 6, 24, 5},   {121, 1536, 24, 100, 1, 99, 6, 24, 5},
};
#define DEVICES (sizeof(devices) / sizeof(devices[0]))
#define SOME_SHARED ((16u << 10) - 129)

static struct occupancy_sm sm_at(size_t i) {
    return (struct occupancy_sm){.threads = devices[i].threads,
                                 .blocks = devices[i].blocks,
                                 .regs = 65536,
                                 .shared_bytes = devices[i].shared_kib << 10,
                                 .shared_reserved_bytes = devices[i].reserved_kib << 10,
                                 .shared_optin_bytes = devices[i].optin_kib << 10,
                                 .shared_unit = occupancy_shared_unit(devices[i].capability / 10)};
}

Test(occupancy, of_every_capability) {
    const struct occupancy_block plain = {256, 32, 0}, small = {32, 16, 0},
                                 shared = {128, 40, SOME_SHARED};
    for (size_t i = 0; i < DEVICES; i++) {
        const struct occupancy_sm sm = sm_at(i);
        cr_expect_eq(occupancy_blocks(&sm, &plain), devices[i].plain, "%u", devices[i].capability);
        cr_expect_eq(occupancy_blocks(&sm, &small), devices[i].small, "%u", devices[i].capability);
        cr_expect_eq(occupancy_blocks(&sm, &shared), devices[i].shared, "%u",
                     devices[i].capability);
    }
}

/* A case in which the allocation unit matters: 64 KiB in blocks of 10,753 bytes are 6 blocks of
 * 10,880, not of 11,008. */
Test(occupancy, the_unit_of_shared_memory) {
    struct occupancy_sm sm = sm_at(0);
    const struct occupancy_block block = {32, 16, 10753};
    cr_expect_eq(occupancy_blocks(&sm, &block), 5);
    sm.shared_unit = occupancy_shared_unit(8);
    cr_expect_eq(occupancy_blocks(&sm, &block), 6);
}

#ifdef THEIRS
static int theirs(const struct occupancy_sm *sm, uint32_t capability, int threads, int regs,
                  size_t shared_bytes) {
    struct cudaOccDeviceProp device = {.computeMajor = (int)capability / 10,
                                       .computeMinor = (int)capability % 10,
                                       .maxThreadsPerBlock = 1024,
                                       .maxThreadsPerMultiprocessor = (int)sm->threads,
                                       .regsPerBlock = (int)sm->regs,
                                       .regsPerMultiprocessor = (int)sm->regs,
                                       .warpSize = 32,
                                       .sharedMemPerBlock = 48 << 10,
                                       .sharedMemPerMultiprocessor = sm->shared_bytes,
                                       .numSms = 16,
                                       .sharedMemPerBlockOptin = sm->shared_optin_bytes,
                                       .reservedSharedMemPerBlock = sm->shared_reserved_bytes};
    struct cudaOccFuncAttributes kernel = {
        .maxThreadsPerBlock = 1024,
        .numRegs = regs,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = sm->shared_optin_bytes,
    };
    struct cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_SHARED,
                                       .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    struct cudaOccResult result;
    cudaOccError err = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
                                                               threads, shared_bytes);
    return err ? -(int)err : result.activeBlocksPerMultiprocessor;
}

static void compare(size_t device, int threads_step, int regs_step) {
    const struct occupancy_sm sm = sm_at(device);
    const uint32_t capability = devices[device].capability;
    for (int threads = 1; threads <= 1024; threads += threads_step)
        for (int regs = 1; regs <= 255; regs += regs_step)
            for (size_t shared = 0; shared <= sm.shared_optin_bytes; shared += 9999) {
                const struct occupancy_block block = {(uint32_t)threads, (uint32_t)regs, shared};
                cr_assert_eq((int)occupancy_blocks(&sm, &block),
                             theirs(&sm, capability, threads, regs, shared),
                             "%u: %d threads, %d registers, %zu bytes: %u, not %d", capability,
                             threads, regs, shared, occupancy_blocks(&sm, &block),
                             theirs(&sm, capability, threads, regs, shared));
            }
}

/* An older header does not know the later capabilities. */
Test(occupancy, as_the_toolkit_computes_it) {
    for (size_t i = 0; i < DEVICES; i++) {
        const struct occupancy_sm sm = sm_at(i);
        if (theirs(&sm, devices[i].capability, 32, 16, 0) < 0)
            fprintf(stderr, "  SKIP    occupancy: %u is not in cuda_occupancy.h\n",
                    devices[i].capability);
        else
            compare(i, devices[i].capability == 90 ? 13 : 31, devices[i].capability == 90 ? 1 : 3);
    }
}
#else
Test(occupancy, as_the_toolkit_computes_it) {
    fprintf(stderr, "  SKIP    occupancy: no cuda_occupancy.h: rules not compared\n");
    cr_skip_test("no cuda_occupancy.h is installed");
}
#endif
