/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of kernels, fills and copies, for a device that computes nothing:
 *     machine STEPS
 * Prints the device's name and its variables' values. After the last step, prints whether memory
 * has the copied values or those that the kernels would have computed.
 */
#include <stdlib.h>

#include "common.h"

#define N (1 << 16)

__device__ int table[4] = {1, 2, 3, 4};
__constant__ int offset = 5;
__device__ int zeros[1000];
__managed__ int both = 6;

__global__ void forward(const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int tile[256];
    tile[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = tile[255 - threadIdx.x] + table[i % 4] + offset;
}

__global__ void backward(int *weights, const int *grads, char pad, double rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    weights[i] -= (int)(rate * grads[i]) + pad;
    if (i == 0) both++;
}

static void step(int *weights, const int *batch) {
    int *in, *out;
    CHECK(cudaMallocAsync((void **)&in, N * sizeof(int), 0));
    CHECK(cudaMallocAsync((void **)&out, N * sizeof(int), 0));
    CHECK(cudaMemcpyAsync(in, batch, N * sizeof(int), cudaMemcpyHostToDevice, 0));
    for (int layer = 0; layer < 3; layer++)
        forward<<<N / 256, 256>>>(in, out);
    for (int layer = 0; layer < 3; layer++)
        backward<<<N / 256, 256>>>(weights, out, 1, 0.5);
    CHECK(cudaGetLastError());
    CHECK(cudaFreeAsync(in, 0));
    CHECK(cudaFreeAsync(out, 0));
}

static void say_variables(void) {
    int t[4], o, z[1000], sum = 0;
    CHECK(cudaMemcpyFromSymbol(t, table, sizeof(t)));
    CHECK(cudaMemcpyFromSymbol(&o, offset, sizeof(o)));
    CHECK(cudaMemcpyFromSymbol(z, zeros, sizeof(z)));
    for (int i = 0; i < 1000; i++)
        sum |= z[i];
    printf("variables %d %d %d %d offset %d zeros %d both %d\n", t[0], t[1], t[2], t[3], o, sum,
           both);
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 1, *weights, *host, changed = 0;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("device %s\n", device.name);
    CHECK(cudaMalloc((void **)&weights, N * sizeof(int)));
    CHECK(cudaMallocHost((void **)&host, N * sizeof(int)));
    for (int i = 0; i < N; i++)
        host[i] = i;
    CHECK(cudaMemcpy(weights, host, N * sizeof(int), cudaMemcpyHostToDevice));
    for (int s = 0; s < steps; s++)
        step(weights, host);
    CHECK(cudaMemcpy(host, weights, N * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        changed += host[i] != i;
    say_variables();
    printf("steps %d changed %s\n", steps, changed ? "yes" : "no");
    return 0;
}
