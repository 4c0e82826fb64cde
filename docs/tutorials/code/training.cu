/* SPDX-License-Identifier: Apache-2.0
 * A training: weights that stay on the GPU, and scratch memory that each iteration allocates anew.
 * usage: training [ITERATIONS [WEIGHTS_MIB [SCRATCH_MIB]]]; without ITERATIONS, or with 0, it runs
 * until SIGTERM.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <salus.h>

static volatile sig_atomic_t stopped;

static void stop(int) {
    stopped = 1;
}

__global__ void forward(const float *weights, float *scratch) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int step = 0; step < 40; step++)
        sum += weights[(i + step) % 8192];
    scratch[i] = sum / 40;
}

__global__ void backward(float *weights, const float *scratch) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    weights[i] += 0.01f * (1.0f - scratch[i]);
}

static void check(cudaError_t e) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "training: %s\n", cudaGetErrorString(e));
    exit(1);
}

int main(int argc, char **argv) {
    long iterations = argc > 1 ? atol(argv[1]) : 0;
    size_t weights_bytes = (size_t)(argc > 2 ? atol(argv[2]) : 16) << 20;
    size_t scratch_bytes = (size_t)(argc > 3 ? atol(argv[3]) : 32) << 20;
    signal(SIGTERM, stop);
    float *weights;
    check(cudaMalloc(&weights, weights_bytes));
    check(cudaMemset(weights, 0, weights_bytes));
    long i = 0;
    for (; !stopped && (!iterations || i < iterations); i++) {
        if (salus_iteration) salus_iteration(); /* NULL without Salus */
        float *scratch;
        check(cudaMalloc(&scratch, scratch_bytes));
        forward<<<32, 256>>>(weights, scratch);
        check(cudaGetLastError());
        backward<<<32, 256>>>(weights, scratch);
        check(cudaGetLastError());
        check(cudaDeviceSynchronize());
        check(cudaFree(scratch));
    }
    float first;
    check(cudaMemcpy(&first, weights, sizeof first, cudaMemcpyDeviceToHost));
    printf("training: %ld iterations, weight 0 is %.6f\n", i, first);
    return 0;
}
