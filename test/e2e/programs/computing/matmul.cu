/* SPDX-License-Identifier: Apache-2.0
 * Tiled matrix product in shared memory, checked against the CPU on a sample of elements. */
#include <math.h>

#include "common.h"

#define TILE 16

__global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / TILE; t++) {
        ta[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

int main(int argc, char **argv) {
    const int n = 256, rounds = rounds_arg(argc, argv, 3);
    size_t bytes = (size_t)n * n * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes);
    uint32_t seed = 2;
    for (int i = 0; i < n * n; i++) {
        a[i] = random_unit(&seed);
        b[i] = random_unit(&seed);
    }
    float *da, *db, *dc;
    CHECK(cudaMalloc(&da, bytes));
    CHECK(cudaMalloc(&db, bytes));
    CHECK(cudaMalloc(&dc, bytes));
    CHECK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
    uint64_t sum = CHECKSUM_START;
    dim3 block(TILE, TILE), grid(n / TILE, n / TILE);
    for (int r = 0; r < rounds; r++) {
        CHECK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
        matmul<<<grid, block>>>(da, db, dc, n);
        CHECK(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
        for (int s = 0; s < 64; s++) {
            int i = random_next(&seed) % n, j = random_next(&seed) % n;
            double want = 0;
            for (int k = 0; k < n; k++)
                want += (double)a[i * n + k] * b[k * n + j];
            REQUIRE(fabs(c[i * n + j] - want) < 1e-3, "c[%d][%d] = %g, expected %g", i, j,
                    c[i * n + j], want);
        }
        sum = checksum_add(sum, c, bytes);
        for (int i = 0; i < n * n; i++)
            a[i] = c[i] * 0.05f;
    }
    checksum_print("matmul", sum);
    CHECK(cudaDeviceReset());
    return 0;
}
