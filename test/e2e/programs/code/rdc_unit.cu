/* SPDX-License-Identifier: Apache-2.0
 * The other unit of rdc.cu. */
#include "common.h"

__device__ int shared_counter;
static __device__ int local_offset = 7;

__device__ __noinline__ int scale(int v) {
    return v * 3 + local_offset;
}

int read_counter(void) {
    int v = -1;
    CHECK(cudaMemcpyFromSymbol(&v, shared_counter, sizeof v));
    return v;
}
