/* SPDX-License-Identifier: Apache-2.0
 * Checks that memory reported as free can be allocated in every way. Frameworks with allocators of
 * their own (XLA, vLLM, RMM) start like this.
 *   headroom hold MIB    keeps this much until its input ends
 *   headroom take        allocates and frees nine tenths of the free memory: by cudaMalloc, from a
 *                        pool, and as mapped pages */
#include <cuda.h>
#include <unistd.h>

#include "common.h"

static void fill(void *p, size_t bytes) {
    CHECK(cudaMemset(p, 1, bytes));
    CHECK(cudaDeviceSynchronize());
}

static size_t nine_tenths(void) {
    size_t free_bytes, total, all;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    REQUIRE(cuDeviceTotalMem(&all, 0) == CUDA_SUCCESS && all == total, "the totals differ");
    REQUIRE(free_bytes <= total, "more is free than there is");
    printf("free %zu of %zu MiB\n", free_bytes >> 20, total >> 20);
    return free_bytes / 10 * 9 & ~(size_t)0x1fffff;
}

static void hold(size_t bytes) {
    void *p;
    char byte;
    CHECK(cudaMalloc(&p, bytes));
    fill(p, bytes);
    puts("held");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

static void map_pages(size_t bytes) {
    const CUmemAllocationProp prop = {
        CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE, {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    REQUIRE(cuMemCreate(&handle, bytes, &prop, 0) == CUDA_SUCCESS, "no pages");
    REQUIRE(cuMemAddressReserve(&at, bytes, 0, 0, 0) == CUDA_SUCCESS &&
                cuMemMap(at, bytes, 0, handle, 0) == CUDA_SUCCESS &&
                cuMemSetAccess(at, bytes, &access, 1) == CUDA_SUCCESS,
            "they are not mapped");
    fill((void *)at, bytes);
    REQUIRE(cuMemUnmap(at, bytes) == CUDA_SUCCESS && cuMemRelease(handle) == CUDA_SUCCESS &&
                cuMemAddressFree(at, bytes) == CUDA_SUCCESS,
            "they are not given back");
}

static void take(void) {
    void *p;
    size_t bytes = nine_tenths();
    CHECK(cudaMalloc(&p, bytes));
    fill(p, bytes);
    CHECK(cudaFree(p));
    bytes = nine_tenths();
    map_pages(bytes);
    bytes = nine_tenths();
    CHECK(cudaMallocAsync(&p, bytes, 0));
    fill(p, bytes);
    CHECK(cudaFreeAsync(p, 0));
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv) {
    REQUIRE(argc > 1, "hold or take?");
    if (argc > 2)
        hold((size_t)atoi(argv[2]) << 20);
    else
        take();
    return 0;
}
