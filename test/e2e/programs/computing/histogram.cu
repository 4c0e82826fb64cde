/* SPDX-License-Identifier: Apache-2.0
 * Histogram by atomics, in shared memory first and then in global memory. Integer additions
 * commute, so the result does not depend on their order. */
#include <string.h>

#include "common.h"

#define BINS 256

__global__ void histogram(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned local[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
}

int main(int argc, char **argv) {
    const int n = 1 << 20, rounds = rounds_arg(argc, argv, 4);
    unsigned char *in = (unsigned char *)malloc(n);
    unsigned got[BINS], want[BINS], *dbins;
    unsigned char *din;
    uint32_t seed = 5;
    CHECK(cudaMalloc(&din, n));
    CHECK(cudaMalloc(&dbins, sizeof got));
    uint64_t sum = CHECKSUM_START;
    for (int r = 0; r < rounds; r++) {
        memset(want, 0, sizeof want);
        for (int i = 0; i < n; i++) {
            in[i] = (unsigned char)(random_next(&seed) & random_next(&seed));
            want[in[i]]++;
        }
        CHECK(cudaMemcpy(din, in, n, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(dbins, 0, sizeof got));
        histogram<<<48, 256>>>(din, dbins, n);
        CHECK(cudaMemcpy(got, dbins, sizeof got, cudaMemcpyDeviceToHost));
        for (int b = 0; b < BINS; b++)
            REQUIRE(got[b] == want[b], "bin %d = %u, expected %u", b, got[b], want[b]);
        sum = checksum_add(sum, got, sizeof got);
    }
    checksum_print("histogram", sum);
    return 0;
}
