/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about the accounting of memory that graphs allocate.
 */
#include <stdint.h>

#include "proto/gen/prototypes.h"
#include "shim/connection/state.h"
#include "shim/graph/address_range.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/graph_exec/program.h"
#include "shim/lock.h"

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
    lock_enter(&graph_lock);
    *(uint64_t *)value = address_range_count(attr);
    lock_leave(&graph_lock);
    return CUDA_SUCCESS;
}

/* A high watermark can be set, but only to 0. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value) {
    CUresult r = enter(device);
    if (r) return r;
    bool high =
        attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!high || !value || *(const uint64_t *)value != 0) return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&graph_lock);
    address_range_reset(attr);
    lock_leave(&graph_lock);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    CUresult r = enter(device);
    if (r) return r;
    program_reap();
    graph_memory_reap();
    address_range_trim();
    return CUDA_SUCCESS;
}
