/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/api/kernel/cluster.h"

#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/kernel/occupancy_calls.h"
#include "shim/code/function.h"
#include "shim/code/resolve.h"
#include "shim/connection/reply.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"

#define PORTABLE 8u /* blocks of a cluster that every device with clusters supports */

uint16_t cluster_flags(unsigned int x, unsigned int y, unsigned int z) {
    const unsigned int most = WIRE_CLUSTER_MAX - 1;
    if (x - 1 > most || y - 1 > most || z - 1 > most) return CLUSTER_NONE;
    return wire_cluster_flags(x, y, z);
}

static uint32_t blocks_of(uint16_t flags) {
    uint32_t size = 1;
    for (uint32_t axis = 0; flags & WIRE_LAUNCH_CLUSTER && axis < 3; axis++)
        size *= wire_cluster_side(flags, axis);
    return size;
}

/* True when the launch may have clusters that only some devices support. */
static bool allows_any(const struct function *f, CUlaunchAttributePortableClusterMode mode) {
    return mode == CU_LAUNCH_PORTABLE_CLUSTER_MODE_DEFAULT
               ? f->non_portable_cluster
               : mode == CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE;
}

static uint32_t limit(const struct function *f, CUlaunchAttributePortableClusterMode mode) {
    uint32_t most = allows_any(f, mode) ? WIRE_CLUSTER_MAX : PORTABLE;
    return f->info.max_cluster && f->info.max_cluster < most ? f->info.max_cluster : most;
}

/* Returns the blocks of the largest cluster that launches with this block size can have; 0: none.
 */
static uint32_t most_blocks(const struct function *f, CUlaunchAttributePortableClusterMode mode,
                            uint32_t threads, uint64_t dynamic, uint32_t sms) {
    uint32_t resident = occupancy_calls_resident(f, threads, dynamic) * sms;
    uint32_t size = limit(f, mode);
    while (size > resident)
        size /= 2;
    return size;
}

CUresult cluster_check(const struct wire_launch *l, const struct function *f,
                       CUlaunchAttributePortableClusterMode mode, uint32_t sms) {
    const uint16_t sides = (uint16_t)~WIRE_LAUNCH_COOPERATIVE;
    uint32_t threads = (uint32_t)l->block[0] * l->block[1] * l->block[2];
    uint16_t required = f->info.cluster;
    if (required && (l->flags & sides) != required) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (uint32_t axis = 0; axis < 3; axis++)
        if (l->grid[axis] % wire_cluster_side(l->flags, axis))
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return blocks_of(l->flags) <= most_blocks(f, mode, threads, l->shared_bytes, sms)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

/* ---- attributes ------------------------------------------------------------------------------ */

int cluster_required(const struct function *f, CUfunction_attribute axis) {
    uint32_t k = (uint32_t)axis - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    return f->info.cluster ? (int)wire_cluster_side(f->info.cluster, k) : (int)f->cluster[k];
}

/* Sets one side of the required cluster. The sides come one after the other, so only all three
 * together mean anything. */
CUresult cluster_require(struct function *f, CUfunction_attribute axis, int value) {
    if (f->info.cluster) return CUDA_ERROR_NOT_PERMITTED;
    if (value < 0) return CUDA_ERROR_INVALID_VALUE;
    uint32_t *n = f->cluster;
    n[(uint32_t)axis - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (uint32_t)value;
    if (n[0] && n[1] && n[2])
        f->launch_flags = cluster_flags(n[0], n[1], n[2]);
    else
        f->launch_flags = n[0] || n[1] || n[2] || f->info.cluster_must ? CLUSTER_NONE : 0;
    return CUDA_SUCCESS;
}

/* ---- occupancy ------------------------------------------------------------------------------- */

static CUresult find_ready(CUfunction handle, struct function **f) {
    *f = function_find(handle);
    return *f ? resolve_ready(*f) : CUDA_ERROR_INVALID_HANDLE;
}

static uint32_t block_threads(const CUlaunchConfig *config) {
    return config->blockDimX * config->blockDimY * config->blockDimZ;
}

/* Returns the cluster as flags of a launch: from the launch attribute, or else the kernel's
 * requirement. */
static uint16_t sides_of(const CUlaunchConfig *config, const struct function *f) {
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *v = &config->attrs[i].value;
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            return cluster_flags(v->clusterDim.x, v->clusterDim.y, v->clusterDim.z);
    }
    return f->launch_flags;
}

static CUlaunchAttributePortableClusterMode mode_of(const CUlaunchConfig *config) {
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE)
            return config->attrs[i].value.portableClusterSizeMode;
    return CU_LAUNCH_PORTABLE_CLUSTER_MODE_DEFAULT;
}

/* Returns the multiprocessors that a launch with this configuration would have. */
static uint32_t sms_of(const CUlaunchConfig *config) {
    return occupancy_calls_part(ctx_current() ? stream_find(config->hStream) : NULL);
}

/* Asks the device for a count. `*count` is the result of the occupancy rules. The device's answer
 * replaces it if that is less, because the multiprocessors of a cluster must lie together. A number
 * of clusters on all multiprocessors is replaced in any case. */
static CUresult ask_device(const struct function *f, const CUlaunchConfig *config, uint16_t flags,
                           bool largest, uint32_t *count) {
    struct wire_clusters rec = {.rec = {.op = WIRE_CLUSTERS},
                                .func = f->id,
                                .largest = largest,
                                .threads = block_threads(config),
                                .shared_bytes = config->sharedMemBytes,
                                .flags = flags};
    struct reply answer = {0};
    uint32_t said;
    if (!*count || flags == CLUSTER_NONE || !state_counts_clusters()) return CUDA_SUCCESS;
    CUresult r = reply_call(&rec, sizeof(rec), NULL, 0, &answer);
    if (r) return r;
    if (answer.bytes != sizeof(said)) return CUDA_ERROR_UNKNOWN;
    memcpy(&said, answer.data, sizeof(said));
    if (said < *count || (!largest && sms_of(config) == state.conn.device.sm_count)) *count = said;
    return CUDA_SUCCESS;
}

/* Checks the cluster that a query asks about; one that can never be launched is an error. `*flags`:
 * 0 for no cluster. */
static CUresult asked_sides(const struct function *f, const CUlaunchConfig *config,
                            uint16_t *flags) {
    const uint16_t sides = (uint16_t)~WIRE_LAUNCH_COOPERATIVE;
    *flags = sides_of(config, f);
    if (f->info.cluster && (*flags & sides) != f->info.cluster)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    bool portable = blocks_of(*flags) <= PORTABLE;
    return portable || allows_any(f, mode_of(config)) ? CUDA_SUCCESS
                                                      : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                            const CUlaunchConfig *config) {
    struct function *f;
    CUresult r = state_live();
    if (!r) r = find_ready(func, &f);
    if (r) return r;
    if (!clusterSize || !config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    uint16_t flags;
    r = asked_sides(f, config, &flags);
    if (r) return r;
    uint32_t most = most_blocks(f, mode_of(config), block_threads(config), config->sharedMemBytes,
                                sms_of(config));
    r = ask_device(f, config, wire_cluster_flags(most ? most : 1, 1, 1), true, &most);
    if (!r) *clusterSize = (int)most;
    return r;
}

CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                      const CUlaunchConfig *config) {
    struct function *f;
    CUresult r = state_live();
    if (!r) r = find_ready(func, &f);
    if (r) return r;
    if (!numClusters || !config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    uint16_t flags;
    r = asked_sides(f, config, &flags);
    if (r) return r;
    uint32_t threads = block_threads(config), size = blocks_of(flags);
    uint32_t sms = sms_of(config), resident;
    /* A size that the kernel may have and this device does not support fits 0 times. So programs
     * that may have any size find the largest. */
    bool fits = size <= most_blocks(f, mode_of(config), threads, config->sharedMemBytes, sms);
    resident = fits ? occupancy_calls_resident(f, threads, config->sharedMemBytes) : 0;
    uint32_t count = flags ? resident * sms / size : 0; /* without a cluster the count is 0 */
    if (size > 1) r = ask_device(f, config, flags, false, &count);
    if (!r) *numClusters = (int)count;
    return r;
}
