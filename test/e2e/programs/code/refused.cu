/* SPDX-License-Identifier: Apache-2.0
 * Built without PTX: two kernels that the software GPU refuses, launched three times by a
 * program that ignores errors, as some libraries do. */
#include "common.h"

__global__ void refused_first(int *p) {
    *p = 1;
}

__global__ void refused_second(int *p) {
    *p = 2;
}

int main(void) {
    int *p, v = -1;
    CHECK(cudaMalloc(&p, sizeof(*p)));
    printf("begin\n");
    fflush(stdout);
    refused_first<<<1, 1>>>(p);
    refused_second<<<1, 1>>>(p);
    refused_first<<<1, 1>>>(p);
    cudaMemcpy(&v, p, sizeof(v), cudaMemcpyDeviceToHost);
    printf("went on with old memory\n");
    return 0;
}
