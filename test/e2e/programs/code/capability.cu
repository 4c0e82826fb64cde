/* SPDX-License-Identifier: Apache-2.0
 * The compute capability that each call reports, and the architecture for which the running
 * kernel was compiled; built with PTX for several. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cuda.h>

#include "common.h"

__global__ void architecture(int *p) {
#ifdef __CUDA_ARCH__
    *p = __CUDA_ARCH__;
#endif
}

/* Returns the capability, the same from all calls. */
static int reported(void) {
    cudaDeviceProp prop;
    int major, minor, again[2];
    CHECK(cudaGetDeviceProperties(&prop, 0));
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    REQUIRE(cuDeviceComputeCapability(&again[0], &again[1], 0) == CUDA_SUCCESS, "no capability");
    REQUIRE(prop.major == major && prop.minor == minor, "%d.%d and %d.%d", prop.major, prop.minor,
            major, minor);
    REQUIRE(again[0] == major && again[1] == minor, "%d.%d and %d.%d", again[0], again[1], major,
            minor);
    return major * 10 + minor;
}

int main(void) {
    cudaFuncAttributes attributes;
    int device = reported(), *p, ran = 0;
    CHECK(cudaMalloc(&p, sizeof(*p)));
    architecture<<<1, 1>>>(p);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&ran, p, sizeof(ran), cudaMemcpyDeviceToHost));
    CHECK(cudaFuncGetAttributes(&attributes, architecture));
    REQUIRE(attributes.ptxVersion * 10 == ran, "PTX for %d ran, %d is said", ran,
            attributes.ptxVersion);
    REQUIRE(attributes.binaryVersion == device, "binary version %d on %d", attributes.binaryVersion,
            device);
    printf("device %d ran %d\n", device, ran);
    return 0;
}
