/* SPDX-License-Identifier: Apache-2.0
 * The compute capability that a library sees if it shares the program's runtime: queried each
 * time, and as the runtime caches it for the whole process. */
#include "common.h"

extern "C" int asked(void) {
    int major, minor;
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    return major * 10 + minor;
}

extern "C" int known(void) {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    return prop.major * 10 + prop.minor;
}
