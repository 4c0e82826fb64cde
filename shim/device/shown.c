/* SPDX-License-Identifier: Apache-2.0
 *
 * An attribute is a promise. Those about what a kernel finds on the device are the device's to
 * make. Those about what else reaches its memory, how memory and events are shared, and what waits
 * for what are ours: a job's process has no driver, its memory is the worker's, and so is its
 * order.
 */
#include "shim/device/shown.h"

#include <limits.h>

#include "shim/connection/state.h"

static const struct {
    CUdevice_attribute attribute;
    int value;
} ours[] = {
    /* --- the device, as somebody who is not alone sees it --- */
    /* Whether we alone may use it is between the driver and us; any number of jobs may. */
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    /* Of a board with several a job sees one. */
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, 0},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 0},
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED, 0},
    /* Even where the worker is a client of MPS, the job is none. */
    {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0},
    /* Its multiprocessors are one domain: shares of it are made by counting (resource.c). */
    {CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT, 1},

    /* --- the host's memory --- */
    /* Pinned memory is the host window, which the worker maps, at one address for both sides. */
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    /* Registered memory has another address on the device: two clients may have theirs at one. */
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0},
    /* Kernels run in the worker's address space, where the rest of a job's memory is not. */
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    /* Managed memory is host memory that the device sees: both may touch it at any time. It never
     * lies on the device, where the host could reach it. */
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0},
    /* The host window is a file that both sides map, and what links reach that as registered memory
     * nobody has shown: no atomics there but the worker's own processor's. */
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    /* Which node the host window lies on nobody chooses, and the job's memory is on none of its. */
    {CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, 0},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},

    /* --- memory, and who shares it --- */
    /* Addresses and segments are ours (virtual.h, segment.h), exported as descriptors of a user's
     * processes, and as nothing else; what is in no such pool has no such handle. */
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED, 0},
    /* Chunks of physical memory are made without compression, and the same for all. */
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 0},
    /* Pools are the library's (pool.h). */
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
    /* Events of other processes are signals of the worker's (ADR 0014). */
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    /* Nobody but the worker gives the device's memory to other hardware: a lane's is many jobs'. */
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES, 0},

    /* --- what waits for what --- */
    /* Waits for values, and writes of them, are the worker's, of cells that all can see (values.c).
     */
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0},

    /* --- calls that are refused --- */
    {CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0}, /* external semaphores */
    {CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED, 0},                  /* contexts of graphics */
    {CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_VULKAN_CIG_STREAMS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0}, /* cuMemBatchDecompressAsync */
    {CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH, 0},
    /* Maps of large tensors: their encoding is not known here, so that there are none. */
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE, INT_MAX},
};

/* Says what another one says: the one domain has all multiprocessors, and no block has more shared
 * memory than it opts in for. */
static CUdevice_attribute meant(CUdevice_attribute attribute) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT:
        return CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    case CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK:
        return CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    default: return attribute;
    }
}

/* What came with Hopper a job does not find that asked for less, as programs that ask for the one
 * go by the other. */
static bool is_hidden(CUdevice_attribute attribute) {
    return state.conn.device.cc_major < 9 &&
           (attribute == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH ||
            attribute == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
}

/* The version that this driver says it has promises an answer, whatever the device's driver knows.
 */
static bool is_promised(CUdevice_attribute attribute) {
    switch ((uint32_t)attribute) {
#define X(name, number) case number:
        CUDA_DEVICE_ATTRIBUTES(X)
#undef X
        return true;
    default: return false;
    }
}

bool shown_attribute(CUdevice_attribute attribute, int *value) {
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (ours[i].attribute != attribute) continue;
        *value = ours[i].value;
        return true;
    }
    bool known = description_get(&state.conn.description, meant(attribute), value);
    if (!known && !is_promised(attribute)) return false;
    if (!known || is_hidden(attribute)) *value = 0; /* an older driver's device has no such thing */
    return true;
}

int shown(CUdevice_attribute attribute) {
    int value = 0;
    shown_attribute(attribute, &value);
    return value;
}

size_t shown_limit(CUlimit limit) {
    const struct description *d = &state.conn.description;
    if (limit == CU_LIMIT_PRINTF_FIFO_SIZE) return WIRE_TEXT_BYTES; /* CUDA's, on every device */
    return limit < DESCRIPTION_LIMITS ? d->limits[limit] : 0;
}
