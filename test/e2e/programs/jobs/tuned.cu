/* SPDX-License-Identifier: Apache-2.0
 *
 * A model for hyperparameter tuning: its loss depends on its hyperparameters alone, so that a
 * trial's loss is the same to the bit, wherever, beside which jobs and in how many parts the trial
 * ran. Reads lines from standard input until its end:
 *     STATE ITERATION FIRST LAST WIDTH PASSES
 * Shards FIRST, FIRST + WIDTH, ... below LAST of an iteration are computed, PASSES times over 8,192
 * numbers each; the answer is their sum, a part of the new state. Each of WIDTH processes computes
 * a part of a step.
 */
#include "common.h"

#define NUMBERS 8192
#define THREADS 128
#define BLOCKS 4

__global__ void shard(unsigned long long *sum, uint64_t state, uint32_t iteration, uint32_t first,
                      uint32_t last, uint32_t width, uint32_t passes) {
    for (uint32_t s = first; s < last; s += width) {
        for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < NUMBERS;
             i += gridDim.x * blockDim.x) {
            uint64_t h =
                state * 0x9e3779b97f4a7c15ull ^ (uint64_t)s << 40 ^ (uint64_t)iteration << 20 ^ i;
            for (uint32_t p = 0; p < passes; p++)
                h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull + p;
            atomicAdd(sum, (unsigned long long)h);
        }
    }
}

int main(void) {
    unsigned long long *sum, host, state;
    unsigned iteration, first, last, width, passes;
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    while (scanf("%llu %u %u %u %u %u", &state, &iteration, &first, &last, &width, &passes) == 6) {
        mark();
        CHECK(cudaMemset(sum, 0, sizeof(*sum)));
        shard<<<BLOCKS, THREADS>>>(sum, state, iteration, first, last, width, passes);
        CHECK(cudaMemcpy(&host, sum, sizeof(host), cudaMemcpyDeviceToHost));
        printf("%llu\n", host);
        fflush(stdout);
    }
    CHECK(cudaFree(sum));
    return 0;
}
