/* SPDX-License-Identifier: Apache-2.0
 * Prints from kernels: NAME ROUND LINE, round after round, the lines of a round by one thread.
 * Lines that the host prints after a synchronisation come after those that kernels printed before
 * it.
 */
#include "common.h"

#define LINES 3

__global__ void print(char name, int round) {
    for (int line = 0; line < LINES; line++)
        printf("%c %d %d\n", name, round, line);
}

__global__ void touch(int *p) {
    atomicAdd(p, 1);
}

int main(int argc, char **argv) {
    char name = argc > 1 ? argv[1][0] : 'a';
    int rounds = argc > 2 ? atoi(argv[2]) : 10, *p, touched;
    cudaStream_t other;
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&p, sizeof(*p)));
    CHECK(cudaMemset(p, 0, sizeof(*p)));
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < rounds; round++) {
        print<<<1, 1>>>(name, round);
        touch<<<1, 1, 0, other>>>(p);
        if (round % 4 != 3) continue;
        CHECK(cudaDeviceSynchronize());
        printf("%c %d host\n", name, round);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&touched, p, sizeof(touched), cudaMemcpyDeviceToHost));
    return touched != rounds;
}
