/* SPDX-License-Identifier: Apache-2.0
 * The simplest server: a copy in, kernels, a copy out, and a sleep until the next request.
 *   served [requests] */
#include <unistd.h>

#include "common.h"

#define N 256

__global__ void layer(const float *w, const float *x, float *y) {
    int out = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < N; i++)
        sum += w[i * N + out] * x[i];
    y[out] = sum > 0 ? sum : 0;
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 80;
    float *w, *x, *y, host[N] = {1};
    CHECK(cudaMalloc(&w, N * N * sizeof(float)));
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    CHECK(cudaMemset(w, 0, N * N * sizeof(float)));
    for (int i = 0; i < count; i++) {
        usleep(20000);
        CHECK(cudaMemcpy(x, host, sizeof(host), cudaMemcpyHostToDevice));
        for (int k = 0; k < 3; k++) {
            layer<<<2, N / 2>>>(w, x, y);
            layer<<<2, N / 2>>>(w, y, x);
        }
        CHECK(cudaMemcpy(host, x, sizeof(host), cudaMemcpyDeviceToHost));
    }
    for (int i = 0; i < N; i++)
        if (host[i] != 0) return 1;
    return 0;
}
