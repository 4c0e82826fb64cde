/* SPDX-License-Identifier: Apache-2.0
 * Sum of a vector: shuffles within a warp, shared memory within a block, a second kernel over the
 * blocks' sums. The order of additions is fixed, so the result is the same to the last bit. */
#include <math.h>

#include "common.h"

__inline__ __device__ double warp_sum(double v) {
    for (int offset = 16; offset; offset >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

template <typename T> __global__ void block_sums(const T *in, double *out, int n) {
    extern __shared__ double partial[];
    double v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    v = warp_sum(v);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / 32 ? partial[lane] : 0;
        v = warp_sum(v);
        if (lane == 0) out[blockIdx.x] = v;
    }
}

int main(int argc, char **argv) {
    const int n = 1 << 20, blocks = 64, threads = 256, rounds = rounds_arg(argc, argv, 4);
    float *in = (float *)malloc(n * sizeof *in);
    uint32_t seed = 3;
    float *din;
    double *dpart, *dsum, got;
    CHECK(cudaMalloc(&din, n * sizeof *in));
    CHECK(cudaMalloc(&dpart, blocks * sizeof(double)));
    CHECK(cudaMalloc(&dsum, sizeof(double)));
    uint64_t sum = CHECKSUM_START;
    for (int r = 0; r < rounds; r++) {
        double want = 0;
        for (int i = 0; i < n; i++) {
            in[i] = random_unit(&seed);
            want += in[i];
        }
        CHECK(cudaMemcpy(din, in, n * sizeof *in, cudaMemcpyHostToDevice));
        block_sums<<<blocks, threads, threads / 32 * sizeof(double)>>>(din, dpart, n);
        block_sums<<<1, 64, 2 * sizeof(double)>>>(dpart, dsum, blocks);
        CHECK(cudaMemcpy(&got, dsum, sizeof got, cudaMemcpyDeviceToHost));
        REQUIRE(fabs(got - want) < 1e-6, "sum = %.12g, expected %.12g", got, want);
        sum = checksum_add(sum, &got, sizeof got);
    }
    checksum_print("reduce", sum);
    return 0;
}
