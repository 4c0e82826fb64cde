/* SPDX-License-Identifier: Apache-2.0
 * A program with one unit that has code only for newer devices: only this unit's kernel fails,
 * however the unit was loaded (CUDA_MODULE_LOADING). */
#include "common.h"

extern "C" cudaError_t launch_newer(int *p);
extern "C" cudaError_t describe_newer(void);

__global__ void here(int *p) {
    *p += 7;
}

int main(void) {
    int *p, got;
    CHECK(cudaMalloc(&p, sizeof(*p)));
    CHECK(cudaMemset(p, 0, sizeof(*p)));
    for (int i = 0; i < 3; i++) {
        here<<<1, 1>>>(p);
        CHECK(cudaGetLastError());
        cudaError_t err = launch_newer(p);
        REQUIRE(err == cudaErrorNoKernelImageForDevice, "launched: %d", (int)err);
        err = describe_newer();
        REQUIRE(err == cudaErrorNoKernelImageForDevice, "described: %d", (int)err);
    }
    CHECK(cudaMemcpy(&got, p, sizeof(got), cudaMemcpyDeviceToHost));
    REQUIRE(got == 21, "%d", got);
    puts("newer");
    return 0;
}
