/* SPDX-License-Identifier: Apache-2.0
 * The unit of newer.cu that is compiled only for a newer device. */
#include <cuda_runtime.h>

__global__ void newer(int *p) {
    *p = 9;
}

extern "C" cudaError_t launch_newer(int *p) {
    newer<<<1, 1>>>(p);
    return cudaGetLastError();
}

extern "C" cudaError_t describe_newer(void) {
    cudaFuncAttributes a;
    cudaError_t err = cudaFuncGetAttributes(&a, (const void *)newer);
    cudaGetLastError();
    return err;
}
