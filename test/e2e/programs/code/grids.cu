/* SPDX-License-Identifier: Apache-2.0
 * Blocks of a grid that wait for each other: by cooperative groups, by the functions of
 * cudadevrt that compilers of other languages call, and without a cooperative launch, where both
 * must fail. */
#include <cooperative_groups.h>

#include "common.h"

namespace cg = cooperative_groups;

#define BLOCKS 24
#define THREADS 96
#define COUNT (BLOCKS * THREADS)

/* Each block reduces in place; the sum of all elements takes as many steps as needed. */
__global__ void reduce(int *data, int *result) {
    cg::grid_group grid = cg::this_grid();
    for (unsigned step = 1; step < COUNT; step *= 2) {
        unsigned at = 2 * step * grid.thread_rank();
        if (at + step < COUNT) data[at] += data[at + step];
        grid.sync();
    }
    if (threadIdx.x == 0) result[blockIdx.x] = data[0];
}

__global__ void reduce_by_handle(int *data, int *result) {
    unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    unsigned threads, grids, rank, grid_rank;
    cudaError_t failed = cudaCGGetSize(&threads, &grids, grid);
    failed = failed ? failed : cudaCGGetRank(&rank, &grid_rank, grid);
    for (unsigned step = 1; step < threads; step *= 2) {
        unsigned at = 2 * step * rank;
        if (at + step < threads) data[at] += data[at + step];
        cudaError_t r = step & 1 ? cudaCGSynchronize(grid, 0) : cudaCGSynchronizeGrid(grid, 0);
        failed = failed ? failed : r;
    }
    if (failed || grids != 1 || grid_rank != 0)
        result[blockIdx.x] = -1 - (int)failed;
    else if (threadIdx.x + threadIdx.y == 0)
        result[blockIdx.x] = data[0];
}

__global__ void alone(int *result) {
    unsigned size = 7, grids = 7;
    result[0] = cg::this_grid().is_valid();
    result[1] = (int)cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    result[2] = (int)cudaCGSynchronize(cudaCGGetIntrinsicHandle(cudaCGScopeGrid), 0);
    result[3] = (int)cudaCGGetSize(&size, &grids, 12345);
    result[4] = (int)(size + grids);
    result[5] = (int)cudaCGGetIntrinsicHandle((cudaCGScope)2);
}

static uint64_t check(const void *kernel, dim3 threads, const char *name) {
    int values[COUNT], results[BLOCKS], *data, *result, want = 0;
    CHECK(cudaMalloc(&data, sizeof(values)));
    CHECK(cudaMalloc(&result, sizeof(results)));
    for (int i = 0; i < COUNT; i++)
        want += values[i] = i * i % 1009;
    CHECK(cudaMemcpy(data, values, sizeof(values), cudaMemcpyHostToDevice));
    void *args[] = {&data, &result};
    CHECK(cudaLaunchCooperativeKernel(kernel, dim3(BLOCKS), threads, args, 0, 0));
    CHECK(cudaMemcpy(results, result, sizeof(results), cudaMemcpyDeviceToHost));
    for (int b = 0; b < BLOCKS; b++)
        REQUIRE(results[b] == want, "%s: block %d has %d, not %d", name, b, results[b], want);
    CHECK(cudaFree(data));
    CHECK(cudaFree(result));
    return checksum_add(CHECKSUM_START, results, sizeof(results));
}

int main(int argc, char **argv) {
    uint64_t sum = CHECKSUM_START;
    for (int round = 0; round < rounds_arg(argc, argv, 3); round++) {
        uint64_t a = check((const void *)reduce, dim3(THREADS), "groups");
        uint64_t b = check((const void *)reduce_by_handle, dim3(THREADS / 8, 8), "handle");
        REQUIRE(a == b, "two sums");
        sum = checksum_add(a, &sum, sizeof(sum));
    }
    int got[6], *result;
    static const int want[6] = {0, 0, cudaErrorUnknown, cudaErrorUnknown, 0, 0};
    CHECK(cudaMalloc(&result, sizeof(got)));
    alone<<<1, 1>>>(result);
    CHECK(cudaMemcpy(got, result, sizeof(got), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++)
        REQUIRE(got[i] == want[i], "alone: [%d] is %d, not %d", i, got[i], want[i]);
    checksum_print("grids", sum);
    return 0;
}
