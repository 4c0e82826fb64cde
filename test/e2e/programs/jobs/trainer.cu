/* SPDX-License-Identifier: Apache-2.0
 *
 * A training job of any size: a permanent model, and in each iteration temporaries of another size
 * that are filled from it, hashed, and folded back into it. Every sum is of integers, so that the
 * result depends only on the arguments.
 *   trainer [iterations [model MiB [temporaries MiB [passes [stuck]]]]]
 * `passes`: how often the temporaries are hashed, which sets the length of an iteration. `stuck`:
 * after this many iterations the program stays within one, idle, until its input ends.
 */
#include <unistd.h>

#include "common.h"

#define MIB (1 << 20)
#define THREADS 256

__global__ void fill(uint32_t *out, size_t n, const uint32_t *model, size_t model_n,
                     uint32_t step) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = model[i % model_n] * 2654435761u + (uint32_t)i + step;
}

__global__ void stir(uint32_t *data, size_t n, int passes) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t h = data[i];
        for (int p = 0; p < passes; p++)
            h = (h ^ h >> 15) * 2246822519u + (uint32_t)p;
        data[i] = h;
    }
}

__global__ void fold(uint32_t *model, size_t model_n, const uint32_t *data, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < model_n;
         i += gridDim.x * blockDim.x) {
        uint32_t sum = model[i];
        for (size_t k = i; k < n; k += model_n)
            sum = sum * 31 + data[k];
        model[i] = sum;
    }
}

int main(int argc, char **argv) {
    int arg[] = {20, 4, 8, 16, 0};
    for (int i = 1; i < argc && i <= 5; i++)
        arg[i - 1] = atoi(argv[i]);
    const int iterations = arg[0], passes = arg[3], stuck = arg[4], blocks = 64;
    const size_t model_n = (size_t)arg[1] * MIB / sizeof(uint32_t);
    const size_t n = (size_t)arg[2] * MIB / sizeof(uint32_t);
    uint32_t *model, *data, first;
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&model, model_n * sizeof(*model)));
    CHECK(cudaMemsetAsync(model, 7, model_n * sizeof(*model), s));
    for (int i = 0; i < iterations; i++) {
        mark();
        CHECK(cudaMallocAsync((void **)&data, n * sizeof(*data), s));
        fill<<<blocks, THREADS, 0, s>>>(data, n, model, model_n, i);
        stir<<<blocks, THREADS, 0, s>>>(data, n, passes);
        if (stuck && i + 1 == stuck) {
            CHECK(cudaStreamSynchronize(s));
            printf("stuck\n");
            fflush(stdout);
            while (read(0, &first, 1) > 0)
                continue;
        }
        fold<<<blocks, THREADS, 0, s>>>(model, model_n, data, n);
        CHECK(cudaFreeAsync(data, s));
        CHECK(cudaMemcpyAsync(&first, model, sizeof(first), cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
    }
    uint32_t *host = (uint32_t *)malloc(model_n * sizeof(*model));
    CHECK(cudaMemcpy(host, model, model_n * sizeof(*model), cudaMemcpyDeviceToHost));
    checksum_print("trainer", checksum_add(CHECKSUM_START, host, model_n * sizeof(*model)));
    free(host);
    return 0;
}
