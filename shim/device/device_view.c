/* SPDX-License-Identifier: Apache-2.0
 *
 * An attribute is a promise. The device itself defines the attributes about what a kernel finds on
 * it. Salus defines those about other access to its memory, about sharing of memory and events, and
 * about ordering: a job's process has no driver, and the worker owns its memory and orders its
 * work.
 */
#include "shim/device/device_view.h"

#include <limits.h>

#include "shim/connection/state.h"

static const struct {
    CUdevice_attribute attribute;
    int value;
} ours[] = {
    /* --- the device as one of several users sees it --- */
    /* The driver's compute mode concerns the worker only; any number of jobs may use the device. */
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    /* A job sees one GPU of a board with several. */
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, 0},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 0},
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED, 0},
    /* The worker may be a client of MPS; the job never is. */
    {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0},
    /* All multiprocessors are one domain: parts of the device are counts of multiprocessors
     * (resource.c). */
    {CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT, 1},

    /* --- the host's memory --- */
    /* Pinned memory lies in the host window, which the worker maps at the same address. */
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    /* Registered memory has another address on the device: two clients may have theirs at the same
     * one. */
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0},
    /* Kernels run in the worker's address space, which does not contain the rest of a job's memory.
     */
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    /* Managed memory is host memory that the device accesses: both sides may access it at any time.
     * It never lies in device memory that the host could access. */
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0},
    /* The host window is a file that both sides map, registered with the driver. That links reach
     * such memory with atomics has not been shown, so only the CPU's own atomics count. */
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    /* The NUMA node of the host window is not chosen, and the job's memory lies on no node of the
     * device. */
    {CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, 0},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},

    /* --- memory and sharing --- */
    /* Salus itself implements addresses and segments (virtual.h, segment.h). It exports them only
     * as file descriptors for processes of the same user; memory outside of an exportable pool has
     * no such handle. */
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED, 0},
    /* Chunks of physical memory are allocated without compression, the same for all jobs. */
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 0},
    /* The library implements pools (pool.h). */
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
    /* Events of other processes are the worker's signals (ADR 0014). */
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    /* Only the worker could give device memory to other hardware: several jobs use the memory of a
     * lane. */
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

    /* --- ordering --- */
    /* The worker implements waits for values and writes of values, in memory that both sides access
     * (values.c). */
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0},

    /* --- calls that are refused --- */
    {CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0}, /* external semaphores */
    {CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED, 0},                  /* graphics contexts */
    {CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_VULKAN_CIG_STREAMS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0}, /* cuMemBatchDecompressAsync */
    {CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH, 0},
    /* Maps of large tensors: their encoding is unknown here, so they are not supported. */
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE, INT_MAX},
};

/* Returns the attribute whose value stands for this one: the one domain has all multiprocessors,
 * and no block has more shared memory than the opt-in limit. */
static CUdevice_attribute meant(CUdevice_attribute attribute) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT:
        return CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    case CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK:
        return CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    default: return attribute;
    }
}

/* Hides features that came with Hopper from a job that asked for an older capability, because
 * programs infer one from the other. */
static bool is_hidden(CUdevice_attribute attribute) {
    return state.conn.device.cc_major < 9 &&
           (attribute == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH ||
            attribute == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
}

/* True when the CUDA version that this driver reports defines the attribute: then it has an answer,
 * whatever the device's driver knows. */
static bool is_promised(CUdevice_attribute attribute) {
    switch ((uint32_t)attribute) {
#define X(name, number) case number:
        CUDA_DEVICE_ATTRIBUTES(X)
#undef X
        return true;
    default: return false;
    }
}

bool device_view_attribute(CUdevice_attribute attribute, int *value) {
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (ours[i].attribute != attribute) continue;
        *value = ours[i].value;
        return true;
    }
    bool known = description_get(&state.conn.description, meant(attribute), value);
    if (!known && !is_promised(attribute)) return false;
    if (!known || is_hidden(attribute))
        *value = 0; /* a device with an older driver does not have the feature */
    return true;
}

int device_view(CUdevice_attribute attribute) {
    int value = 0;
    device_view_attribute(attribute, &value);
    return value;
}

size_t device_view_limit(CUlimit limit) {
    const struct description *d = &state.conn.description;
    if (limit == CU_LIMIT_PRINTF_FIFO_SIZE)
        return WIRE_TEXT_BYTES; /* CUDA's default, the same on every device */
    return limit < DESCRIPTION_LIMITS ? d->limits[limit] : 0;
}
