/* SPDX-License-Identifier: Apache-2.0
 * Separate compilation: this unit's kernel calls a function and reads a variable of rdc_unit.cu,
 * and both have a static variable of one name. */
#include "common.h"

extern __device__ int shared_counter;
__device__ int scale(int v);

static __device__ int local_offset = 100;

__global__ void apply(int *out) {
    out[threadIdx.x] = scale(threadIdx.x) + local_offset;
    atomicAdd(&shared_counter, 1);
}

int read_counter(void);

int main(void) {
    int *d, out[64];
    CHECK(cudaMalloc(&d, sizeof out));
    apply<<<1, 64>>>(d);
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        REQUIRE(out[i] == i * 3 + 7 + 100, "out[%d] = %d", i, out[i]);
    REQUIRE(read_counter() == 64, "counter %d", read_counter());
    checksum_print("rdc", checksum_add(CHECKSUM_START, out, sizeof out));
    return 0;
}
