/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUPTI's activity interface that this library answers itself: numbers and layouts as
 * CUPTI 12 and 13 have them. Records are packed and aligned to 8 bytes. A newer record begins as
 * the older ones do, so that readers built for any of these versions find their fields.
 */
#ifndef SHIM_CUPTI_CUPTI_H
#define SHIM_CUPTI_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

enum cupti_result {
    CUPTI_SUCCESS = 0,
    CUPTI_ERROR_INVALID_PARAMETER = 1,
    CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    CUPTI_ERROR_QUEUE_EMPTY = 18,
    CUPTI_ERROR_INVALID_KIND = 21,
    CUPTI_ERROR_NOT_SUPPORTED = 27,
};

enum cupti_kind {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_KERNEL = 3,
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_KIND_EXTERNAL_CORRELATION = 39,
    CUPTI_KINDS = 64, /* all kinds are below this */
};

enum { CUPTI_COPY_HTOD = 1, CUPTI_COPY_DTOH = 2, CUPTI_COPY_DTOD = 8, CUPTI_COPY_HTOH = 9 };
enum { CUPTI_MEMORY_PINNED = 2, CUPTI_MEMORY_DEVICE = 3 };
enum { CUPTI_CHANNEL_COMPUTE = 1, CUPTI_CHANNEL_COPY = 2 };

#define CUPTI_CBID_LAUNCH_KERNEL                                                            \
    307                        /* CUPTI's number of cuLaunchKernel among the driver's calls \
                                */
#define CUPTI_EXTERNAL_KINDS 8 /* all kinds of external ids are below this */

#define CUPTI_RECORD __attribute__((packed, aligned(8)))

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_bytes, dynamic_bytes;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph;
    void *access_policy;
    uint32_t channel, channel_type;
    uint32_t cluster[3], cluster_scheduling;
    uint64_t local_total_wide;
    uint32_t max_cluster, max_clusters;
    uint8_t device_launched, padding2[7];
    int32_t priority;
    uint32_t padding3;
} CUPTI_RECORD;

struct cupti_copy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, padding2[3];
    uint64_t copies;
} CUPTI_RECORD;

struct cupti_fill {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, padding2[3];
} CUPTI_RECORD;

struct cupti_call {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
} CUPTI_RECORD;

struct cupti_external {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation, reserved;
} CUPTI_RECORD;

_Static_assert(sizeof(struct cupti_kernel) == 224, "as CUPTI has it");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "as CUPTI has it");
_Static_assert(sizeof(struct cupti_call) == 40, "as CUPTI has it");
_Static_assert(sizeof(struct cupti_external) == 24, "as CUPTI has it");

typedef void (*cupti_requested)(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void (*cupti_completed)(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t bytes,
                                size_t valid);
typedef uint64_t (*cupti_clock)(void);

#endif
