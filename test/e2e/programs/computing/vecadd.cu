/* SPDX-License-Identifier: Apache-2.0
 * The smallest complete program: two vectors in, their sum out. */
#include "common.h"

__global__ void vecadd(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
    const int n = 100003, rounds = rounds_arg(argc, argv, 4);
    size_t bytes = n * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes);
    uint32_t seed = 1;
    for (int i = 0; i < n; i++) {
        a[i] = random_unit(&seed);
        b[i] = random_unit(&seed);
    }
    float *da, *db, *dc;
    CHECK(cudaMalloc(&da, bytes));
    CHECK(cudaMalloc(&db, bytes));
    CHECK(cudaMalloc(&dc, bytes));
    uint64_t sum = CHECKSUM_START;
    for (int r = 0; r < rounds; r++) {
        CHECK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
        vecadd<<<(n + 255) / 256, 256>>>(da, db, dc, n);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; i++)
            REQUIRE(c[i] == a[i] + b[i], "c[%d] = %g, expected %g", i, c[i], a[i] + b[i]);
        sum = checksum_add(sum, c, bytes);
        for (int i = 0; i < n; i++)
            a[i] = c[i] * 0.5f;
    }
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
    checksum_print("vecadd", sum);
    return 0;
}
