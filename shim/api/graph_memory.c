/* SPDX-License-Identifier: Apache-2.0
 *
 * The books of memory that graphs allocate: no graph does, so that all of them say none.
 */
#include <stdint.h>

#include "proto/gen/prototypes.h"
#include "shim/connection/state.h"

static CUresult enter(CUdevice device) {
    CUresult r = state_ready();
    if (r) return r;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value) {
    CUresult r = enter(device);
    if (r) return r;
    if (!value || (unsigned)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    *(uint64_t *)value = 0;
    return CUDA_SUCCESS;
}

/* A high watermark can be set, to 0 alone. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value) {
    CUresult r = enter(device);
    if (r) return r;
    bool high =
        attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    return high && value && *(const uint64_t *)value == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    return enter(device);
}
