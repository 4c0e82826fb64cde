/* SPDX-License-Identifier: Apache-2.0
 * A program without iterations: random kernels, sizes, temporaries and waits.
 *   aimless [launches] */
#include "net.h"

#define SLOTS 8
#define CELLS 4096

__global__ void stir(float *cells, const float *with, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) cells[i] = 0.5f * cells[i] + by * (with ? with[i] : 1.0f);
}

__global__ void fold(float *cells, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) cells[i] += 0.25f * cells[n - 1 - i];
}

static uint32_t choose(uint32_t *seed, uint32_t below) {
    return random_next(seed) / 4096 % below;
}

int main(int argc, char **argv) {
    const int launches = rounds_arg(argc, argv, 3000);
    static float cells[CELLS];
    float *all, *slot[SLOTS] = {};
    int floats[SLOTS] = {};
    cudaStream_t stream;
    uint32_t seed = 12;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&all, sizeof(cells)));
    CHECK(cudaMemset(all, 0, sizeof(cells)));
    for (int i = 0; i < launches; i++) {
        int s = choose(&seed, SLOTS), n = 64 << choose(&seed, 7);
        switch (choose(&seed, 5)) {
        case 0:
            if (slot[s]) CHECK(cudaFreeAsync(slot[s], stream));
            slot[s] = net_temporary(stream, n);
            floats[s] = n;
            net_fill<<<NET_GRID(n), NET_BLOCK, 0, stream>>>(slot[s], n, i, 1.0f);
            break;
        case 1: fold<<<NET_GRID(n), NET_BLOCK, 0, stream>>>(all, n); break;
        case 2: net_tanh<<<NET_GRID(n), NET_BLOCK, 0, stream>>>(all, n); break;
        default:
            if (slot[s]) n = floats[s];
            stir<<<NET_GRID(n), NET_BLOCK, 0, stream>>>(all, slot[s], n, 0.1f);
        }
        if (choose(&seed, 6) == 0 && slot[s]) {
            CHECK(cudaFreeAsync(slot[s], stream));
            slot[s] = NULL;
        }
        if (choose(&seed, 50) == 0) CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(cells, all, sizeof(cells), cudaMemcpyDeviceToHost));
    checksum_print("aimless", checksum_add(CHECKSUM_START, cells, sizeof(cells)));
    return 0;
}
